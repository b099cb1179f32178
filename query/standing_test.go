package query_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

const (
	whereNow  = "where in Lisbon, near the river, does Maria live?"
	oldHome   = "Maria says that she lives in Lisbon, near the river."
	newHome   = "Maria has moved for her new job."
	neighbour = "Jonas lives behind the old harbour."
)

// found is the result with the id.
func found(tb testing.TB, a query.RecallAnswer, id string) query.Result {
	tb.Helper()
	i := slices.Index(resultIDs(a), id)
	if i < 0 {
		tb.Fatalf("%s is not among %q", id, texts(a))
	}
	return a.Results[i]
}

// replacements are the ids of the facts that are true instead.
func replacements(r *query.Result) []string {
	ids := make([]string, len(r.SupersededBy))
	for i, by := range r.SupersededBy {
		ids[i] = by.Fact
	}
	return ids
}

// what an episode says stands as long as a fact that was taken from it
// does, and its answer says so if none does.
func TestStanding(t *testing.T) {
	t.Parallel()
	type told struct {
		status       events.FactStatus
		replacements []string
	}
	until := func(r producers.ProposeRequest, to time.Time) producers.ProposeRequest {
		r.ValidTo = at(to)
		return r
	}
	for name, story := range map[string]func(n *node, id string) told{
		"nothing was taken from it": func(*node, string) told { return told{} },
		"it holds": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			return told{}
		},
		"replaced": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			return told{"superseded", []string{n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))}}
		},
		"the other way round": func(n *node, id string) told {
			n.Promoted(fact("maria", "by_the_river", `true`, day(2), id))
			return told{"superseded", []string{n.Promoted(fact("maria", "by_the_river", `false`, day(9), n.Tell("maria", newHome)))}}
		},
		"replaced twice": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
			return told{"superseded", []string{n.Promoted(fact("maria", "home", `"Faro"`, day(12), n.Tell("maria", newHome)))}}
		},
		"told late": func(n *node, id string) told {
			now := n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			return told{"superseded", []string{now}}
		},
		"another scope": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			r := fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome))
			r.Scope = "summer"
			n.Promoted(r)
			return told{}
		},
		"said again": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), n.Tell("maria", newHome)))
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(3), id))
			return told{}
		},
		"retracted": func(n *node, id string) told {
			f := n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			_, err := n.Retract(n.Context(), user("acme"), "", f, producers.RetractRequest{Reason: "wrong"})
			must(n, err)
			return told{"retracted", nil}
		},
		"for a time": func(n *node, id string) told {
			n.Promoted(until(fact("maria", "home", `"Lisbon"`, day(2), id), day(20)))
			return told{"expired", nil}
		},
		"for a time, then something else": func(n *node, id string) told {
			n.Promoted(until(fact("maria", "home", `"Lisbon"`, day(2), id), day(8)))
			return told{"superseded", []string{n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))}}
		},
		"for a time that is not over": func(n *node, id string) told {
			n.Promoted(until(fact("maria", "home", `"Lisbon"`, day(2), id), n.Clock.Now().AddDate(0, 0, 3)))
			return told{}
		},
		"expired": func(n *node, id string) told {
			r := fact("maria", "home", `"Lisbon"`, day(2), id)
			r.ExpiresAt = at(n.Clock.Now().AddDate(0, 0, 1))
			n.Promoted(r)
			n.Clock.Days(2)
			return told{"expired", nil}
		},
		"one of two holds": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			n.Promoted(fact("maria", "view", `"the river"`, day(2), id))
			n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
			return told{}
		},
		"neither of two holds": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			n.Promoted(fact("maria", "view", `"the river"`, day(2), id))
			home := n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
			view := n.Promoted(fact("maria", "view", `"the station"`, day(9), n.Tell("maria", newHome)))
			return told{"superseded", []string{view, home}}
		},
		"the replacement waits for a review": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			r := fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome))
			r.Confidence = new(0.5)
			p, err := n.Propose(n.Context(), user("acme"), "", r)
			must(n, err)
			if p.Decision != events.DecisionReview {
				n.Fatalf("control: %s", p.Decision)
			}
			return told{}
		},
		"it was never promoted": func(n *node, id string) told {
			r := fact("maria", "home", `"Lisbon"`, day(2), id)
			r.Confidence = new(0.5)
			_, err := n.Propose(n.Context(), user("acme"), "", r)
			must(n, err)
			n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
			return told{}
		},
		"the replacement is forgotten": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			by := n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
			_, err := n.ForgetRecord(n.Context(), user("acme"), "", events.KindFact, by)
			must(n, err)
			return told{"superseded", nil}
		},
		"the source of the replacement is forgotten": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			second := n.Tell("maria", newHome)
			n.Promoted(fact("maria", "home", `"Porto"`, day(9), second))
			_, err := n.ForgetRecord(n.Context(), user("acme"), "", events.KindEpisode, second)
			must(n, err)
			return told{"superseded", nil}
		},
		"the fact is forgotten": func(n *node, id string) told {
			f := n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
			_, err := n.ForgetRecord(n.Context(), user("acme"), "", events.KindFact, f)
			must(n, err)
			return told{}
		},
		"about someone who is held": func(n *node, id string) told {
			n.approved(fact("rosa", "home_of_maria", `"Lisbon"`, day(2), id))
			by := n.approved(fact("rosa", "home_of_maria", `"Porto"`, day(9), n.Tell("maria", newHome)))
			if got := found(n, n.ask(query.RecallRequest{Query: whereNow}), id); !slices.Equal(replacements(&got), []string{by}) {
				n.Errorf("control: %+v", got)
			}
			n.putHold("rosa")
			return told{}
		},
		"another tenant": func(n *node, id string) told {
			n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			n.PromotedIn("other", fact("maria", "home", `"Porto"`, day(9), n.TellIn("other", episode("maria", newHome))))
			return told{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &node{nodetest.Start(t, options(nil))}
			id := n.Tell("maria", oldHome)
			other := n.Tell("jonas", neighbour)
			want := story(n, id)
			for what, r := range map[string]query.RecallRequest{
				"":                     {Query: whereNow, Explain: true},
				"strong":               {Query: whereNow, Explain: true, Consistency: query.Strong},
				"episodes":             {Query: whereNow, Explain: true, Kinds: []string{"episode"}},
				"history":              {Query: whereNow, Explain: true, Include: query.IncludeHistory},
				"strong, with history": {Query: whereNow, Explain: true, Include: query.IncludeHistory, Consistency: query.Strong},
			} {
				a := n.ask(r)
				got := found(t, a, id)
				if diff := cmp.Diff(want, told{got.Status, replacements(&got)}, cmp.AllowUnexported(told{}), equateEmpty()); diff != "" {
					t.Errorf("%s: %s", what, diff)
				}
				if got := found(t, a, other); got.Status != "" || got.DemotedFrom != nil {
					t.Errorf("%s: the neighbour is %+v", what, got)
				}
				first := a.Results[0].ID == id
				if ended := want.status != ""; r.Include == "" && first == ended || r.Include != "" && !first {
					t.Errorf("%s: %q", what, texts(a))
				}
				if demoted := got.DemotedFrom != nil; demoted != (want.status != "" && r.Include == "") {
					t.Errorf("%s: demoted from %v", what, got.DemotedFrom)
				}
				checkOrder(t, a, r.Include)
			}
		})
	}
}

