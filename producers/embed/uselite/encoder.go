package uselite

import "math"

const (
	// Dim is the number of components of each vector.
	Dim = 512

	maxTokens     = 128 // In one window, which is what the model was trained for.
	maxWindows    = 16
	embeddingDim  = 256
	embeddingRows = 8002
)

// encoder is the network: token ids in, one vector out. It is read-only once made.
type encoder struct {
	mul        gemm
	scales     []float32 // Of the embeddings, by token.
	embeddings []int8
	timing     []float32 // What tells the first token from the second, by position.
	layers     [2]layer
	last       panels
	lastBias   []float32
}

func readEncoder(w *weights, mul gemm) *encoder {
	e := &encoder{mul: mul}
	e.scales, e.embeddings = w.embeddings("emb", embeddingRows, embeddingDim)
	e.timing = timing(w.vector("timing", embeddingDim/2))
	e.layers[0] = readLayer(w, "l0.", embeddingDim)
	e.layers[1] = readLayer(w, "l1.", Dim)
	e.last, e.lastBias = w.matrix("tanh.w", Dim, Dim), w.vector("tanh.b", Dim)

	return e
}

// timing makes one row of sines and cosines per position, of the given frequencies.
func timing(frequencies []float32) []float32 {
	rows := make([]float32, maxTokens*embeddingDim)

	for position := range maxTokens {
		row := rows[position*embeddingDim : (position+1)*embeddingDim]

		for i, f := range frequencies {
			sin, cos := math.Sincos(float64(float32(position) * f))
			row[i], row[len(frequencies)+i] = float32(sin), float32(cos)
		}
	}

	return rows
}

// forward writes the vector of one window, 1 to maxTokens ids, to out; its length is not 1 yet.
func (e *encoder) forward(s *scratch, ids []int32, out []float32) {
	n := len(ids)

	for i, id := range ids {
		row := s.x[i*embeddingDim : (i+1)*embeddingDim]
		timing := e.timing[i*embeddingDim : (i+1)*embeddingDim]
		scale := 2 * e.scales[id]

		for j, q := range e.embeddings[int(id)*embeddingDim : (int(id)+1)*embeddingDim] {
			row[j] = scale*float32(q) + timing[j]
		}
	}

	for i := range e.layers {
		e.layers[i].forward(e.mul, s, n)
	}

	mean := s.t[:Dim]
	clear(mean)

	for i := range n {
		add(mean, s.x[i*Dim:(i+1)*Dim])
	}

	for j := range mean {
		mean[j] /= float32(n)
	}

	e.mul(s.y, Dim, mean, Dim, 1, e.last)

	for j, bias := range e.lastBias {
		out[j] = float32(math.Tanh(float64(s.y[j] + bias)))
	}
}
