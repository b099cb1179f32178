package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// The shapes of the model, and the width of the panels that the kernels multiply.
const (
	vocabulary = 30_522
	positions  = 512
	dim        = 384
	hidden     = 4 * dim
	layers     = 12
	panelWidth = 16
)

// writer collects the file. The first fault stays in err.
type writer struct {
	graph graph
	blob  []byte
	err   error
}

// convert makes the file from the package; package bge describes it.
func convert(dir fs.FS) ([]byte, error) {
	words, err := readVocabulary(dir)
	if err != nil {
		return nil, err
	}

	model, err := fs.ReadFile(dir, "bge-small-en-v1.5-q.onnx")
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}

	w := &writer{}
	if w.graph, err = readGraph(model); err != nil {
		return nil, err
	}

	text := strings.Join(words, "\n")
	w.blob = append(binary.LittleEndian.AppendUint32([]byte("BGE1"), uint32(len(text))), text...)

	w.table("embeddings.word_embeddings.weight", vocabulary, vocabulary)
	w.table("embeddings.position_embeddings.weight", positions, positions)
	w.table("embeddings.token_type_embeddings.weight", 2, 1)
	w.norm("embeddings.LayerNorm")

	for i := range layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		self := layer + "attention.self."

		w.matrix(dim, dim, self+"query", self+"key", self+"value")
		w.matrix(dim, dim, layer+"attention.output.dense")
		w.norm(layer + "attention.output.LayerNorm")
		w.matrix(dim, hidden, layer+"intermediate.dense")
		w.matrix(hidden, dim, layer+"output.dense")
		w.norm(layer + "output.LayerNorm")
	}

	return w.blob, w.err
}

func (w *writer) bytes(name string, typ uint64, dims ...uint64) []byte {
	if w.err != nil {
		return nil
	}

	b, err := w.graph.bytes(name, typ, dims...)
	w.err = err

	return b
}

func (w *writer) vector(name string, n uint64) {
	w.blob = append(w.blob, w.bytes(name, typeFloat, n)...)
}

func (w *writer) norm(name string) {
	w.vector(name+".weight", dim)
	w.vector(name+".bias", dim)
}

// table writes the first rows of a tensor of unsigned bytes as signed ones; 128 stands for zero in it.
func (w *writer) table(name string, rows, take uint64) {
	if zero := w.bytes(name+"_zero_point", typeUint8); w.err == nil && zero[0] != 128 {
		w.err = fmt.Errorf("%w: zero of %q is not 128", errSource, name)
	}

	w.blob = append(w.blob, w.bytes(name+"_scale", typeFloat)...)

	table := w.bytes(name+"_quantized", typeUint8, rows, dim)
	if w.err != nil {
		return
	}

	from := len(w.blob)
	w.blob = append(w.blob, table[:take*dim]...)

	for i := from; i < len(w.blob); i++ {
		w.blob[i] ^= 0x80
	}
}

// matrix writes matrices of one shape side by side as one, and then their biases.
func (w *writer) matrix(rows, cols uint64, names ...string) {
	var scales, panels [][]byte

	for _, name := range names {
		node := "/" + strings.ReplaceAll(name, ".", "/") + "/MatMul_quant"
		node = strings.Replace(node, "/layer/", "/layer.", 1)
		factor := strings.TrimSuffix(w.graph.factors[node], "_quantized")

		if zero := w.bytes(factor+"_zero_point", typeInt8, cols); slices.ContainsFunc(zero, func(b byte) bool { return b != 0 }) {
			w.err = fmt.Errorf("%w: zero of %q is not 0", errSource, name)
		}

		scales = append(scales, w.bytes(factor+"_scale", typeFloat, cols))

		q := w.bytes(factor+"_quantized", typeInt8, rows, cols)
		if w.err != nil {
			return
		}

		for j := uint64(0); j < cols; j += panelWidth {
			for r := range rows {
				panels = append(panels, q[r*cols+j:r*cols+j+panelWidth])
			}
		}
	}

	w.blob = append(w.blob, bytes.Join(scales, nil)...)
	w.blob = append(w.blob, bytes.Join(panels, nil)...)

	for _, name := range names {
		w.vector(name+".bias", cols)
	}
}

// readVocabulary returns the words by id.
func readVocabulary(dir fs.FS) ([]string, error) {
	b, err := fs.ReadFile(dir, "bge-small-en-v1.5-q-tokenizer.json")
	if err != nil {
		return nil, fmt.Errorf("read vocabulary: %w", err)
	}

	var file struct {
		Model struct {
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(b, &file); err != nil || len(file.Model.Vocab) != vocabulary {
		return nil, fmt.Errorf("%w: vocabulary", errSource)
	}

	words := make([]string, vocabulary)

	for word, id := range file.Model.Vocab {
		if id < 0 || id >= vocabulary || words[id] != "" || word == "" || strings.Contains(word, "\n") {
			return nil, fmt.Errorf("%w: vocabulary", errSource)
		}

		words[id] = word
	}

	return words, nil
}
