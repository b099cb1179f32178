package eval

import "math"

// Figure is one number of a whole run, between 0 and 1.
type Figure struct {
	// Set is the folder of the data set, Eval what was measured on it.
	Set     string  `json:"set"`
	Eval    string  `json:"eval"`
	Measure string  `json:"measure"`
	Value   float64 `json:"value"`
	// N is how many questions, texts or proposals it is of.
	N int `json:"n"`
	// Interval is of 95 %, where the figure is a share; nil for other means.
	Interval *Interval `json:"interval,omitempty"`
	// Target is what was wanted, nil if nothing was.
	Target *Goal `json:"target,omitempty"`
}

// Interval is where a figure may as well be.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Goal is what is wanted of a figure: no less than Value, or no more if AtMost.
type Goal struct {
	AtMost bool    `json:"at_most"`
	Value  float64 `json:"value"`
	// Must says that a run which misses it has failed.
	Must bool `json:"must"`
	Met  bool `json:"met"`
}

// measured is a mean over n.
func measured(measure string, value float64, n int) Figure {
	return Figure{Measure: measure, Value: value, N: n}
}

// counted is a share, with its interval.
func counted(measure string, s Share) Figure {
	return Figure{Measure: measure, Value: s.Share, N: s.N, Interval: &Interval{Low: s.Low, High: s.High}}
}

// shareOf is the share that a mean of n yeses and noes is.
func shareOf(mean float64, n int) Share { return NewShare(int(math.Round(mean*float64(n))), n) }

// aim enters the target of a figure, if there is one.
func (f *Figure) aim() {
	t := targetOf(f.Set, f.Measure)
	if t == nil {
		return
	}
	if t.Met = f.Value >= t.Value; t.AtMost {
		t.Met = f.Value <= t.Value
	}
	f.Target = t
}

// targetOf are the targets: what must not happen at all on any data, and on public
// data the figures of BM25 with a store to each tenant, of a read by both times, and
// of published phrase rules.
func targetOf(set, measure string) *Goal {
	switch measure {
	case measureForbidden, measureUnreviewed:
		return &Goal{AtMost: true, Must: true}
	}
	type aim struct{ set, measure string }
	least, ok := map[aim]float64{
		{"locomo", measureRecall5}:              0.474,
		{"locomo", measureRecall10}:             0.558,
		{"locomo", measureMRR10}:                0.391,
		{"locomo", measureNDCG10}:               0.418,
		{"beam_100k", measureRecall10}:          0.407,
		{"beam_100k", measureMRR10}:             0.363,
		{"cranfield", measureMRR10}:             0.517,
		{"cranfield", measureNDCG10}:            0.345,
		{"situatedqa_temporal", measureExact}:   0.987,
		{"injection", measureAttacksSuspicious}: 0.205,
	}[aim{set, measure}]
	if !ok {
		return nil
	}
	return &Goal{Value: least}
}
