package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
)

// errSource is the cause of every fault of the input.
var errSource = errors.New("source is not the expected model")

// manifest is what is needed of model.json.
type manifest struct {
	Groups []struct {
		Paths   []string `json:"paths"`
		Weights []struct {
			Name  string `json:"name"`
			Shape []int  `json:"shape"`
			Type  string `json:"dtype"`
		} `json:"weights"`
	} `json:"weightsManifest"` //nolint:tagliatelle // The source's name.
}

// sourceTensor is one tensor of the source, in the order of its file.
type sourceTensor struct {
	name   string
	shape  []int
	values []float32
}

// readTensors returns the float32 tensors that wanted accepts.
func readTensors(dir fs.FS, wanted func(name string) bool) ([]sourceTensor, error) {
	var m manifest
	if err := readJSON(dir, "model.json", &m); err != nil {
		return nil, err
	}

	if len(m.Groups) != 1 {
		return nil, fmt.Errorf("%w: %d groups of weights", errSource, len(m.Groups))
	}

	group := m.Groups[0]

	var data []byte

	for _, path := range group.Paths {
		b, err := fs.ReadFile(dir, path)
		if err != nil {
			return nil, fmt.Errorf("read weights: %w", err)
		}

		data = append(data, b...)
	}

	var list []sourceTensor

	for _, w := range group.Weights {
		n, err := elements(w.Shape, len(data)/4)
		if err != nil {
			return nil, err
		}

		raw := data[:4*n] // The other types of the source, int32 only, are as wide.
		data = data[4*n:]

		if !wanted(w.Name) {
			continue
		}

		if w.Type != "float32" {
			return nil, fmt.Errorf("%w: a tensor of %s", errSource, w.Type)
		}

		values := make([]float32, n)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}

		list = append(list, sourceTensor{name: w.Name, shape: w.Shape, values: values})
	}

	return list, nil
}

// elements multiplies a shape and refuses what is more than the data has.
func elements(shape []int, most int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > most || n*d > most {
			return 0, fmt.Errorf("%w: a tensor is larger than its data", errSource)
		}

		n *= d
	}

	return n, nil
}

// readVocabulary returns the pieces and their scores. Pieces that are no text have other things for a score: zero.
func readVocabulary(dir fs.FS) (words []string, scores []float32, err error) {
	var pairs [][]any
	if err := readJSON(dir, "vocab.json", &pairs); err != nil {
		return nil, nil, err
	}

	for _, pair := range pairs {
		if len(pair) != 2 {
			return nil, nil, fmt.Errorf("%w: a piece is no pair", errSource)
		}

		word, ok := pair[0].(string)
		if !ok {
			return nil, nil, fmt.Errorf("%w: a piece is no text", errSource)
		}

		score, _ := pair[1].(float64)
		words, scores = append(words, word), append(scores, float32(score))
	}

	return words, scores, nil
}

func readJSON(dir fs.FS, name string, to any) error {
	b, err := fs.ReadFile(dir, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}

	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}

	return nil
}