// approved proposes a fact that waits for a review, and gives it one.
func (n *node) approved(r producers.ProposeRequest) string {
	n.Helper()
	p, err := n.Propose(n.Context(), user("acme"), "", r)
	must(n, err)
	rita := as(events.RoleReviewer)
	rita.Principal = "rita"
	shown, err := n.Review(n.Context(), rita, n.Get(p.CandidateID))
	must(n, err)
	done, err := n.Approve(n.Context(), rita, "", p.CandidateID, producers.ReviewRequest{ContentHash: shown.ContentHash})
	must(n, err)
	if done.Decision != events.DecisionPromote {
		n.Fatalf("decision is %s: %v", done.Decision, done.Gates)
	}
	return done.FactID
}

func equateEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Comparer(func(_, _ []string) bool { return true }))
}

// checkOrder checks that scores are in 0..1 and fall, and that what has ended comes last
// unless it was asked for.
func checkOrder(tb testing.TB, a query.RecallAnswer, include query.Include) {
	tb.Helper()
	for i, r := range a.Results {
		if r.Score < 0 || r.Score > 1 || i > 0 && r.Score > a.Results[i-1].Score {
			tb.Errorf("scores: %v of %q", r.Score, texts(a))
		}
		if include == "" && i > 0 && r.Status == "" && a.Results[i-1].Status != "" {
			tb.Errorf("what has ended is above what holds: %q", texts(a))
		}
		if include == "" && r.Kind == "fact" && r.Status != "" {
			tb.Errorf("a fact is %s", r.Status)
		}
	}
}

