package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// source is a package with all the tensors that convert looks for, each 2 x 3, and one that it does not.
func source(t *testing.T) fstest.MapFS {
	t.Helper()

	type weight struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
		Type  string `json:"dtype"`
	}

	weights := []weight{{Name: "other", Shape: []int{1}, Type: "int32"}}
	data := []byte{1, 2, 3, 4}

	for name, short := range names() {
		shape := []int{1, 2, 3}
		if strings.HasSuffix(short, ".b") {
			shape = []int{6}
		}

		weights = append(weights, weight{Name: name, Shape: shape, Type: "float32"})
		data = appendFloats(data, []float32{1, -0.5, 0, 0.25, 2, 0})
	}

	m, err := json.Marshal(map[string]any{"weightsManifest": []any{
		map[string]any{"paths": []string{"shard1", "shard2"}, "weights": weights},
	}})
	if err != nil {
		t.Fatal(err)
	}

	return fstest.MapFS{
		"model.json": {Data: m},
		"vocab.json": {Data: []byte(`[["\ufffd", 0], ["<s>", "x"], ["a", -1.5]]`)},
		"shard1":     {Data: data[:101]},
		"shard2":     {Data: data[101:]},
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()

	blob, err := convert(source(t))
	if err != nil {
		t.Fatal(err)
	}

	size := int(binary.LittleEndian.Uint32(blob[4:8]))

	var h header
	if err := json.Unmarshal(blob[8:8+size], &h); err != nil || string(blob[:4]) != "USEL" {
		t.Fatal(err)
	}

	if len(h.Words) != 3 || h.Words[2] != "a" || h.Scores[1] != 0 || h.Scores[2] != -1.5 {
		t.Errorf("vocabulary %q %v", h.Words, h.Scores)
	}

	if len(h.Tensors) != len(names()) {
		t.Fatalf("%d tensors", len(h.Tensors))
	}

	float := func(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
	types := map[string]int{}

	for _, tensor := range h.Tensors {
		types[tensor.Type]++

		b := blob[8+size+tensor.Off:]

		for i, want := range []float32{1, -0.5, 0, 0.25, 2, 0} {
			var got, largest float32

			switch tensor.Type {
			case "f32":
				got = float(b, i)
			case "i8":
				got, largest = float32(int8(b[8+i]))*float(b, i/3), []float32{1, 2}[i/3]
			case "i8c":
				got, largest = float32(int8(b[12+i]))*float(b, i%3), []float32{1, 2, 0}[i%3]
			}

			if math.Abs(float64(got-want)) > float64(largest)/254+1e-6 {
				t.Errorf("%s of type %s: element %d is %g, want %g", tensor.Name, tensor.Type, i, got, want)
			}
		}
	}

	if types["i8"] != 1 || types["i8c"] == 0 || types["f32"] == 0 {
		t.Errorf("types %v", types)
	}
}

func TestConvertRefuses(t *testing.T) {
	t.Parallel()

	replace := func(file, before, after string) func(dir fstest.MapFS) {
		return func(dir fstest.MapFS) {
			dir[file].Data = []byte(strings.Replace(string(dir[file].Data), before, after, 1))
		}
	}

	for name, damage := range map[string]func(dir fstest.MapFS){
		"cut data":       func(dir fstest.MapFS) { dir["shard2"].Data = dir["shard2"].Data[:20] },
		"missing tensor": replace("model.json", "module/Embeddings_en", "module/Embeddings_de"),
		"other type":     replace("model.json", `"dtype":"float32"`, `"dtype":"int32"`),
		"negative shape": replace("model.json", "[1,2,3]", "[1,2,-3]"),
		"huge shape":     replace("model.json", "[1,2,3]", "[4611686018427387904,4,1]"),
		"no groups":      func(dir fstest.MapFS) { dir["model.json"].Data = []byte("{}") },
		"no pair":        replace("vocab.json", `["a", -1.5]`, `["a"]`),
		"no text":        replace("vocab.json", `["a", -1.5]`, `[1, 2]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := source(t)
			damage(dir)

			if blob, err := convert(dir); !errors.Is(err, errSource) || blob != nil {
				t.Errorf("convert = %v", err)
			}
		})
	}

	if _, err := convert(fstest.MapFS{}); err == nil {
		t.Error("an empty folder converts")
	}
}

func TestRun(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	if err := os.CopyFS(dir, source(t)); err != nil {
		t.Fatal(err)
	}

	var stdout bytes.Buffer

	out := filepath.Join(dir, "weights.bin")
	if err := run([]string{"-dir", dir, "-out", out}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}

	if b, err := os.ReadFile(out); err != nil || len(b) == 0 || !strings.HasSuffix(stdout.String(), " bytes\n") {
		t.Errorf("%d bytes, %v, printed %q", len(b), err, stdout.String())
	}

	if err := run([]string{"-nonsense"}, io.Discard, io.Discard); err == nil {
		t.Error("an unknown flag is taken")
	}
}
