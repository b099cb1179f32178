package query_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// What was recalled and reported on is listed with the terms of its score, in the
// order that these make; a trace of an earlier version has none, and one that nobody
// has reported on is not listed.
func TestReportedTraces(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	first, second := n.Tell("maria", "The harbour is in the fog."), n.Tell("maria", "The fog came late.")
	a := n.ask(query.RecallRequest{Query: "harbour fog", Subject: "maria", Explain: true, Weights: &query.WeightsChoice{Name: "fresh"}})
	n.ask(query.RecallRequest{Query: "fog"})
	if len(a.Results) != 2 {
		t.Fatalf("control: %d results", len(a.Results))
	}
	judge := func(trace, memory string) {
		t.Helper()
		_, err := n.JudgeTrace(t.Context(), user("acme"), "", trace, producers.FeedbackRequest{MemoryID: memory, Judgement: "useful"})
		must(t, err)
	}
	judge(a.TraceID, a.Results[1].ID)
	old, _, err := n.RecordRecall(t.Context(), user("acme"), producers.Recall{Query: "q", Memories: []string{second, first}})
	must(t, err)
	_, err = n.UseTrace(t.Context(), user("acme"), "", old, producers.UseRequest{MemoryIDs: []string{first}})
	must(t, err)

	list := func() map[string]query.ReportedTrace {
		t.Helper()
		got, limit := map[string]query.ReportedTrace{}, 1
		for req := (query.TracesRequest{WaitFor: n.End(), Limit: &limit}); ; {
			page, err := n.Traces(t.Context(), as(events.RoleAuditor), req)
			must(t, err)
			for _, tr := range page.Traces {
				got[tr.ID] = tr
			}
			if req.Cursor = page.Cursor; req.Cursor == "" {
				return got
			}
		}
	}
	before := n.End()
	got := list()
	if n.End() != before {
		t.Error("listing wrote to the log")
	}
	if len(got) != 2 {
		t.Fatalf("%d traces", len(got))
	}
	for i, res := range got[a.TraceID].Results {
		want := a.Results[i]
		want.Components.Dense, want.Components.Lexical, want.Components.Context = nil, nil, nil
		if diff := cmp.Diff(want.Components, res.Terms); diff != "" || res.ID != want.ID || (res.Judgement == "useful") != (i == 1) || res.Recorded == 0 {
			t.Errorf("%d: %+v, terms (-want +got):\n%s", i, res, diff)
		}
	}
	if r := got[old]; len(r.Results) != 2 || r.Results[0].ID != second || r.Results[0].Terms != nil || r.Results[0].Used || !r.Results[1].Used || !r.IsUseReported {
		t.Errorf("of an earlier version: %+v", r)
	}
	if got[a.TraceID].IsUseReported || got[a.TraceID].Weights != "fresh" {
		t.Errorf("%+v", got[a.TraceID])
	}
	if _, err := n.Traces(t.Context(), as(events.RoleAgent), query.TracesRequest{}); !errors.Is(err, events.ErrForbidden) {
		t.Errorf("an agent lists them: %v", err)
	}
	other := as(events.RoleAuditor)
	other.Tenant = "other"
	if page, err := n.Traces(t.Context(), other, query.TracesRequest{}); err != nil || len(page.Traces) != 0 {
		t.Errorf("another tenant: %v, %d", err, len(page.Traces))
	}
	// A forgotten result is left out and counted, a trace goes with its subject.
	_, err = n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, first)
	must(t, err)
	if r := list()[old]; len(r.Results) != 1 || r.Forgotten != 1 {
		t.Errorf("after a forget: %+v", r)
	}
	_, err = n.Hold(t.Context(), as(events.RoleAdmin), "maria", "case")
	must(t, err)
	if got := list(); len(got) != 1 || len(got[old].Results) != 0 {
		t.Errorf("under a hold: %+v", got)
	}
	_, err = n.Release(t.Context(), as(events.RoleAdmin), "maria", "case")
	must(t, err)
	_, err = n.ForgetSubject(t.Context(), user("acme"), "", "maria", "asked")
	must(t, err)
	if got := list(); len(got) != 1 || got[old].Forgotten != 2 {
		t.Errorf("after its subject: %+v", got)
	}
}