// the answer says what is true instead and since when, however much better
// the old words fit, counts it in the budget and names it in the trace.
func TestSupersededBy(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	old := n.Tell("maria", oldHome)
	former := n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), old))
	second := n.Tell("maria", newHome)
	if a := n.ask(query.RecallRequest{Query: whereNow, Kinds: []string{"episode"}}); a.Results[0].ID != old {
		t.Fatal("control: the old words do not fit better")
	}
	r := fact("maria", "home", `"Porto, far from any water"`, day(9), second)
	now := n.Promoted(r)
	a := n.ask(query.RecallRequest{Query: whereNow, Explain: true})
	got := found(t, a, old)
	want := []query.Replacement{{
		Fact: now, Text: "maria home: Porto, far from any water", Value: r.Value, Since: *at(day(9)), Trust: events.TrustUser,
	}}
	if diff := cmp.Diff(want, got.SupersededBy); diff != "" {
		t.Error(diff)
	}
	if ids := resultIDs(a); slices.Index(ids, second) > slices.Index(ids, old) || ids[len(ids)-1] != old {
		t.Errorf("order: %q", texts(a))
	}
	// Only the old episode: what replaced it is in no other result.
	alone := query.RecallRequest{Query: "river", Kinds: []string{"episode"}}
	a = n.ask(alone)
	if !slices.Equal(resultIDs(a), []string{old}) {
		t.Fatalf("control: %q", texts(a))
	}
	trace, err := n.Trace(t.Context(), user("acme"), n.Get(a.TraceID))
	must(t, err)
	if diff := cmp.Diff([]string{old, now}, trace.MemoryIDs); diff != "" {
		t.Errorf("trace: %s", diff)
	}
	// Terms are of what was ranked, and so demoted as the score was.
	_, err = n.JudgeTrace(t.Context(), user("acme"), "", a.TraceID, producers.FeedbackRequest{MemoryID: old, Judgement: "stale"})
	must(t, err)
	reported, err := n.Traces(t.Context(), as(events.RoleAuditor), query.TracesRequest{WaitFor: n.End()})
	must(t, err)
	if len(reported.Traces) != 1 || len(reported.Traces[0].Results) != 1 || reported.Traces[0].Results[0].ID != old {
		t.Fatalf("reported: %+v", reported.Traces)
	}
	if got := query.Score(query.DefaultWeights(), *reported.Traces[0].Results[0].Terms); math.Abs(got-a.Results[0].Score) > 1e-9 {
		t.Errorf("the terms make %v, the score was %v", got, a.Results[0].Score)
	}
	alone.TokenBudget = new(15) // enough for the old words, not for both
	if a := n.ask(alone); len(a.Results) != 0 || a.Omitted != 1 {
		t.Errorf("budget: %q", texts(a))
	}
	alone.TokenBudget, alone.Include = new(40), query.IncludeHistory
	if a := n.ask(alone); !slices.Equal(resultIDs(a), []string{old}) {
		t.Errorf("budget: %q", texts(a))
	}
	// A history has the old fact too, marked alike.
	a = n.ask(query.RecallRequest{Query: "home in Lisbon", Include: query.IncludeHistory})
	if got := found(t, a, former); got.Status != "superseded" || !slices.Equal(replacements(&got), []string{now}) {
		t.Errorf("the old fact: %+v", got)
	}
}

// what was current at the time asked about, or as known then, has not ended.
func TestStandingAtATime(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	r := episode("maria", oldHome)
	r.OccurredAt = at(day(1))
	old := n.TellIn("acme", r)
	n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), old))
	n.Clock.Days(1)
	knownThen := at(n.Clock.Now())
	n.Clock.Days(1)
	second := n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
	n.Clock.Days(1)
	knownLater := at(n.Clock.Now())
	n.Clock.Days(1)
	third := n.Promoted(fact("maria", "home", `"Faro"`, day(20), n.Tell("maria", newHome)))
	for name, tc := range map[string]struct {
		asOf, knownAt *events.Time
		want          string
	}{
		"now":                            {nil, nil, third},
		"as of the first":                {at(day(5)), nil, ""},
		"before the first":               {at(day(1)), nil, ""},
		"the last instant of the first":  {at(day(9).Add(-time.Microsecond)), nil, ""},
		"as of the second":               {at(day(9)), nil, second},
		"as of the third":                {at(day(20)), nil, third},
		"as known of the first":          {nil, knownThen, ""},
		"as known of the second":         {nil, knownLater, second},
		"as of the first, known later":   {at(day(5)), knownLater, ""},
		"as of the third, known before":  {at(day(25)), knownLater, second},
		"as of the second, known before": {at(day(10)), knownThen, ""},
	} {
		for _, consistency := range []query.Consistency{query.Local, query.Strong} {
			a := n.ask(query.RecallRequest{Query: whereNow, AsOf: tc.asOf, KnownAt: tc.knownAt, Consistency: consistency})
			got := found(t, a, old)
			if ended := tc.want != ""; ended != (got.Status != "") || ended && !slices.Equal(replacements(&got), []string{tc.want}) {
				t.Errorf("%s, %s: %q by %v, want %q", name, consistency, got.Status, replacements(&got), tc.want)
			}
		}
	}
}

