package eval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

// ContractsReport is the result of [Contracts].
type ContractsReport struct {
	Cases   int `json:"cases"`
	Events  int `json:"events"`
	Queries int `json:"queries"`
	// Overall are the figures of each way to read.
	Overall map[string]ContractFigures `json:"overall"`
	// ByCategory are those of the recalls by the kind of their question.
	ByCategory map[string]ContractFigures `json:"by_category"`
}

// ContractFigures are those of one way to read.
type ContractFigures struct {
	// N is the number of queries, WithForbidden of those that got a memory which
	// the contract forbids, Forbidden the number of such memories in all.
	N             int `json:"n"`
	WithForbidden int `json:"with_forbidden"`
	Forbidden     int `json:"forbidden"`
	// Gold is the mean share of the wanted memories that were returned, of the
	// queries that want any; Wanting is their number.
	Gold    float64 `json:"gold"`
	Wanting int     `json:"wanting"`
}

// The ways to read.
const (
	readRecall     = "recall"
	readRecallAsOf = "recall as of"
	readFacts      = "facts"
	readFactsAsOf  = "facts as of"
)

// contractCase is a case: what happens in a workspace, and what may then be said of it.
type contractCase struct {
	ID      string          `json:"case_id"`
	Events  []contractEvent `json:"events"`
	Queries []contractQuery `json:"queries"`
}

// contractEvent is what is taken of an event: nothing that says what the right
// answer to a query is.
type contractEvent struct {
	ID         string    `json:"event_id"`
	Type       string    `json:"event_type"`
	Subject    string    `json:"subject"`
	Predicate  string    `json:"predicate"`
	Object     string    `json:"object"`
	At         time.Time `json:"timestamp"`
	Attributes struct {
		Actor string `json:"actor"`
	} `json:"attributes"`
}

type contractQuery struct {
	ID        string    `json:"query_id"`
	Probe     string    `json:"probe_type"`
	Prompt    string    `json:"prompt"`
	At        time.Time `json:"timestamp"`
	Gold      []string  `json:"gold_memory_ids"`
	Forbidden []string  `json:"forbidden_memory_ids"`
}

// memoryOf is the id that the data give the memory of an event.
func memoryOf(event string) string { return "m_" + event }

// ContractsOptions are how [Contracts] lives and asks.
type ContractsOptions struct {
	// K is how many results a recall asks for; 0 is what it does by default.
	K int
	// Plain keeps every event as an episode, whatever its type says: the control.
	Plain bool
}

// Contracts lives through every case in dir, each in a tenant of its own, and asks
// its queries: it counts what is returned though the case's contract forbids it, and
// what is wanted.
//
// The times of a case are moved so that it ends now. Each event becomes what its type
// says, by [contract.live].
func Contracts(ctx context.Context, t Target, dir string, o ContractsOptions, progress Progress) (ContractsReport, error) {
	cases, err := readCases(dir)
	if err != nil {
		return ContractsReport{}, err
	}
	report := ContractsReport{Cases: len(cases), Overall: map[string]ContractFigures{}, ByCategory: map[string]ContractFigures{}}
	lived := make([]*contract, len(cases))
	for i := range cases {
		progress("live", i+1, len(cases))
		if lived[i], err = newContract(t, &cases[i], o); err != nil {
			return ContractsReport{}, err
		}
		for j := range cases[i].Events {
			if err := lived[i].live(ctx, &cases[i].Events[j]); err != nil {
				return ContractsReport{}, fmt.Errorf("case %s event %s: %w", cases[i].ID, cases[i].Events[j].ID, err)
			}
		}
		report.Events += len(cases[i].Events)
	}
	if err := t.Settle(ctx); err != nil {
		return ContractsReport{}, fmt.Errorf("settle: %w", err)
	}
	for i, c := range lived {
		progress("ask", i+1, len(lived))
		for j := range c.Queries {
			q := &c.Queries[j]
			report.Queries++
			for read, ask := range map[string]func(context.Context, *contractQuery) ([]string, error){
				readRecall: c.recall, readRecallAsOf: c.recallAsOf, readFacts: c.facts, readFactsAsOf: c.factsAsOf,
			} {
				got, err := ask(ctx, q)
				if err != nil {
					return ContractsReport{}, fmt.Errorf("case %s query %s: %w", c.ID, q.ID, err)
				}
				count := func(of map[string]ContractFigures, name string) {
					f := of[name]
					f.add(q, got)
					of[name] = f
				}
				count(report.Overall, read)
				if read == readRecall {
					count(report.ByCategory, q.Probe)
				}
			}
		}
	}
	for _, of := range []map[string]ContractFigures{report.Overall, report.ByCategory} {
		for name, f := range of {
			f.Gold /= float64(max(1, f.Wanting))
			of[name] = f
		}
	}
	return report, nil
}

