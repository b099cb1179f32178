package uselite

import "math"

const (
	heads  = 4
	hidden = 3 * Dim // Of the feed-forward part.
)

// layer is one block of the transformer: attention and a two-step feed-forward part, each with layer norm before and
// the input added after.
type layer struct {
	in           int // Width of the input; the output is Dim wide.
	headDim      int
	scale        float32
	normGain     []float32
	normBias     []float32
	qkv          panels
	qkvBias      []float32
	out          panels
	outBias      []float32
	residual     *panels // Widens the input where it is not Dim wide.
	residualBias []float32
	ffNormGain   []float32
	ffNormBias   []float32
	ff1          panels
	ff1Bias      []float32
	ff2          panels
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
func (l *layer) forward(mul gemm, s *scratch, n int) {
	l.attend(mul, s, n)

	mul(s.y, Dim, s.attended, l.in, n, l.out)
	addBias(s.y, l.outBias, n)

	if l.residual != nil {
		mul(s.t, Dim, s.x, l.in, n, *l.residual)
		addBias(s.t, l.residualBias, n)
		copy(s.x, s.t[:n*Dim])
	}

	add(s.x, s.y[:n*Dim])

	layerNorm(s.t, s.x, l.ffNormGain, l.ffNormBias, n, Dim)
	mul(s.wide, hidden, s.t, Dim, n, l.ff1)
	addBiasReLU(s.wide, l.ff1Bias, n)
	mul(s.y, Dim, s.wide, hidden, n, l.ff2)
	addBias(s.y, l.ff2Bias, n)
	add(s.x, s.y[:n*Dim])
}

// attend writes n rows, l.in wide, to s.attended: for each head, the values weighted by how well the keys match.
func (l *layer) attend(mul gemm, s *scratch, n int) {
	d := l.in

	layerNorm(s.t, s.x, l.normGain, l.normBias, n, d)
	mul(s.wide, 3*d, s.t, d, n, l.qkv)
	addBias(s.wide, l.qkvBias, n)

	for i := range n {
		query := s.wide[i*3*d : i*3*d+d]
		for j := range query {
			query[j] *= l.scale
		}
	}

	cols := padded(n)

	for h := range heads {
		off := h * l.headDim
		keys := fillPanelsTransposed(s.keys, s.wide[d+off:], l.headDim, n, 3*d)
		mul(s.scores, cols, s.wide[off:], 3*d, n, keys)

		for i := range n {
			softmax(s.scores[i*cols : i*cols+n])
		}

		values := fillPanels(s.values, s.wide[2*d+off:], n, l.headDim, 3*d)
		mul(s.attended[off:], d, s.scores, cols, n, values)
	}
}

func add(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}