// what was superseded fifty times does not fill an answer, and all of it is there
// on request.
func TestFormerDoNotFill(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	var current string
	for i := range 50 {
		source := n.Tell("shop", fmt.Sprintf("The shop opens at %s, said the sign on its door.", name(i)))
		current = n.Promoted(fact("shop", "opening_hours", `"`+name(i)+`"`, day(1).Add(time.Duration(i)*time.Hour), source))
	}
	n.Tell("shop", "The shop on the corner sells bread.")
	ask := query.RecallRequest{Query: "opening hours of the shop, by the sign on its door", K: new(5)}
	a := n.ask(ask)
	ended := slices.DeleteFunc(slices.Clone(a.Results), func(r query.Result) bool { return r.Status == "" })
	if len(ended) != 1 || len(a.Results) != 4 || a.Results[3].Status != "superseded" || !slices.Equal(replacements(&ended[0]), []string{current}) {
		t.Errorf("%d of %q have ended", len(ended), texts(a))
	}
	ask.Include, ask.K, ask.Kinds = query.IncludeHistory, new(100), []string{"episode"}
	a = n.ask(ask)
	ended = slices.DeleteFunc(slices.Clone(a.Results), func(r query.Result) bool { return r.Status == "" })
	if len(ended) != 49 || len(a.Results) != 51 {
		t.Errorf("%d of %d have ended", len(ended), len(a.Results))
	}
}

// A strong read has the last word on what holds from the log.
func TestStandingStrong(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		change func(n *node, fact string)
		want   events.FactStatus
	}{
		"superseded": {func(n *node, _ string) {
			n.Promoted(fact("maria", "home", `"Porto"`, day(9), n.Tell("maria", newHome)))
		}, "superseded"},
		"retracted": {func(n *node, f string) {
			_, err := n.Retract(n.Context(), user("acme"), "", f, producers.RetractRequest{Reason: "wrong"})
			must(n, err)
		}, "retracted"},
		"forgotten": {func(n *node, f string) {
			snap, err := n.Views.Snapshot(n.Context())
			must(n, err)
			defer snap.Close() //nolint:errcheck // It was only read.
			tenant, err := n.Keys.Tenant(n.Context(), "acme", false)
			must(n, err)
			row, err := snap.Fact(tenant.Token(), f)
			must(n, err)
			last := n.lastOf(events.KindFact, row.Slot)
			_, err = n.Events.Append(n.Context(), events.Commit{
				ID: newID(), Aggregate: last.Aggregate, Time: n.Clock.Now(),
				Events: []events.Event{events.FactForgotten{Fact: f, Subject: row.Subject, Erasure: newID()}},
			}, events.Expect(last.Position))
			must(n, err)
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := inMemory(t)
			id := n.Tell("maria", oldHome)
			f := n.Promoted(fact("maria", "home", `"Lisbon"`, day(2), id))
			local := query.RecallRequest{Query: whereNow, WaitFor: n.End(), Kinds: []string{"episode"}}
			strong := local
			strong.Consistency = query.Strong
			for _, r := range []query.RecallRequest{local, strong} {
				if got := found(t, n.ask(r), id); got.Status != "" {
					t.Fatalf("control: %s", got.Status)
				}
			}
			n.Stop()
			tc.change(n, f)
			if got := found(t, n.ask(local), id); got.Status != "" {
				t.Errorf("a local read of views that are behind: %s", got.Status)
			}
			if got := found(t, n.ask(strong), id); got.Status != tc.want || len(got.SupersededBy) != 0 {
				t.Errorf("a strong read: %+v", got)
			}
		})
	}
}

// What is told of episodes is what a small model tells, whatever happened in between.
func TestStandingModel(t *testing.T) {
	t.Parallel()
	nodes := make(chan *node, 1)
	nodes <- inMemory(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := <-nodes
		defer func() { nodes <- n }()
		runs++
		m := &standingModel{node: n, tenant: fmt.Sprintf("t%d", runs), claims: map[string][]*modelClaim{}}
		for step := range rapid.IntRange(3, 14).Draw(rt, "steps") {
			m.step(rt, step)
		}
		m.check(rt)
	})
}

type standingModel struct {
	*node
	tenant   string
	episodes []string
	// claims are of each slot, the oldest observation first.
	claims map[string][]*modelClaim
}

