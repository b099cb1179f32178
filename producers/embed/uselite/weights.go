package uselite

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// ErrWeights is returned for weights that are truncated, damaged or of another model.
var ErrWeights = errors.New("weights are damaged")

// The file is the four bytes of magic, the length of the header as a little-endian uint32, the header as JSON, and
// the data that the offsets of the header count from.
const magic = "USEL"

// header describes a file of weights.
type header struct {
	ID      string    `json:"id"`
	Words   []string  `json:"words"`
	Scores  []float32 `json:"scores"`
	Tensors []tensor  `json:"tensors"`
}

// tensor is one block of numbers in the data, little-endian and row by row. Its type is "f32" (float32), "i8" (one
// float32 scale per row, then int8) or "i8c" (one float32 scale per column, then int8).
type tensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Type  string `json:"type"`
	Off   int    `json:"off"`
}

// weights gives out the tensors of a file. Shapes and types are those that the caller names: a file that has others
// is refused, so that nothing in it decides how much is read or allocated. The first fault stays in err and every
// later read gives nothing.
type weights struct {
	header  header
	tensors map[string]tensor
	data    []byte
	err     error
}

func openWeights(blob []byte) (*weights, error) {
	const prefix = len(magic) + 4
	if len(blob) < prefix || string(blob[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: no header", ErrWeights)
	}

	size := uint64(binary.LittleEndian.Uint32(blob[len(magic):prefix]))
	if size > uint64(len(blob)-prefix) {
		return nil, fmt.Errorf("%w: header is cut short", ErrWeights)
	}

	w := &weights{data: blob[prefix+int(size):]}
	if err := json.Unmarshal(blob[prefix:prefix+int(size)], &w.header); err != nil {
		return nil, fmt.Errorf("%w: header is not JSON of its form", ErrWeights)
	}

	words := len(w.header.Words)
	if words <= reserved || words > embeddingRows || words != len(w.header.Scores) {
		return nil, fmt.Errorf("%w: vocabulary of %d pieces", ErrWeights, words)
	}

	w.tensors = make(map[string]tensor, len(w.header.Tensors))
	for _, t := range w.header.Tensors {
		if _, ok := w.tensors[t.Name]; ok {
			return nil, fmt.Errorf("%w: a tensor is there twice", ErrWeights)
		}

		w.tensors[t.Name] = t
	}

	return w, nil
}

// block finds the bytes of a tensor; extra is how many of them precede its rows x cols elements of the given size.
func (w *weights) block(name, typ string, rows, cols, extra, size int) []byte {
	if w.err != nil {
		return nil
	}

	t, ok := w.tensors[name]
	total := extra + rows*cols*size

	switch {
	case !ok:
		w.err = fmt.Errorf("%w: tensor %s is missing", ErrWeights, name)
	case t.Type != typ || !hasShape(t.Shape, rows, cols):
		w.err = fmt.Errorf("%w: tensor %s has another type or shape", ErrWeights, name)
	case t.Off < 0 || t.Off > len(w.data) || len(w.data)-t.Off < total:
		w.err = fmt.Errorf("%w: tensor %s is cut short", ErrWeights, name)
	default:
		return w.data[t.Off : t.Off+total]
	}

	return nil
}

// hasShape also takes a vector without its leading 1.
func hasShape(shape []int, rows, cols int) bool {
	if len(shape) == 1 {
		return rows == 1 && shape[0] == cols
	}

	return len(shape) == 2 && shape[0] == rows && shape[1] == cols
}

// floats decodes n float32 and refuses those that are not finite: one NaN would make every vector NaN.
func (w *weights) floats(name string, b []byte, n int) []float32 {
	out := make([]float32, n)
	if w.err != nil {
		return out
	}

	for i := range out {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			w.err = fmt.Errorf("%w: tensor %s is not finite", ErrWeights, name)

			return out
		}

		out[i] = v
	}

	return out
}

// vector reads a tensor of n float32.
func (w *weights) vector(name string, n int) []float32 {
	return w.floats(name, w.block(name, "f32", 1, n, 0, 4), n)
}

// matrix reads a tensor with a scale per column and packs it for the kernels.
func (w *weights) matrix(name string, rows, cols int) gemm.Panels {
	b := w.block(name, "i8c", rows, cols, 4*cols, 1)
	scales := w.floats(name, b, cols)

	if w.err != nil {
		return gemm.Panels{}
	}

	q := b[4*cols:]
	out := make([]float32, rows*cols)

	for r := range rows {
		for c, scale := range scales {
			out[r*cols+c] = float32(int8(q[r*cols+c])) * scale
		}
	}

	return gemm.NewPanels(out, rows, cols)
}

// embeddings reads a tensor with a scale per row and leaves it quantised: few of its rows are used by one text.
func (w *weights) embeddings(name string, rows, cols int) (scales []float32, quantised []int8) {
	b := w.block(name, "i8", rows, cols, 4*rows, 1)
	scales = w.floats(name, b, rows)

	if w.err != nil {
		return nil, nil
	}

	quantised = make([]int8, rows*cols)
	for i, v := range b[4*rows:] {
		quantised[i] = int8(v)
	}

	return scales, quantised
}
