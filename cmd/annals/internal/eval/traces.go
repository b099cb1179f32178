package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
)

// What is said of weights beside those that they are compared with.
const (
	VerdictBetter = "better"
	VerdictWorse  = "worse"
	VerdictSame   = "no difference"
	// VerdictFew is what is said where no interval can be trusted.
	VerdictFew = "too few"
)

// fewestTraces is how many traces a verdict needs at least.
const fewestTraces = 10

// AsRecorded is the name of the order in which the results were shown.
const AsRecorded = "recorded"

// ErrNoWeights says that there are no weights of a name.
var ErrNoWeights = errors.New("no weights have that name")

// NamedWeights are weights to be compared.
type NamedWeights struct {
	Name string
	query.Weights
}

// TracesOptions say what [Traces] compares.
type TracesOptions struct {
	// K is the depth of the figures.
	K int
	// Weights are compared beside all that the node has a name for.
	Weights []NamedWeights
	// Against is the name of those that all are compared with.
	Against string
	// Use takes a report of use for a judgement: of what nobody has judged, what was
	// used is useful, and the rest of that answer is not.
	Use bool
}

// TracesReport is the result of [Traces].
type TracesReport struct {
	K       int    `json:"k"`
	Against string `json:"against"`
	// Traces are those that somebody has reported on, N of them are compared.
	Traces  int           `json:"traces"`
	N       int           `json:"n"`
	LeftOut TracesLeftOut `json:"left_out"`
	// Results are those that were judged in the traces that are compared.
	Results int `json:"results"`
	// Forgotten are results that are left out because they were forgotten.
	Forgotten int          `json:"forgotten"`
	Weights   []WeightsRow `json:"weights"`
}

// TracesLeftOut says why traces are not compared.
type TracesLeftOut struct {
	// WithoutTerms are of a version that did not keep what their scores were made of.
	WithoutTerms int `json:"without_terms"`
	// Unjudged have no judged result.
	Unjudged int `json:"unjudged"`
	// Alike have only useful results or none: in any order they are as good.
	Alike int `json:"alike"`
}

// WeightsRow says how good an order weights make of the judged results.
type WeightsRow struct {
	Name string `json:"name"`
	// Weights are nil for the order that was shown.
	Weights *query.Weights `json:"weights,omitempty"`
	NDCG    float64        `json:"ndcg"`
	MRR     float64        `json:"mrr"`
	// NDCGGain and MRRGain are what is won over those that they are compared with.
	NDCGGain Difference `json:"ndcg_gain"`
	MRRGain  Difference `json:"mrr_gain"`
	// Verdict goes by the interval of the gain of nDCG.
	Verdict string `json:"verdict"`
}

// Traces orders the recorded and judged results of recalls anew by each of the
// weights, and compares how far up the useful ones come. Results that nobody has
// judged are left out of the order (Sakai, 2007), as are those that were forgotten.
// Nothing is written.
//
// What was never shown was never judged: an order is measured on what the weights of
// that time let through, so that a small gain of others is rather more than less.
func Traces(ctx context.Context, c *client.Client, o TracesOptions, progress Progress) (TracesReport, error) {
	var named query.WeightsAnswer
	if err := c.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/weights", Out: &named}); err != nil {
		return TracesReport{}, fmt.Errorf("read weights: %w", err)
	}
	all := slices.Clone(o.Weights)
	for name, w := range named.Weights {
		all = append(all, NamedWeights{Name: name, Weights: w})
	}
	slices.SortFunc(all, func(a, b NamedWeights) int { return cmp.Compare(a.Name, b.Name) })
	all = slices.CompactFunc(all, func(a, b NamedWeights) bool { return a.Name == b.Name })
	if o.Against != AsRecorded && !slices.ContainsFunc(all, func(w NamedWeights) bool { return w.Name == o.Against }) {
		return TracesReport{}, fmt.Errorf("%w: %q", ErrNoWeights, o.Against)
	}
	report := TracesReport{K: o.K, Against: o.Against}
	var judged []judgedTrace
	for cursor := ""; ; {
		path := url.Values{"limit": {strconv.Itoa(query.MaxLimit)}}
		if cursor != "" {
			path.Set("cursor", cursor)
		}
		var page query.TracesAnswer
		if err := c.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/traces?" + path.Encode(), Out: &page}); err != nil {
			return TracesReport{}, fmt.Errorf("read traces: %w", err)
		}
		for i := range page.Traces {
			if t, ok := report.take(&page.Traces[i], o.Use); ok {
				judged = append(judged, t)
			}
		}
		progress("read", report.Traces, 0)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	report.N = len(judged)
	report.compare(judged, all)
	return report, nil
}