type modelClaim struct {
	id, value string
	sources   []string
	observed  time.Time
	retracted bool
	forgotten bool
}

// holds is the claim of a slot that is true: the last one, unless it was taken back.
func (m *standingModel) holds(slot string) *modelClaim {
	list := m.claims[slot]
	if len(list) == 0 {
		return nil
	}
	if last := list[len(list)-1]; !last.retracted && !last.forgotten {
		return last
	}
	return nil
}

func (m *standingModel) step(rt *rapid.T, step int) {
	slot := rapid.SampledFrom([]string{"home", "job", "pet"}).Draw(rt, "slot")
	list := m.claims[slot]
	switch what := rapid.IntRange(0, 9).Draw(rt, "what"); {
	case what < 3 || len(m.episodes) == 0:
		m.episodes = append(m.episodes, m.TellIn(m.tenant, episode("maria", fmt.Sprintf("Maria said number %d.", step))))
	case what < 7:
		source := rapid.SampledFrom(m.episodes).Draw(rt, "source")
		c := &modelClaim{value: fmt.Sprintf("%q", name(step)), sources: []string{source}, observed: day(1).Add(time.Duration(step) * time.Hour)}
		c.id = m.PromotedIn(m.tenant, fact("maria", slot, c.value, c.observed, source))
		m.claims[slot] = append(list, c)
	case what < 8: // the same again
		if c := m.holds(slot); c != nil {
			source := rapid.SampledFrom(m.episodes).Draw(rt, "source")
			m.PromotedIn(m.tenant, fact("maria", slot, c.value, c.observed.Add(time.Minute), source))
			c.sources = append(c.sources, source)
		}
	case what < 9:
		if c := m.holds(slot); c != nil {
			_, err := m.Retract(m.Context(), user(m.tenant), "", c.id, producers.RetractRequest{Reason: "wrong"})
			must(m, err)
			c.retracted = true
		}
	default:
		if len(list) > 0 {
			if c := rapid.SampledFrom(list).Draw(rt, "claim"); !c.forgotten {
				_, err := m.ForgetRecord(m.Context(), user(m.tenant), "", events.KindFact, c.id)
				must(m, err)
				c.forgotten = true
			}
		}
	}
}

// ended are the slots of which an episode is stale, none if it stands.
func (m *standingModel) ended(id string) map[string]bool {
	slots := map[string]bool{}
	for slot, list := range m.claims {
		for _, c := range list {
			if c.forgotten || !slices.Contains(c.sources, id) {
				continue
			}
			if c == m.holds(slot) {
				return nil
			}
			slots[slot] = true
		}
	}
	return slots
}

func (m *standingModel) check(rt *rapid.T) {
	full := m.askIn(m.tenant, query.RecallRequest{Query: "what did Maria say?", Kinds: []string{"episode"}, Include: query.IncludeHistory, K: new(100)})
	if len(full.Results) != len(m.episodes) {
		rt.Fatalf("%d of %d episodes are in the history", len(full.Results), len(m.episodes))
	}
	for _, r := range full.Results {
		want := map[string]bool{}
		slots := m.ended(r.ID)
		for slot := range slots {
			if c := m.holds(slot); c != nil {
				want[c.id] = true
			}
		}
		got := map[string]bool{}
		for _, by := range r.SupersededBy {
			got[by.Fact] = true
		}
		if diff := cmp.Diff(want, got); diff != "" || (r.Status != "") != (len(slots) > 0) {
			rt.Fatalf("%q is %q: %s", r.Text, r.Status, diff)
		}
	}
	brief := m.askIn(m.tenant, query.RecallRequest{Query: "what did Maria say?", Kinds: []string{"episode"}, K: new(100)})
	told := map[string]bool{}
	ended := false
	for _, r := range brief.Results {
		slots := m.ended(r.ID)
		if ended = ended || len(slots) > 0; ended != (r.Status != "") {
			rt.Fatalf("%q is %q", r.Text, r.Status)
		}
		isNew := len(slots) == 0
		for slot := range slots {
			isNew = isNew || !told[slot]
			told[slot] = true
		}
		if !isNew {
			rt.Fatalf("%q says nothing that was not told", r.Text)
		}
	}
	for _, id := range m.episodes {
		if shown := slices.Contains(resultIDs(brief), id); !shown {
			for slot := range m.ended(id) {
				if !told[slot] {
					rt.Fatalf("nothing tells of %s", slot)
				}
			}
			if len(m.ended(id)) == 0 {
				rt.Fatal("an episode that holds is missing")
			}
		}
	}
}
