package eval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

// RetrievalReport is the result of [Retrieval].
type RetrievalReport struct {
	Overall    Metrics            `json:"overall"`
	ByCategory map[string]Metrics `json:"by_category"`
	Documents  int                `json:"documents"`
	Tenants    int                `json:"tenants"`
}

// Retrieval captures the corpus in dir tenant by tenant, asks every query that
// has relevant documents, and scores the first ten answers.
func Retrieval(ctx context.Context, t Target, dir string, progress Progress) (RetrievalReport, error) {
	docs, err := lines[Document](dir, "corpus.jsonl")
	if err != nil {
		return RetrievalReport{}, err
	}
	questions, err := lines[Question](dir, "queries.jsonl")
	if err != nil {
		return RetrievalReport{}, err
	}
	gains, err := judgements(dir, "qrels.tsv")
	if err != nil {
		return RetrievalReport{}, err
	}
	names, tenants, err := load(ctx, t, docs, progress)
	if err != nil {
		return RetrievalReport{}, err
	}
	if err := t.Settle(ctx); err != nil {
		return RetrievalReport{}, fmt.Errorf("settle: %w", err)
	}
	report := RetrievalReport{ByCategory: map[string]Metrics{}, Documents: len(docs), Tenants: tenants}
	for i, q := range questions {
		progress("ask", i+1, len(questions))
		if len(gains[q.ID]) == 0 {
			continue
		}
		ranked, err := ask(ctx, t, q, names)
		if err != nil {
			return RetrievalReport{}, err
		}
		m := Judge(ranked, gains[q.ID])
		report.Overall.add(m)
		c := report.ByCategory[q.Category]
		c.add(m)
		report.ByCategory[q.Category] = c
	}
	if report.Overall.N == 0 {
		return RetrievalReport{}, errors.New("no query has a relevant document")
	}
	report.Overall = report.Overall.mean()
	for name, m := range report.ByCategory {
		report.ByCategory[name] = m.mean()
	}
	return report, nil
}

// load captures the documents and returns what each record's document is.
func load(ctx context.Context, t Target, docs []Document, progress Progress) (map[string]string, int, error) {
	byTenant := map[string][]Document{}
	for _, d := range docs {
		byTenant[d.Tenant] = append(byTenant[d.Tenant], d)
	}
	names := map[string]string{}
	for _, tenant := range slices.Sorted(maps.Keys(byTenant)) {
		c, err := t.Client(tenant)
		if err != nil {
			return nil, 0, fmt.Errorf("client: %w", err)
		}
		list := byTenant[tenant]
		items := make([]map[string]any, len(list))
		for i, d := range list {
			items[i] = episode(d)
		}
		ids, err := capture(ctx, c, items)
		if err != nil {
			return nil, 0, err
		}
		for i, id := range ids {
			names[id] = list[i].ID
		}
		progress("capture", len(names), len(docs))
	}
	return names, len(byTenant), nil
}

// corpusSubject is whom every document is about: a corpus does not say.
const corpusSubject = "corpus"

func episode(d Document) map[string]any {
	e := map[string]any{
		"subject": corpusSubject, "text": d.Text, "source": map[string]any{"kind": "corpus", "ref": d.ID},
	}
	if d.Session != "" {
		e["session"] = d.Session
	}
	if d.Speaker != "" {
		e["actors"] = []map[string]any{{"id": d.Speaker, "role": "speaker"}}
	}
	if at, ok := parseTime(d.Time); ok {
		e["occurred_at"] = at
	}
	return e
}

func ask(ctx context.Context, t Target, q Question, names map[string]string) ([]string, error) {
	c, err := t.Client(q.Tenant)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	var out struct {
		Results []struct {
			ID string `json:"id"`
		} `json:"results"`
	}
	err = c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/recall", Out: &out, Body: map[string]any{
		"query": q.Text, "subject": corpusSubject, "kinds": []string{"episode"}, "k": 10,
	}})
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	ranked := make([]string, len(out.Results))
	for i, r := range out.Results {
		ranked[i] = names[r.ID]
	}
	return ranked, nil
}
