package eval

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

// UpdatesReport is the result of [Updates].
type UpdatesReport struct {
	// Without is the share of pairs whose updated statement is above the stale one when
	// nothing but the messages is known, With the same once the facts of both were
	// proposed.
	Without Share `json:"without_facts"`
	With    Share `json:"with_facts"`
	// Marked is the share of stale statements that say which fact replaced them.
	Marked Share `json:"marked"`
	// StaleOnly is the share of answers of ten that have the stale statement and not
	// the updated one, with facts and not marked.
	StaleOnly Share `json:"stale_only"`
	// OneMessage counts the updates that are in one message with what they update,
	// which cannot be above it; they are in no share.
	OneMessage int `json:"one_message"`
}

// The roles of a message in an update.
const (
	updateCategory = "knowledge_update"
	roleOriginal   = "original_info"
	roleUpdated    = "updated_info"

	// updatesDepth is how far down an answer is looked at, and shortAnswer what an
	// agent asks for mostly.
	updatesDepth = 100
	shortAnswer  = 10
)

// update is a question whose answer has changed.
type update struct {
	question          Question
	original, updated []Document
	// stale and fresh are the ids of the episodes, fact that of what is true.
	stale, fresh []string
	fact         string
}

// Updates captures the corpus in dir and asks each question whose answer has changed:
// first as it is, then with the facts proposed that a reader would have taken from the
// original statement and from the update. A pair counts if the updated statement is
// found, and is above the stale one.
func Updates(ctx context.Context, t Target, dir string, progress Progress) (UpdatesReport, error) {
	docs, err := lines[Document](dir, "corpus.jsonl")
	if err != nil {
		return UpdatesReport{}, err
	}
	updates, oneMessage, err := readUpdates(dir, docs)
	if err != nil {
		return UpdatesReport{}, err
	}
	names, _, err := load(ctx, t, docs, progress)
	if err != nil {
		return UpdatesReport{}, err
	}
	ids := make(map[string]string, len(names))
	for id, name := range names {
		ids[name] = id
	}
	if err := t.Settle(ctx); err != nil {
		return UpdatesReport{}, fmt.Errorf("settle: %w", err)
	}
	report := UpdatesReport{OneMessage: oneMessage}
	above := 0
	for i := range updates {
		progress("ask", i+1, len(updates))
		u := &updates[i]
		u.stale, u.fresh = idsOf(u.original, ids), idsOf(u.updated, ids)
		answer, err := u.ask(ctx, t)
		if err != nil {
			return UpdatesReport{}, err
		}
		above += count(answer.above(u))
	}
	report.Without = NewShare(above, len(updates))
	for i := range updates {
		progress("propose", i+1, len(updates))
		if err := updates[i].propose(ctx, t); err != nil {
			return UpdatesReport{}, err
		}
	}
	if err := t.Settle(ctx); err != nil {
		return UpdatesReport{}, fmt.Errorf("settle: %w", err)
	}
	return report, report.again(ctx, t, updates, progress)
}

// again asks when the facts are known.
func (r *UpdatesReport) again(ctx context.Context, t Target, updates []update, progress Progress) error {
	above, staleOnly, marked, stale := 0, 0, 0, 0
	for i := range updates {
		progress("ask again", i+1, len(updates))
		u := &updates[i]
		answer, err := u.ask(ctx, t)
		if err != nil {
			return err
		}
		above += count(answer.above(u))
		staleOnly += count(answer[:min(shortAnswer, len(answer))].misleads(u))
		for _, res := range answer {
			if !slices.Contains(u.stale, res.ID) {
				continue
			}
			stale++
			marked += count(slices.ContainsFunc(res.SupersededBy, func(by supersededBy) bool { return by.Fact == u.fact }))
		}
	}
	r.With, r.Marked, r.StaleOnly = NewShare(above, len(updates)), NewShare(marked, stale), NewShare(staleOnly, len(updates))
	return nil
}