// judgedTrace is a trace with what is known to be useful of it.
type judgedTrace struct {
	results []query.ReportedResult
	gains   map[string]float64
}

// take counts a trace, and returns what can be compared of it.
func (r *TracesReport) take(t *query.ReportedTrace, use bool) (judgedTrace, bool) {
	r.Traces++
	r.Forgotten += t.Forgotten
	j := judgedTrace{gains: map[string]float64{}}
	for _, res := range t.Results {
		useful := res.Judgement == events.JudgedUseful
		if res.Judgement == "" {
			if !use || !t.IsUseReported {
				continue
			}
			useful = res.Used
		}
		if useful {
			j.gains[res.ID] = 1
		}
		j.results = append(j.results, res)
	}
	noTerms := func(res query.ReportedResult) bool { return res.Terms == nil }
	switch {
	case len(j.results) == 0:
		r.LeftOut.Unjudged++
	case slices.ContainsFunc(j.results, noTerms):
		r.LeftOut.WithoutTerms++
	case len(j.gains) == 0 || len(j.gains) == len(j.results):
		r.LeftOut.Alike++
	default:
		r.Results += len(j.results)
		return j, true
	}
	return judgedTrace{}, false
}

// by are the ids in the order that weights make, as a recall would.
func (j *judgedTrace) by(w *query.Weights) []string {
	list := slices.Clone(j.results)
	if w != nil {
		slices.SortStableFunc(list, func(a, b query.ReportedResult) int {
			return cmp.Or(cmp.Compare(query.Score(*w, *b.Terms), query.Score(*w, *a.Terms)),
				cmp.Compare(b.Recorded, a.Recorded), cmp.Compare(a.ID, b.ID))
		})
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// compare enters a row for the order that was shown and for each of the weights.
func (r *TracesReport) compare(judged []judgedTrace, all []NamedWeights) {
	type scores struct{ ndcg, mrr []float64 }
	of := map[string]scores{}
	measure := func(name string, w *query.Weights) {
		s := scores{make([]float64, len(judged)), make([]float64, len(judged))}
		for i := range judged {
			s.ndcg[i], s.mrr[i] = score(judged[i].by(w), judged[i].gains, r.K)
		}
		of[name] = s
		r.Weights = append(r.Weights, WeightsRow{Name: name, Weights: w, NDCG: mean(s.ndcg), MRR: mean(s.mrr)})
	}
	measure(AsRecorded, nil)
	for i := range all {
		measure(all[i].Name, &all[i].Weights)
	}
	base := of[r.Against]
	for i := range r.Weights {
		row := &r.Weights[i]
		s := of[row.Name]
		row.NDCGGain, row.MRRGain = newDifference(minus(s.ndcg, base.ndcg)), newDifference(minus(s.mrr, base.mrr))
		switch {
		case r.N < fewestTraces:
			row.Verdict = VerdictFew
		case row.NDCGGain.Low > 0:
			row.Verdict = VerdictBetter
		case row.NDCGGain.High < 0:
			row.Verdict = VerdictWorse
		default:
			row.Verdict = VerdictSame
		}
	}
}

func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}
