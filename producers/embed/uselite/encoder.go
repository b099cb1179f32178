package uselite

import (
	"math"

	"github.com/annals-memory/annals/producers/embed/internal/builtin"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

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
	ops        gemm.Ops
	words      *tokenizer
	scales     []float32 // Of the embeddings, by token.
	embeddings []int8
	timing     []float32 // What tells the first token from the second, by position.
	layers     [2]layer
	last       gemm.Panels
	lastBias   []float32
}

func readEncoder(w *weights, ops gemm.Ops) *encoder {
	e := &encoder{ops: ops, words: newTokenizer(w.header.Words, w.header.Scores)}
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

// Encode implements builtin.Network.
func (e *encoder) Encode(text string) []int32 { return e.words.encode(text) }

// NewPass implements builtin.Network.
func (e *encoder) NewPass() builtin.Pass { return &pass{encoder: e, scratch: newScratch()} }

// pass is one window at a time in its own memory.
type pass struct {
	encoder *encoder
	scratch *scratch
}

// Forward implements builtin.Pass.
func (p *pass) Forward(ids []int32, out []float32) { p.encoder.forward(p.scratch, ids, out) }

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
		e.layers[i].forward(e.ops, s, n)
	}

	mean := s.t[:Dim]
	clear(mean)

	for i := range n {
		gemm.Add(mean, s.x[i*Dim:(i+1)*Dim])
	}

	for j := range mean {
		mean[j] /= float32(n)
	}

	e.ops.Mul(s.y, Dim, mean, Dim, 1, e.last)

	for j, bias := range e.lastBias {
		out[j] = float32(math.Tanh(float64(s.y[j] + bias)))
	}
}
