package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

// AsOfReport is the result of [AsOf]. Exact is the share of questions whose
// first gold value is the first value of the answer; Any is the share in which
// the answer holds a gold value.
type AsOfReport struct {
	Exact float64 `json:"exact"`
	Any   float64 `json:"any"`
	N     int     `json:"n"`
	// ExactAll is Exact over the questions that the data cannot answer too.
	ExactAll float64 `json:"exact_all"`
	NAll     int     `json:"n_all"`
	Facts    int     `json:"facts"`
}

type datedFact struct {
	ID        string   `json:"_id"`
	Key       string   `json:"key"`
	Question  string   `json:"question"`
	Values    []string `json:"values"`
	ValidFrom string   `json:"valid_from"`
}

type asOfQuestion struct {
	Key      string   `json:"key"`
	AsOf     string   `json:"as_of"`
	Gold     []string `json:"gold"`
	OracleOK bool     `json:"oracle_ok"`
}

// AsOf captures a source for every dated fact, proposes the facts in an order
// shuffled by seed, and asks what was true at each question's date.
func AsOf(ctx context.Context, t Target, dir string, seed uint64, progress Progress) (AsOfReport, error) {
	facts, err := lines[datedFact](dir, "facts.jsonl")
	if err != nil {
		return AsOfReport{}, err
	}
	questions, err := lines[asOfQuestion](dir, "queries.jsonl")
	if err != nil {
		return AsOfReport{}, err
	}
	c, err := t.Client("dated")
	if err != nil {
		return AsOfReport{}, fmt.Errorf("client: %w", err)
	}
	rng := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // A repeatable order, not a secret.
	rng.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
	if err := propose(ctx, c, facts, progress); err != nil {
		return AsOfReport{}, err
	}
	if err := t.Settle(ctx); err != nil {
		return AsOfReport{}, fmt.Errorf("settle: %w", err)
	}
	report := AsOfReport{Facts: len(facts)}
	var exact, anyHit, exactAll int
	for i, q := range questions {
		progress("ask", i+1, len(questions))
		got, err := valueAt(ctx, c, q)
		if err != nil {
			return AsOfReport{}, err
		}
		hit := len(got) > 0 && len(q.Gold) > 0 && got[0] == q.Gold[0]
		report.NAll++
		exactAll += count(hit)
		if !q.OracleOK {
			continue
		}
		report.N++
		exact += count(hit)
		anyHit += count(slices.ContainsFunc(got, func(v string) bool { return slices.Contains(q.Gold, v) }))
	}
	report.Exact = float64(exact) / float64(max(1, report.N))
	report.Any = float64(anyHit) / float64(max(1, report.N))
	report.ExactAll = float64(exactAll) / float64(max(1, report.NAll))
	return report, nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func propose(ctx context.Context, c *client.Client, facts []datedFact, progress Progress) error {
	items := make([]map[string]any, len(facts))
	for i, f := range facts {
		items[i] = map[string]any{
			"subject": f.Key, "text": f.Question, "source": map[string]any{"kind": "annotation", "ref": f.ID},
		}
	}
	sources, err := capture(ctx, c, items)
	if err != nil {
		return err
	}
	for i, f := range facts {
		progress("propose", i+1, len(facts))
		from, ok := parseTime(f.ValidFrom)
		if !ok {
			return fmt.Errorf("fact %d has no date", i)
		}
		var out struct {
			Decision string `json:"decision"`
		}
		err := c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/facts", Out: &out, Body: map[string]any{
			"subject": f.Key, "predicate": "answer", "value": f.Values, "category": "general", "confidence": 1,
			"observed_at": from, "valid_from": from, "source_episodes": []string{sources[i]},
		}})
		if err != nil {
			return fmt.Errorf("propose fact %d: %w", i, err)
		}
		if out.Decision != "promoted" {
			return fmt.Errorf("propose fact %d: %s", i, out.Decision)
		}
	}
	return nil
}

func valueAt(ctx context.Context, c *client.Client, q asOfQuestion) ([]string, error) {
	at, ok := parseTime(q.AsOf)
	if !ok {
		return nil, fmt.Errorf("a question has no date")
	}
	var out struct {
		Facts []struct {
			Value []string `json:"value"`
		} `json:"facts"`
	}
	query := url.Values{"subject": {q.Key}, "predicate": {"answer"}, "as_of": {at.Format(time.RFC3339)}}
	if err := c.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/facts?" + query.Encode(), Out: &out}); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	if len(out.Facts) > 1 {
		return nil, fmt.Errorf("%d facts are true at one time", len(out.Facts))
	}
	if len(out.Facts) == 0 {
		return nil, nil
	}
	return out.Facts[0].Value, nil
}
