package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
)

// header and tensor are the form of weights.bin; package uselite describes it.
type header struct {
	ID      string    `json:"id"`
	Words   []string  `json:"words"`
	Scores  []float32 `json:"scores"`
	Tensors []tensor  `json:"tensors"`
}

type tensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Type  string `json:"type"`
	Off   int    `json:"off"`
}

// convert makes the file from the package's folder dist.
func convert(dir fs.FS) ([]byte, error) {
	known := names()

	source, err := readTensors(dir, func(name string) bool { return known[name] != "" })
	if err != nil {
		return nil, err
	}

	if len(source) != len(known) {
		return nil, fmt.Errorf("%w: %d tensors of %d", errSource, len(source), len(known))
	}

	h := header{ID: "use-lite-en/1:i8"}
	if h.Words, h.Scores, err = readVocabulary(dir); err != nil {
		return nil, err
	}

	var data []byte

	for _, s := range source {
		t := tensor{Name: known[s.name], Shape: s.shape, Type: "f32", Off: len(data)}
		for len(t.Shape) > 2 && t.Shape[0] == 1 {
			t.Shape = t.Shape[1:]
		}

		switch {
		case len(t.Shape) != 2 || t.Shape[0] == 1:
			data = appendFloats(data, s.values)
		case t.Name == "emb":
			t.Type = "i8"
			data = appendQuantised(data, s.values, t.Shape[0], func(i int) int { return i / t.Shape[1] })
		default:
			t.Type = "i8c"
			data = appendQuantised(data, s.values, t.Shape[1], func(i int) int { return i % t.Shape[1] })
		}

		h.Tensors = append(h.Tensors, t)
	}

	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode header: %w", err)
	}

	blob := append([]byte("USEL"), binary.LittleEndian.AppendUint32(nil, uint32(len(head)))...)

	return append(append(blob, head...), data...), nil
}

func appendFloats(data []byte, values []float32) []byte {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}

	return data
}

// appendQuantised writes the scale of each group, which takes its largest value to 127, and then the values as int8.
func appendQuantised(data []byte, values []float32, groups int, groupOf func(i int) int) []byte {
	scales := make([]float32, groups)
	for i, v := range values {
		g := groupOf(i)
		scales[g] = max(scales[g], float32(math.Abs(float64(v))))
	}

	for g := range scales {
		scales[g] /= 127
	}

	data = appendFloats(data, scales)
	for i, v := range values {
		data = append(data, byte(quantise(v, scales[groupOf(i)])))
	}

	return data
}

func quantise(v, scale float32) int8 {
	if scale == 0 {
		return 0
	}

	return int8(max(-127, min(127, math.RoundToEven(float64(v/scale)))))
}
