package uselite

import (
	"math"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

const (
	heads  = 4
	hidden = 3 * Dim // Of the feed-forward part.

	epsilon = 1e-6 // Of the layer norm.
)

// layer is one block of the transformer: attention and a two-step feed-forward part, each with layer norm before and
// the input added after.
type layer struct {
	in           int // Width of the input; the output is Dim wide.
	headDim      int
	scale        float32
	normGain     []float32
	normBias     []float32
	qkv          gemm.Panels
	qkvBias      []float32
	out          gemm.Panels
	outBias      []float32
	residual     *gemm.Panels // Widens the input where it is not Dim wide.
	residualBias []float32
	ffNormGain   []float32
	ffNormBias   []float32
	ff1          gemm.Panels
	ff1Bias      []float32
	ff2          gemm.Panels
	ff2Bias      []float32
}

func readLayer(w *weights, prefix string, in int) layer {
	l := layer{
		in:         in,
		headDim:    in / heads,
		scale:      float32(1 / math.Sqrt(float64(in/heads))),
		normGain:   w.vector(prefix+"ln.g", in),
		normBias:   w.vector(prefix+"ln.b", in),
		qkv:        w.matrix(prefix+"qkv.w", in, 3*in),
		qkvBias:    w.vector(prefix+"qkv.b", 3*in),
		out:        w.matrix(prefix+"out.w", in, Dim),
		outBias:    w.vector(prefix+"out.b", Dim),
		ffNormGain: w.vector(prefix+"fln.g", Dim),
		ffNormBias: w.vector(prefix+"fln.b", Dim),
		ff1:        w.matrix(prefix+"f1.w", Dim, hidden),
		ff1Bias:    w.vector(prefix+"f1.b", hidden),
		ff2:        w.matrix(prefix+"f2.w", hidden, Dim),
		ff2Bias:    w.vector(prefix+"f2.b", Dim),
	}

	if in != Dim {
		residual := w.matrix(prefix+"res.w", in, Dim)
		l.residual = &residual
		l.residualBias = w.vector(prefix+"res.b", Dim)
	}

	return l
}

// forward replaces the n rows of s.x, l.in wide, by the layer's output, Dim wide.
func (l *layer) forward(ops gemm.Ops, s *scratch, n int) {
	l.attend(ops, s, n)

	ops.Mul(s.y, Dim, s.attended, l.in, n, l.out)
	gemm.AddBias(s.y, l.outBias, n)

	if l.residual != nil {
		ops.Mul(s.t, Dim, s.x, l.in, n, *l.residual)
		gemm.AddBias(s.t, l.residualBias, n)
		copy(s.x, s.t[:n*Dim])
	}

	gemm.Add(s.x, s.y[:n*Dim])

	gemm.LayerNorm(s.t, s.x, l.ffNormGain, l.ffNormBias, n, Dim, epsilon)
	ops.Mul(s.wide, hidden, s.t, Dim, n, l.ff1)
	gemm.AddBiasReLU(s.wide, l.ff1Bias, n)
	ops.Mul(s.y, Dim, s.wide, hidden, n, l.ff2)
	gemm.AddBias(s.y, l.ff2Bias, n)
	gemm.Add(s.x, s.y[:n*Dim])
}

// attend writes n rows, l.in wide, to s.attended: for each head, the values weighted by how well the keys match.
func (l *layer) attend(ops gemm.Ops, s *scratch, n int) {
	d := l.in

	gemm.LayerNorm(s.t, s.x, l.normGain, l.normBias, n, d, epsilon)
	ops.Mul(s.wide, 3*d, s.t, d, n, l.qkv)
	gemm.AddBias(s.wide, l.qkvBias, n)

	for i := range n {
		query := s.wide[i*3*d : i*3*d+d]
		for j := range query {
			query[j] *= l.scale
		}
	}

	cols := gemm.Padded(n)

	for h := range heads {
		off := h * l.headDim
		keys := gemm.FillTransposed(s.keys, s.wide[d+off:], l.headDim, n, 3*d)
		ops.Mul(s.scores, cols, s.wide[off:], 3*d, n, keys)

		for i := range n {
			ops.Softmax(s.scores[i*cols : i*cols+n])
		}

		values := gemm.Fill(s.values, s.wide[2*d+off:], n, l.headDim, 3*d)
		ops.Mul(s.attended[off:], d, s.scores, cols, n, values)
	}
}