func (f *ContractFigures) add(q *contractQuery, got []string) {
	f.N++
	bad := 0
	for _, id := range q.Forbidden {
		bad += count(slices.Contains(got, id))
	}
	f.Forbidden += bad
	f.WithForbidden += count(bad > 0)
	if len(q.Gold) == 0 {
		return
	}
	good := 0
	for _, id := range q.Gold {
		good += count(slices.Contains(got, id))
	}
	f.Wanting++
	f.Gold += float64(good) / float64(len(q.Gold))
}

func readCases(dir string) ([]contractCase, error) {
	var all []contractCase
	names, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil {
		return nil, fmt.Errorf("list data set: %w", err)
	}
	for _, name := range names {
		r, err := open(dir, strings.TrimSuffix(filepath.Base(name), ".gz"))
		if err != nil {
			return nil, err
		}
		var file struct {
			Cases []contractCase `json:"cases"`
		}
		err = errors.Join(json.UnmarshalRead(r, &file), r.Close())
		if err != nil {
			return nil, fmt.Errorf("%s is not of the expected shape", filepath.Base(name))
		}
		all = append(all, file.Cases...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: there are no cases in %s", ErrNoData, dir)
	}
	return all, nil
}

// contract is a case on its way through a node.
type contract struct {
	*contractCase

	options ContractsOptions
	client  *client.Client
	// elsewhere is another tenant, where other workspaces keep what they have.
	elsewhere *client.Client
	shift     time.Duration
	// memories are those of an episode, by its id.
	memories map[string]string
	// versions counts the revisions of each statement.
	versions map[string]int
}

func newContract(t Target, c *contractCase, o ContractsOptions) (*contract, error) {
	out := &contract{contractCase: c, options: o, memories: map[string]string{}, versions: map[string]int{}}
	var err error
	if out.client, err = t.Client(c.ID); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if out.elsewhere, err = t.Client(c.ID + ", another workspace"); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	var end time.Time
	for _, e := range c.Events {
		end = latest(end, e.At)
	}
	for _, q := range c.Queries {
		end = latest(end, q.At)
	}
	out.shift = time.Since(end) - time.Minute
	return out, nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

const (
	contractSubject = "workspace"
	// restricted is the consent category of what may be kept with a consent only.
	restricted = "restricted"
)

// live does what an event says, by its type:
//
//   - an introduction, a reinforcement or a retention is captured, and proposed as
//     a fact; an update is too, and revises the statement that it is about, which
//     is a source of its own kind;
//   - a request to delete forgets that statement, an expiry does the same, and
//     neither is kept itself;
//   - a conflict is unverified, so it comes from outside; what a tool says comes
//     from a tool;
//   - what is like it but from another workspace belongs to another tenant;
//   - what must not be stored is captured after the consent to its category was
//     withdrawn; what is authorized, after that was given;
//   - all else is captured.
func (c *contract) live(ctx context.Context, e *contractEvent) error {
	if c.options.Plain {
		_, err := c.capture(ctx, c.client, e, nil)
		return err
	}
	switch e.Type {
	case "fact_introduction", "fact_reinforcement", "retention_confirmation":
		return c.state(ctx, e)
	case "fact_update":
		c.versions[e.Subject]++
		if err := c.revise(ctx, e); err != nil {
			return err
		}
		return c.state(ctx, e)
	case "deletion_request", "expiry_event":
		return c.do(ctx, http.MethodPost, "/v1/forget", map[string]any{"source": c.source(e, false), "reason": e.Type}, nil)
	case "near_miss_context":
		_, err := c.capture(ctx, c.elsewhere, e, nil)
		return err
	case "conflict_event":
		_, err := c.capture(ctx, c.client, e, map[string]any{"channel_trust": "external"})
		return err
	case "tool_result", "tool_outcome_event":
		_, err := c.capture(ctx, c.client, e, map[string]any{"channel_trust": "tool"})
		return err
	case "sensitive_disclosure", "authorized_sensitive_memory":
		return c.sensitive(ctx, e, e.Type == "authorized_sensitive_memory")
	}
	_, err := c.capture(ctx, c.client, e, nil)
	return err
}

func (c *contract) do(ctx context.Context, method, path string, body, out any) error {
	if err := c.client.Do(ctx, client.Call{Method: method, Path: path, Body: body, Out: out}); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// source is the statement that an event is about.
func (c *contract) source(e *contractEvent, revision bool) map[string]any {
	s := map[string]any{"kind": "statement", "ref": e.Subject}
	if revision {
		s["revision"] = fmt.Sprint(c.versions[e.Subject])
	}
	return s
}

func (c *contract) time(t time.Time) string { return t.Add(c.shift).UTC().Format(time.RFC3339Nano) }

// capture keeps an event as an episode and returns its id.
func (c *contract) capture(ctx context.Context, by *client.Client, e *contractEvent, more map[string]any) (string, error) {
	body := map[string]any{
		"subject": contractSubject, "text": e.Subject + " " + strings.ReplaceAll(e.Predicate, "_", " ") + " " + e.Object,
		"occurred_at": c.time(e.At), "source": c.source(e, true),
		"actors": []map[string]any{{"id": e.Attributes.Actor, "role": "actor"}},
	}
	maps.Copy(body, more)
	var out struct {
		ID string `json:"id"`
	}
	err := by.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/episodes", Body: body, Out: &out})
	if err != nil {
		return "", fmt.Errorf("capture: %w", err)
	}
	c.memories[out.ID] = memoryOf(e.ID)
	return out.ID, nil
}

// state captures a statement and proposes it as a fact.
func (c *contract) state(ctx context.Context, e *contractEvent) error {
	id, err := c.capture(ctx, c.client, e, nil)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, "/v1/facts", map[string]any{
		"subject": contractSubject, "predicate": e.Subject, "value": e.Object, "category": "general", "confidence": 1,
		"observed_at": c.time(e.At), "source_episodes": []string{id},
	}, nil)
}

// revise makes what an update says the current revision of the statement.
func (c *contract) revise(ctx context.Context, e *contractEvent) error {
	return c.do(ctx, http.MethodPost, "/v1/sources/revisions", map[string]any{
		"source": c.source(e, false), "revision": fmt.Sprint(c.versions[e.Subject]), "effective_at": c.time(e.At),
	}, nil)
}

// sensitive captures what is sensitive under a consent, or against one.
func (c *contract) sensitive(ctx context.Context, e *contractEvent, granted bool) error {
	path := "/v1/subjects/" + contractSubject + "/consents/" + restricted
	body := map[string]any{"granted": true, "basis": e.Predicate}
	if err := c.do(ctx, http.MethodPut, path, body, nil); err != nil {
		return err
	}
	if !granted {
		if err := c.do(ctx, http.MethodPut, path, map[string]any{"granted": false}, nil); err != nil {
			return err
		}
	}
	_, err := c.capture(ctx, c.client, e, map[string]any{"category": restricted, "sensitivity": "secret"})
	if p, ok := errors.AsType[*client.ProblemError](err); ok && !granted && p.Status == http.StatusUnprocessableEntity {
		return nil
	}
	return err
}

// recalled are the memories of an answer.
func (c *contract) recalled(ctx context.Context, body map[string]any) ([]string, error) {
	if c.options.K > 0 {
		body["k"] = c.options.K
	}
	var out struct {
		Results []struct {
			Sources []string `json:"sources"`
		} `json:"results"`
	}
	if err := c.do(ctx, http.MethodPost, "/v1/recall", body, &out); err != nil {
		return nil, err
	}
	var all []string
	for _, r := range out.Results {
		all = c.named(all, r.Sources)
	}
	return all, nil
}

// named adds the memories of episodes.
func (c *contract) named(all, episodes []string) []string {
	for _, id := range episodes {
		all = append(all, c.memories[id])
	}
	return all
}

func (c *contract) recall(ctx context.Context, q *contractQuery) ([]string, error) {
	return c.recalled(ctx, map[string]any{"query": q.Prompt, "subject": contractSubject})
}

func (c *contract) recallAsOf(ctx context.Context, q *contractQuery) ([]string, error) {
	return c.recalled(ctx, map[string]any{"query": q.Prompt, "subject": contractSubject, "as_of": c.time(q.At)})
}

func (c *contract) listed(ctx context.Context, query url.Values) ([]string, error) {
	var out struct {
		Facts []struct {
			Sources []string `json:"source_episodes"`
		} `json:"facts"`
	}
	query.Set("subject", contractSubject)
	if err := c.do(ctx, http.MethodGet, "/v1/facts?"+query.Encode(), nil, &out); err != nil {
		return nil, err
	}
	var all []string
	for _, f := range out.Facts {
		all = c.named(all, f.Sources)
	}
	return all, nil
}

func (c *contract) facts(ctx context.Context, _ *contractQuery) ([]string, error) {
	return c.listed(ctx, url.Values{})
}

func (c *contract) factsAsOf(ctx context.Context, q *contractQuery) ([]string, error) {
	return c.listed(ctx, url.Values{"as_of": {c.time(q.At)}})
}
