package bge

import (
	"math"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// layer is one block of the transformer: attention and a two-step feed-forward part, each with its input added and a
// layer norm after that.
type layer struct {
	qkv        gemm.Quantised
	qkvBias    []float32
	out        gemm.Quantised
	outBias    []float32
	normGain   []float32
	normBias   []float32
	ff1        gemm.Quantised
	ff1Bias    []float32
	ff2        gemm.Quantised
	ff2Bias    []float32
	ffNormGain []float32
	ffNormBias []float32
}

func readLayer(w *weights) layer {
	return layer{
		qkv: w.matrix(Dim, 3*Dim), qkvBias: w.vector(3 * Dim),
		out: w.matrix(Dim, Dim), outBias: w.vector(Dim),
		normGain: w.vector(Dim), normBias: w.vector(Dim),
		ff1: w.matrix(Dim, hidden), ff1Bias: w.vector(hidden),
		ff2: w.matrix(hidden, Dim), ff2Bias: w.vector(Dim),
		ffNormGain: w.vector(Dim), ffNormBias: w.vector(Dim),
	}
}

// forward replaces the first rows of the n rows of s.x by the layer's output. The last layer needs no more than the
// first row, since only that one becomes the vector.
func (l *layer) forward(ops gemm.Ops, s *scratch, n, rows int) {
	l.attend(ops, s, n, rows)

	ops.MulQuantised(s.y, Dim, s.attended, Dim, rows, l.out, s.panel)
	gemm.AddBias(s.y, l.outBias, rows)
	gemm.Add(s.x, s.y[:rows*Dim])
	gemm.LayerNorm(s.x, s.x, l.normGain, l.normBias, rows, Dim, epsilon)

	ops.MulQuantised(s.wide, hidden, s.x, Dim, rows, l.ff1, s.panel)
	ops.Gelu(s.wide[:rows*hidden], l.ff1Bias)
	ops.MulQuantised(s.y, Dim, s.wide, hidden, rows, l.ff2, s.panel)
	gemm.AddBias(s.y, l.ff2Bias, rows)
	gemm.Add(s.x, s.y[:rows*Dim])
	gemm.LayerNorm(s.x, s.x, l.ffNormGain, l.ffNormBias, rows, Dim, epsilon)
}

// attend writes rows to s.attended: for each head, the values of all n rows weighted by how well their keys match.
func (l *layer) attend(ops gemm.Ops, s *scratch, n, rows int) {
	const stride = 3 * Dim

	ops.MulQuantised(s.wide, stride, s.x, Dim, n, l.qkv, s.panel)
	gemm.AddBias(s.wide, l.qkvBias, n)

	scale := float32(1 / math.Sqrt(headDim))

	for i := range rows {
		query := s.wide[i*stride : i*stride+Dim]
		for j := range query {
			query[j] *= scale
		}
	}

	cols := gemm.Padded(n)

	for off := 0; off < Dim; off += headDim {
		keys := gemm.FillTransposed(s.keys, s.wide[Dim+off:], headDim, n, stride)
		ops.Mul(s.scores, cols, s.wide[off:], stride, rows, keys)

		for i := range rows {
			ops.Softmax(s.scores[i*cols : i*cols+n])
		}

		values := gemm.Fill(s.values, s.wide[2*Dim+off:], n, headDim, stride)
		ops.Mul(s.attended[off:], Dim, s.scores, cols, rows, values)
	}
}
