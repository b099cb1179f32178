package bge

import (
	"github.com/annals-memory/annals/producers/embed/internal/builtin"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

const (
	// Dim is the number of components of each vector.
	Dim = 384

	maxTokens  = 128 // In one window, the two that frame it included.
	maxWindows = 16
	vocabulary = 30_522
	positions  = 512
	layers     = 12
	headDim    = 32
	hidden     = 4 * Dim // Of the feed-forward part.
	epsilon    = 1e-12   // Of the layer norm.
)

// encoder is the network: token ids in, one vector out. It is read-only once made.
type encoder struct {
	ops       gemm.Ops
	words     *tokenizer
	tokens    table
	positions table
	segment   table
	normGain  []float32
	normBias  []float32
	layers    [layers]layer
}

func readEncoder(blob []byte, ops gemm.Ops) (*encoder, error) {
	w, err := openWeights(blob)
	if err != nil {
		return nil, err
	}

	e := &encoder{ops: ops}
	if e.words, err = newTokenizer(w.words); err != nil {
		return nil, err
	}

	e.tokens, e.positions, e.segment = w.table(vocabulary), w.table(positions), w.table(1)
	e.normGain, e.normBias = w.vector(Dim), w.vector(Dim)

	for i := range e.layers {
		e.layers[i] = readLayer(w)
	}

	if err := w.close(); err != nil {
		return nil, err
	}

	return e, nil
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

// Forward implements builtin.Pass. The window's vector is the row of the token that opens it.
func (p *pass) Forward(ids []int32, out []float32) {
	e, s := p.encoder, p.scratch
	n := len(ids) + 2

	clear(s.x[:n*Dim])
	e.place(s, 0, e.words.open)

	for i, id := range ids {
		e.place(s, i+1, id)
	}

	e.place(s, n-1, e.words.close)
	gemm.LayerNorm(s.x, s.x, e.normGain, e.normBias, n, Dim, epsilon)

	for i := range e.layers {
		rows := n
		if i == layers-1 {
			rows = 1
		}

		e.layers[i].forward(e.ops, s, n, rows)
	}

	copy(out, s.x[:Dim])
}

// place adds what a token is and where it stands.
func (e *encoder) place(s *scratch, position int, id int32) {
	row := s.x[position*Dim : (position+1)*Dim]
	e.tokens.add(row, int(id))
	e.positions.add(row, position)
	e.segment.add(row, 0)
}
