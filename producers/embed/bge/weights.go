package bge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// ErrWeights is returned for weights that are truncated, damaged or of another model.
var ErrWeights = errors.New("weights are damaged")

// The file is the magic, the length of the vocabulary as a uint32, the vocabulary with one word a line, and then the
// tensors in the order in which the encoder reads them, without anything between them. Numbers are little-endian. A
// vector is float32. A table has one float32 scale and then signed bytes, row by row. A matrix has one scale per column
// and then its bytes in panels of 16 columns, as gemm.Quantised multiplies them.
const magic = "BGE1"

// weights gives out what is in a file, from its start to its end. The shapes are those that the caller asks for:
// nothing in the file decides how much is read or allocated. The first fault stays in err and every later read gives
// nothing.
type weights struct {
	words []string
	rest  []byte
	err   error
}

func openWeights(blob []byte) (*weights, error) {
	const prefix = len(magic) + 4
	if len(blob) < prefix || string(blob[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: no header", ErrWeights)
	}

	size := uint64(binary.LittleEndian.Uint32(blob[len(magic):prefix]))
	if size > uint64(len(blob)-prefix) {
		return nil, fmt.Errorf("%w: vocabulary is cut short", ErrWeights)
	}

	w := &weights{
		words: strings.Split(string(blob[prefix:prefix+int(size)]), "\n"),
		rest:  blob[prefix+int(size):],
	}
	if len(w.words) != vocabulary {
		return nil, fmt.Errorf("%w: vocabulary of %d words", ErrWeights, len(w.words))
	}

	return w, nil
}

// close reports the first fault, which is also that something is left.
func (w *weights) close() error {
	if w.err == nil && len(w.rest) > 0 {
		w.err = fmt.Errorf("%w: %d bytes too many", ErrWeights, len(w.rest))
	}

	return w.err
}

func (w *weights) bytes(n int) []byte {
	if w.err == nil && len(w.rest) < n {
		w.err = fmt.Errorf("%w: %d bytes are missing", ErrWeights, n-len(w.rest))
	}

	if w.err != nil {
		return nil
	}

	b := w.rest[:n:n]
	w.rest = w.rest[n:]

	return b
}

// vector reads n float32 and refuses those that are not finite: one NaN would make every vector NaN.
func (w *weights) vector(n int) []float32 {
	b := w.bytes(4 * n)
	if b == nil {
		return nil
	}

	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		if f := float64(out[i]); math.IsNaN(f) || math.IsInf(f, 0) {
			w.err = fmt.Errorf("%w: a number is not finite", ErrWeights)

			return nil
		}
	}

	return out
}

// table is rows of bytes with one scale. It is left as it is: few of its rows are used by one text.
type table struct {
	scale float32
	data  []byte
}

func (w *weights) table(rows int) table {
	scale := w.vector(1)
	data := w.bytes(rows * Dim)

	if w.err != nil {
		return table{}
	}

	return table{scale: scale[0], data: data}
}

// add adds one row to dst.
func (t table) add(dst []float32, row int) {
	for i, q := range t.data[row*Dim : (row+1)*Dim] {
		dst[i] += t.scale * float32(int8(q))
	}
}

func (w *weights) matrix(rows, cols int) gemm.Quantised {
	scales := w.vector(cols)
	data := w.bytes(rows * cols)

	if w.err != nil {
		return gemm.Quantised{}
	}

	q, ok := gemm.NewQuantised(data, scales, rows, cols)
	if !ok {
		w.err = fmt.Errorf("%w: a matrix of no whole panels", ErrWeights)
	}

	return q
}
