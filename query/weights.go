package query

import (
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// DefaultWeightsName is the name of the weights that a request without any gets.
const DefaultWeightsName = "default"

// customWeights is what a trace says of weights that the request spelled out.
const customWeights = "custom"

// sumTolerance is how far weights may be from summing to 1: rounding in a
// caller's decimal fractions, not a fourth weight.
const sumTolerance = 1e-6

// Weights say how much each term of a score counts. They are in 0..1 and sum
// to 1.
type Weights struct {
	Relevance   float64 `json:"relevance"`
	Freshness   float64 `json:"freshness"`
	Reliability float64 `json:"reliability"`
}

// DefaultWeights are those of [DefaultWeightsName] unless configured otherwise.
// Relevance leads: what was asked for and is old or less trusted must not lose
// to what was not asked for.
func DefaultWeights() Weights {
	return Weights{Relevance: 0.8, Freshness: 0.1, Reliability: 0.1}
}

// Valid reports whether all weights are in 0..1 and sum to 1.
func (w Weights) Valid() bool {
	for _, x := range []float64{w.Relevance, w.Freshness, w.Reliability} {
		if !(x >= 0 && x <= 1) { // also refuses NaN
			return false
		}
	}
	return math.Abs(w.Relevance+w.Freshness+w.Reliability-1) <= sumTolerance
}

// WeightsChoice is either the name of configured weights or the weights
// themselves. In JSON it is a string or an object.
type WeightsChoice struct {
	// Name is used if it is not empty.
	Name    string
	Weights Weights
}

// MarshalJSON writes the name, or the weights if there is no name.
func (c WeightsChoice) MarshalJSON() ([]byte, error) {
	var v any = c.Weights
	if c.Name != "" {
		v = c.Name
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, malformed("weights", "bad_type", "must be a name or an object of finite numbers")
	}
	return b, nil
}

// UnmarshalJSON reads a string or an object. Its error is an
// [events.InputError].
func (c *WeightsChoice) UnmarshalJSON(b []byte) error {
	var err error
	switch jsontext.Value(b).Kind() {
	case '"':
		var name string
		if err = json.Unmarshal(b, &name); err == nil && name != "" {
			*c = WeightsChoice{Name: name}
			return nil
		}
	case '{':
		var w Weights
		if err = json.Unmarshal(b, &w, json.RejectUnknownMembers(true)); err == nil {
			*c = WeightsChoice{Weights: w}
			return nil
		}
	default:
	}
	return malformed("weights", "bad_type", "must be a name or {relevance, freshness, reliability}")
}

// weights resolves the choice of a request and the word for it in a trace.
func (s *Service) weights(c *WeightsChoice) (Weights, string, error) {
	if c == nil {
		return s.named[DefaultWeightsName], DefaultWeightsName, nil
	}
	if c.Name != "" {
		w, ok := s.named[c.Name]
		if !ok {
			return Weights{}, "", malformed("weights", "unknown_weights", "must be the name of configured weights")
		}
		return w, c.Name, nil
	}
	if !c.Weights.Valid() {
		return Weights{}, "", malformed("weights", "bad_weights", "must be three numbers in 0..1 that sum to 1")
	}
	return c.Weights, customWeights, nil
}

func malformed(field, code, rule string) *events.InputError {
	return &events.InputError{Kind: events.Malformed, Code: code, Field: field, Rule: rule}
}

func tooLarge(field, rule string) *events.InputError {
	return &events.InputError{Kind: events.TooLarge, Code: "too_large", Field: field, Rule: rule}
}
