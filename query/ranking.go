package query

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
)

// DefaultHorizon is the age at which a memory has no freshness left, where its
// category has no horizon of its own.
const DefaultHorizon = 30 * 24 * time.Hour

// Components are the terms of a score, each in 0..1.
type Components struct {
	// Relevance is made of the scores in the two channels and of Context.
	Relevance float64 `json:"relevance"`
	// Freshness falls in a straight line from 1 now to 0 at the horizon.
	Freshness float64 `json:"freshness"`
	// Reliability follows the trust of the record.
	Reliability float64 `json:"reliability"`
	// Dense is the cosine, Lexical the scaled BM25 score that Relevance was made
	// of; nil where the channel did not find the memory.
	Dense   *float64 `json:"dense,omitempty"`
	Lexical *float64 `json:"lexical,omitempty"`
	// Context is the part of Relevance that the turns before and after it in the
	// session gave; nil where they gave none.
	Context *float64 `json:"context,omitempty"`
}

// Score is w_r·relevance + w_f·freshness + w_s·reliability, in 0..1 for weights
// that are valid.
func Score(w Weights, c Components) float64 {
	return w.Relevance*c.Relevance + w.Freshness*c.Freshness + w.Reliability*c.Reliability
}

// Freshness is max(0, 1 - age/horizon). What is dated after now, which clocks
// that disagree can do, is as fresh as what is dated now. A horizon that is not
// positive leaves nothing fresh but the present.
func Freshness(now, observed time.Time, horizon time.Duration) float64 {
	age := now.Sub(observed)
	switch {
	case age <= 0:
		return 1
	case horizon <= 0:
		return 0
	}
	return math.Max(0, 1-float64(age)/float64(horizon))
}

// Reliability maps a trust to 0..1. Trust that is unknown counts for nothing.
func Reliability(t events.Trust) float64 {
	switch t {
	case events.TrustSystem, events.TrustHuman:
		return 1
	case events.TrustUser:
		return 0.9
	case events.TrustAgent:
		return 0.7
	case events.TrustTool:
		return 0.6
	case events.TrustExternal:
		return 0.3
	}
	return 0
}

// ranked is a candidate with its score and what breaks a tie.
type ranked struct {
	candidate

	score      float64
	components Components
}

// rank sorts in place: the higher score first, then the later position, then
// the id, so that equal questions get equal answers.
func rank(list []ranked) {
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Position, a.Position), cmp.Compare(a.ID, b.ID))
	})
}