// readUpdates pairs the questions with the messages that they are about, and counts
// those with one message for both.
func readUpdates(dir string, docs []Document) (updates []update, oneMessage int, err error) {
	questions, err := lines[Question](dir, "queries.jsonl")
	if err != nil {
		return nil, 0, err
	}
	byID := make(map[string]Document, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	roles, err := cells(dir, "roles.tsv", 3)
	if err != nil {
		return nil, 0, err
	}
	for _, q := range questions {
		if q.Category != updateCategory {
			continue
		}
		u := update{question: q}
		for _, row := range roles {
			d, ok := byID[row[1]]
			switch {
			case row[0] != q.ID:
			case !ok:
				return nil, 0, fmt.Errorf("roles.tsv: there is no document %s", row[1])
			case row[2] == roleOriginal:
				u.original = append(u.original, d)
			case row[2] == roleUpdated:
				u.updated = append(u.updated, d)
			}
		}
		switch {
		case len(u.original) == 0 || len(u.updated) == 0:
			return nil, 0, fmt.Errorf("roles.tsv: no pair for %s", q.ID)
		case slices.ContainsFunc(u.original, func(d Document) bool { return slices.Contains(u.updated, d) }):
			oneMessage++
		default:
			updates = append(updates, u)
		}
	}
	if len(updates) == 0 {
		return nil, 0, errors.New("no question has a statement that was updated")
	}
	return updates, oneMessage, nil
}

func idsOf(docs []Document, ids map[string]string) []string {
	list := make([]string, len(docs))
	for i, d := range docs {
		list[i] = ids[d.ID]
	}
	return list
}

// propose proposes what the original says, then what the update says, of one slot.
func (u *update) propose(ctx context.Context, t Target) error {
	c, err := t.Client(u.question.Tenant)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	_, predicate, _ := strings.Cut(u.question.ID, "/")
	for _, s := range []struct {
		sources []string
		docs    []Document
	}{{u.stale, u.original}, {u.fresh, u.updated}} {
		// What a message says is not in the data, so its name stands for it.
		last := s.docs[len(s.docs)-1]
		var out struct {
			Decision string `json:"decision"`
			FactID   string `json:"fact_id"`
		}
		err = c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/facts", Out: &out, Body: map[string]any{
			"subject": corpusSubject, "predicate": predicate, "value": "as message " + last.ID + " says", "category": "general",
			"confidence": 1, "observed_at": saidAt(last), "source_episodes": s.sources,
		}})
		if err != nil {
			return fmt.Errorf("propose: %w", err)
		}
		if out.Decision != "promoted" {
			return fmt.Errorf("propose: %s", out.Decision)
		}
		u.fact = out.FactID
	}
	return nil
}

// saidAt is when a message was sent. Messages of a day have no time but an order.
func saidAt(d Document) time.Time {
	day, ok := parseTime(d.Time)
	if !ok {
		day = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return day.Add(time.Duration(d.Seq) * time.Second)
}

// supersededBy is a fact that is true instead of what a result says.
type supersededBy struct {
	Fact string `json:"fact"`
}

type updateResult struct {
	ID           string         `json:"id"`
	SupersededBy []supersededBy `json:"superseded_by"`
}

type updateAnswer []updateResult

func (u *update) ask(ctx context.Context, t Target) (updateAnswer, error) {
	c, err := t.Client(u.question.Tenant)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	var out struct {
		Results updateAnswer `json:"results"`
	}
	err = c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/recall", Out: &out, Body: map[string]any{
		"query": u.question.Text, "subject": corpusSubject, "kinds": []string{"episode"}, "k": updatesDepth,
	}})
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	return out.Results, nil
}

// first is the place of the first of the episodes, -1 if none is there.
func (a updateAnswer) first(ids []string) int {
	return slices.IndexFunc(a, func(r updateResult) bool { return slices.Contains(ids, r.ID) })
}

// above reports whether the update is there and above all that it updates.
func (a updateAnswer) above(u *update) bool {
	fresh, stale := a.first(u.fresh), a.first(u.stale)
	return fresh >= 0 && (stale < 0 || fresh < stale)
}

// misleads reports whether only the stale statement is there, and nothing marks it.
func (a updateAnswer) misleads(u *update) bool {
	return a.first(u.fresh) < 0 && slices.ContainsFunc(a, func(r updateResult) bool {
		return slices.Contains(u.stale, r.ID) && len(r.SupersededBy) == 0
	})
}
