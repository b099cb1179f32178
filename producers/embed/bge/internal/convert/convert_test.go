package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// message is a message in the wire format, field by field.
type message []byte

func (m message) bytes(number uint64, b []byte) message {
	m = binary.AppendUvarint(m, number<<3|2)
	m = binary.AppendUvarint(m, uint64(len(b)))

	return append(m, b...)
}

func (m message) number(number, value uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, number<<3), value)
}

// source has the tensors that convert looks for. The bytes of each are the number of its column, and those of the word
// embeddings of its row, so that it is seen where they went.
type source struct {
	graph message
	words map[string]int
}

func newSource() *source {
	s := &source{words: map[string]int{}}
	s.graph = make(message, 0, 40<<20)

	for id := range vocabulary {
		s.words[fmt.Sprintf("w%d", id)] = id
	}

	for name, rows := range map[string]int{"word": vocabulary, "position": positions, "token_type": 2} {
		name = "embeddings." + name + "_embeddings.weight"
		s.tensor(name+"_scale", typeFloat, binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.5)))
		s.graph = s.graph.bytes(5, message{}.number(2, typeUint8).bytes(5, []byte{128, 1}).bytes(8, []byte(name+"_zero_point")))
		s.pattern(name+"_quantized", typeUint8, rows, dim, func(row, _ int) byte { return byte(row) + 128 })
	}

	s.norm("embeddings.LayerNorm")

	for i := range layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for j, name := range []string{"query", "key", "value"} {
			s.matrix(layer+"attention.self."+name, dim, dim, j)
		}

		s.matrix(layer+"attention.output.dense", dim, dim, 3)
		s.matrix(layer+"intermediate.dense", dim, hidden, 4)
		s.matrix(layer+"output.dense", hidden, dim, 5)
		s.norm(layer + "attention.output.LayerNorm")
		s.norm(layer + "output.LayerNorm")
	}

	return s
}

func (s *source) tensor(name string, typ uint64, raw []byte, dims ...int) {
	var t message
	for _, d := range dims {
		t = t.number(1, uint64(d))
	}

	s.graph = s.graph.bytes(5, t.number(2, typ).bytes(8, []byte(name)).bytes(9, raw))
}

func (s *source) pattern(name string, typ uint64, rows, cols int, value func(row, col int) byte) {
	raw := make([]byte, rows*cols)
	for i := range raw {
		raw[i] = value(i/cols, i%cols)
	}

	s.tensor(name, typ, raw, rows, cols)
}

func (s *source) norm(name string) {
	s.tensor(name+".weight", typeFloat, make([]byte, 4*dim), dim)
	s.tensor(name+".bias", typeFloat, make([]byte, 4*dim), dim)
}

func (s *source) matrix(name string, rows, cols, add int) {
	node := strings.Replace("/"+strings.ReplaceAll(name, ".", "/"), "/layer/", "/layer.", 1) + "/MatMul_quant"
	factor := "onnx::" + name
	s.graph = s.graph.bytes(1, message{}.bytes(1, []byte("x")).bytes(1, []byte(factor+"_quantized")).
		bytes(3, []byte(node)).bytes(4, []byte("MatMulInteger")))
	s.tensor(factor+"_scale", typeFloat, make([]byte, 4*cols), cols)
	s.tensor(factor+"_zero_point", typeInt8, make([]byte, cols), cols)
	s.pattern(factor+"_quantized", typeInt8, rows, cols, func(_, col int) byte { return byte(col + add) })
	s.tensor(name+".bias", typeFloat, make([]byte, 4*cols), cols)
}

func (s *source) dir(t *testing.T) fstest.MapFS {
	t.Helper()

	words, err := json.Marshal(map[string]any{"model": map[string]any{"vocab": s.words}})
	if err != nil {
		t.Fatal(err)
	}

	return fstest.MapFS{
		"bge-small-en-v1.5-q.onnx":           {Data: message{}.number(1, 8).bytes(7, s.graph)},
		"bge-small-en-v1.5-q-tokenizer.json": {Data: words},
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()

	whole := newSource()

	blob, err := convert(whole.dir(t))
	if err != nil {
		t.Fatal(err)
	}

	header := 8 + int(binary.LittleEndian.Uint32(blob[4:8]))
	tables := 3*4 + (vocabulary+positions+1)*dim
	layer := 4*3*dim + 3*dim*dim + 4*3*dim + 4*dim + dim*dim + 4*dim + 8*dim +
		4*hidden + dim*hidden + 4*hidden + 4*dim + hidden*dim + 4*dim + 8*dim

	if want := header + tables + 8*dim + layers*layer; len(blob) != want {
		t.Fatalf("%d bytes, want %d", len(blob), want)
	}

	if !strings.HasPrefix(string(blob[8:]), "w0\nw1\n") {
		t.Error("the vocabulary is not in the order of its ids")
	}

	if row := blob[header+4+7*dim]; row != 7 {
		t.Errorf("row 7 of the words begins with %d", row)
	}

	// Query, key and value stand side by side, in panels of 16 columns.
	first := header + tables + 8*dim + 4*3*dim
	for _, c := range []struct{ col, want int }{{0, 0}, {17, 17}, {dim, 1}, {dim + 20, 21}, {2*dim + 3, 5}} {
		at := first + c.col/panelWidth*panelWidth*dim + 9*panelWidth + c.col%panelWidth
		if got := blob[at]; got != byte(c.want) {
			t.Errorf("column %d has %d, want %d", c.col, got, c.want)
		}
	}

	refuses(t, whole)
}

func refuses(t *testing.T, whole *source) {
	t.Helper()

	for name, spoil := range map[string]func(s *source){
		"a word too few":         func(s *source) { delete(s.words, "w7") },
		"a word without an id":   func(s *source) { s.words["w7"] = 8 },
		"a tensor of other form": func(s *source) { s.tensor("embeddings.LayerNorm.bias", typeFloat, make([]byte, 8), 2) },
		"a tensor of other type": func(s *source) { s.tensor("embeddings.LayerNorm.bias", typeInt8, make([]byte, dim), dim) },
		"a tensor cut short":     func(s *source) { s.tensor("embeddings.LayerNorm.bias", typeFloat, nil, dim) },
		"another zero": func(s *source) {
			s.tensor("onnx::encoder.layer.3.output.dense_zero_point", typeInt8, append(make([]byte, dim-1), 1), dim)
		},
		"a message cut short": func(s *source) { s.graph = s.graph[:len(s.graph)-1] },
		"no graph":            func(s *source) { s.graph = nil },
	} {
		s := &source{graph: slices.Clip(whole.graph), words: maps.Clone(whole.words)}
		spoil(s)

		if _, err := convert(s.dir(t)); !errors.Is(err, errSource) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
