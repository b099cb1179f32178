package query_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

func forgetIDs(ids ...string) tombstones.ForgetRequest {
	return tombstones.ForgetRequest{IDs: ids, Reason: "asked to"}
}

// every condition keeps out what it should and lets in what it should.
func TestRecallFilters(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	const text = "the red kite over the hill"
	keep := episode("maria", text)
	keep.Session, keep.Category, keep.Entities, keep.OccurredAt = "s1", "hobby", []string{"Kite", "Hill"}, at(day(5))
	keep.Metadata = map[string]jsontext.Value{"app": jsontext.Value(`"web"`), "n": jsontext.Value(`1.0`), "ok": jsontext.Value(`true`)}
	want := n.TellIn("acme", keep)
	other := episode("jonas", text)
	other.Session, other.Category, other.Entities, other.OccurredAt = "s2", "work", []string{"Hill"}, at(day(6))
	other.Metadata = map[string]jsontext.Value{"app": jsontext.Value(`"cli"`), "n": jsontext.Value(`2`)}
	n.TellIn("acme", other)
	scoped := fact("jonas", "kite", `"red, over the hill"`, day(6), n.Tell("jonas", "unrelated words"))
	scoped.Scope = "club"
	factID := n.Promoted(scoped)

	for name, tc := range map[string]struct {
		req  query.RecallRequest
		want string
	}{
		"subject":    {query.RecallRequest{Subject: "maria"}, want},
		"session":    {query.RecallRequest{Session: "s1"}, want},
		"category":   {query.RecallRequest{Categories: []string{"hobby", "none"}}, want},
		"entity":     {query.RecallRequest{Entities: []string{"Kite"}}, want},
		"metadata":   {query.RecallRequest{Filter: map[string]jsontext.Value{"app": jsontext.Value(`"web"`)}}, want},
		"number":     {query.RecallRequest{Filter: map[string]jsontext.Value{"n": jsontext.Value(`1`)}}, want},
		"boolean":    {query.RecallRequest{Filter: map[string]jsontext.Value{"ok": jsontext.Value(`true`)}}, want},
		"occurred":   {query.RecallRequest{Kinds: []string{"episode"}, Occurred: &query.Period{From: at(day(5)), To: at(day(6))}}, want},
		"as of":      {query.RecallRequest{Kinds: []string{"episode"}, AsOf: at(day(5))}, want},
		"kind":       {query.RecallRequest{Kinds: []string{"fact"}}, factID},
		"scope":      {query.RecallRequest{Scopes: []string{"club"}}, factID},
		"observed":   {query.RecallRequest{Kinds: []string{"fact"}, Occurred: &query.Period{From: at(day(6))}}, factID},
		"no such":    {query.RecallRequest{Session: "s3"}, ""},
		"both wrong": {query.RecallRequest{Subject: "maria", Session: "s2"}, ""},
		"too early":  {query.RecallRequest{AsOf: at(day(1))}, ""},
		"unrecorded": {query.RecallRequest{KnownAt: at(day(1))}, ""},
		"trajectory": {query.RecallRequest{Kinds: []string{"trajectory"}}, ""},
	} {
		tc.req.Query = "red kite hill"
		got := resultIDs(n.ask(tc.req))
		if tc.want == "" && len(got) != 0 || tc.want != "" && !slices.Equal(got, []string{tc.want}) {
			t.Errorf("%s: got %v, want %q", name, got, tc.want)
		}
	}
	if got := n.ask(query.RecallRequest{Query: "red kite hill"}); len(got.Results) != 3 {
		t.Errorf("without a condition: %v", texts(got))
	}
}

// expiry removes before ranking.
func TestExpiry(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	r := fact("maria", "parking_permit", `"zone B"`, day(2), n.Tell("maria", "Maria got it."))
	r.ExpiresAt = at(n.Clock.Now().AddDate(0, 0, 1))
	id := n.Promoted(r)
	ask := query.RecallRequest{Query: "parking permit zone", Kinds: []string{"fact"}}
	if got := resultIDs(n.ask(ask)); !slices.Equal(got, []string{id}) {
		t.Fatalf("before it expires: %v", got)
	}
	n.Clock.Days(2)
	if got := resultIDs(n.ask(ask)); len(got) != 0 {
		t.Errorf("after it expired: %v", got)
	}
	if got := n.facts(query.FactsRequest{Subject: "maria"}); len(got) != 0 {
		t.Errorf("listed after it expired: %v", values(got))
	}
}

// Who may read what.
func TestRoles(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	source := n.Tell("maria", "Maria lives in Lisbon.")
	id := n.Promoted(fact("maria", "home_city", `"Lisbon"`, day(2), source))
	trace := n.ask(query.RecallRequest{Query: "Lisbon"}).TraceID
	getFact, getEpisode, getTrace := n.Get(id), n.Get(source), n.Get(trace)
	reads := map[string]func(context.Context, events.Caller) error{
		"recall": func(ctx context.Context, c events.Caller) error {
			_, err := n.Recall(ctx, c, query.RecallRequest{Query: "a"})
			return err
		},
		"facts": func(ctx context.Context, c events.Caller) error {
			_, err := n.Facts(ctx, c, query.FactsRequest{Subject: "maria"})
			return err
		},
		"fact": func(ctx context.Context, c events.Caller) error { _, err := n.Fact(ctx, c, getFact); return err },
		"episode": func(ctx context.Context, c events.Caller) error {
			_, err := n.Episode(ctx, c, getEpisode)
			return err
		},
		"episodes": func(ctx context.Context, c events.Caller) error {
			_, err := n.Episodes(ctx, c, query.EpisodesRequest{Subject: "maria"})
			return err
		},
		"history": func(ctx context.Context, c events.Caller) error {
			_, err := n.FactHistory(ctx, c, getFact)
			return err
		},
		"lineage": func(ctx context.Context, c events.Caller) error {
			_, err := n.FactLineage(ctx, c, getFact)
			return err
		},
		"trace": func(ctx context.Context, c events.Caller) error { _, err := n.Trace(ctx, c, getTrace); return err },
	}
	audit := []string{"history", "lineage", "trace"}
	for name, read := range reads {
		for _, role := range []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAdmin, events.RoleAuditor, "nobody"} {
			allowed := role != "nobody" && (role != events.RoleAuditor || slices.Contains(audit, name))
			err := read(t.Context(), as(role))
			if allowed && err != nil || !allowed && !errors.Is(err, events.ErrForbidden) {
				t.Errorf("%s reads %s: %v", role, name, err)
			}
		}
	}
	seen, err := n.Trace(t.Context(), as(events.RoleAuditor), n.Get(trace))
	must(t, err)
	if seen.Query != "" || len(seen.MemoryIDs) == 0 {
		t.Errorf("an auditor sees %+v", seen)
	}
}

// An unknown subject, an unknown tenant and an unknown id show nothing.
func TestNothingToldOfTheUnknown(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id := n.Tell("maria", "Maria lives in Lisbon.")
	factID := n.Promoted(fact("maria", "home_city", `"Lisbon"`, day(2), id))
	n.ask(query.RecallRequest{Query: "Lisbon"})
	for _, c := range []events.Caller{user("other"), user("acme-corp"), user("ACME"), user("acme\x00"), user("acme.x"), user("*")} {
		got := n.askIn(c.Tenant, query.RecallRequest{Query: "Lisbon", Subject: "maria"})
		if len(got.Results) != 0 || !got.NothingRelevant {
			t.Errorf("recall: %+v", got)
		}
		facts, err := n.Facts(t.Context(), c, query.FactsRequest{Subject: "maria"})
		if err != nil || len(facts.Facts) != 0 {
			t.Errorf("facts: %v %v", facts.Facts, err)
		}
		list, err := n.Episodes(t.Context(), c, query.EpisodesRequest{Subject: "maria"})
		if err != nil || len(list.Episodes) != 0 {
			t.Errorf("episodes: %v %v", list.Episodes, err)
		}
		_, foreign := n.Episode(t.Context(), c, n.Get(id))
		_, unknown := n.Episode(t.Context(), c, n.Get(newID()))
		if !errors.Is(foreign, events.ErrNotFound) || foreign.Error() != unknown.Error() {
			t.Errorf("a foreign id says %v, an unknown one %v", foreign, unknown)
		}
		if _, err := n.Fact(t.Context(), c, n.Get(factID)); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("fact: %v", err)
		}
	}
	for _, bad := range []string{"", "nonsense", "*", "../" + id} {
		if _, err := n.Episode(t.Context(), user("acme"), n.Get(bad)); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("id %q: %v", bad, err)
		}
	}
	if _, err := n.Episode(t.Context(), user("acme"), n.Get(strings.ToUpper(id))); err != nil {
		t.Errorf("upper case: %v", err)
	}
}

// What tenant A reads is byte for byte the same with and without tenant B, whose
// data is the same and more.
func TestTwoWorlds(t *testing.T) {
	t.Parallel()
	story := func(n *node, withB bool) string {
		ids := map[string]string{}
		for i, text := range []string{"the red kite over the hill", "a blue kite on a wire", "hill walking in the rain"} {
			if withB {
				for range 3 {
					n.TellIn("b", episode("maria", text))
				}
			}
			r := episode("maria", text)
			r.OccurredAt = at(day(i + 1))
			id := n.TellIn("a", r)
			ids[id] = name(i)
			p := fact("maria", "seen_"+name(i), jsonString(text), day(i+1), id)
			if withB {
				n.PromotedIn("b", fact("maria", "seen_"+name(i), jsonString(text), day(i+2), n.TellIn("b", r)))
			}
			ids[n.PromotedIn("a", p)] = "f" + name(i)
		}
		got := n.askIn("a", query.RecallRequest{Query: "kite on the hill", Explain: true, AsOf: at(day(20))})
		facts, err := n.Facts(n.Context(), user("a"), query.FactsRequest{Subject: "maria", Include: query.IncludeHistory})
		must(n, err)
		if len(got.Results) == 0 || len(facts.Facts) != 3 {
			n.Fatalf("answers are %v and %v", texts(got), values(facts.Facts))
		}
		// The order of slots follows from the keys of the instance.
		slices.SortFunc(facts.Facts, func(a, b query.Fact) int { return strings.Compare(a.Predicate, b.Predicate) })
		for i := range facts.Facts {
			facts.Facts[i].CreatedAt, facts.Facts[i].RecordedAt = events.Time{}, events.Time{}
		}
		out, err := json.Marshal([]any{got.Results, got.Omitted, facts.Facts}, json.Deterministic(true))
		must(n, err)
		s := string(out)
		for id, alias := range ids {
			s = strings.ReplaceAll(s, id, alias)
		}
		return s
	}
	if diff := cmp.Diff(story(inMemory(t), false), story(inMemory(t), true)); diff != "" {
		t.Error(diff)
	}
}

func jsonString(s string) string {
	b, _ := json.Marshal(s) // a valid string never fails
	return string(b)
}

// Two spellings of one name are one; text comes back byte for byte.
func TestUnicode(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	const composed, decomposed = "Zo\u00eb \U0001F98A", "Zoe\u0308 \U0001F98A"
	const text = "Zoë trinkt 抹茶ラテ in 東京 \u202e☕\ufffd"
	id := n.Tell(decomposed, text)
	got := n.ask(query.RecallRequest{Query: "抹茶ラテ 東京", Subject: composed})
	if diff := cmp.Diff([]string{text}, texts(got)); diff != "" {
		t.Error(diff)
	}
	e, err := n.Episode(t.Context(), user("acme"), n.Get(id))
	must(t, err)
	if e.Text != text || e.Subject != decomposed {
		t.Errorf("episode of %q: %q", e.Subject, e.Text)
	}
}

// A cursor belongs to its tenant and its question, and cannot be edited.
func TestCursorsAreRefused(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	for _, tenant := range []string{"acme", "acme-corp"} {
		for i := range 3 {
			n.TellIn(tenant, episode("log", name(i)))
		}
	}
	ask := func(tenant string, r query.EpisodesRequest) (query.EpisodesAnswer, error) {
		r.WaitFor, r.Limit = n.End(), new(1)
		return n.Episodes(t.Context(), user(tenant), r)
	}
	page, err := ask("acme", query.EpisodesRequest{Subject: "log"})
	must(t, err)
	if page.Cursor == "" || strings.Contains(page.Cursor, "log") {
		t.Fatalf("cursor %q", page.Cursor)
	}
	if next, err := ask("acme", query.EpisodesRequest{Subject: "log", Cursor: page.Cursor}); err != nil || next.Episodes[0].Text != name(1) {
		t.Errorf("the next page is %+v, %v", next, err)
	}
	for what, f := range map[string]func() error{
		"another tenant": func() error {
			_, err := ask("acme-corp", query.EpisodesRequest{Subject: "log", Cursor: page.Cursor})
			return err
		},
		"unknown tenant": func() error {
			_, err := ask("new", query.EpisodesRequest{Subject: "log", Cursor: page.Cursor})
			return err
		},
		"another subject": func() error {
			_, err := ask("acme", query.EpisodesRequest{Subject: "log2", Cursor: page.Cursor})
			return err
		},
		"edited": func() error {
			_, err := ask("acme", query.EpisodesRequest{Subject: "log", Cursor: "A" + page.Cursor})
			return err
		},
		"another list": func() error {
			_, err := n.Facts(t.Context(), user("acme"), query.FactsRequest{Subject: "log", Cursor: page.Cursor})
			return err
		},
	} {
		in, ok := errors.AsType[*events.InputError](f())
		if !ok || in.Code != "bad_cursor" || in.Field != "cursor" {
			t.Errorf("%s: %v", what, f())
		}
	}
}

// A read that waits for what is not there yet says so, and when it is there
// answers at that position.
func TestWaitFor(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	n.Tell("maria", "Maria plays the cello.")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := n.Recall(ctx, user("acme"), query.RecallRequest{Query: "cello", WaitFor: n.End() + 1_000})
	if !errors.Is(err, events.ErrBehind) {
		t.Errorf("error is %v", err)
	}
	if got := n.ask(query.RecallRequest{Query: "cello"}); got.Position < 2 || len(got.Results) != 1 {
		t.Errorf("answer %+v", got)
	}
}

// a strong read believes the log over the views.
func TestStrongReads(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(n *node, episode, fact string){
		"episode forgotten": func(n *node, id, _ string) {
			n.bury(events.KindEpisode, id)
		},
		"episode forgotten, then written again": func(n *node, id, _ string) {
			first := n.lastOf(events.KindEpisode, id)
			n.bury(events.KindEpisode, id)
			_, err := n.Events.Append(n.Context(), events.Commit{
				ID: newID(), Aggregate: first.Aggregate, Time: n.Clock.Now(), Events: first.Events,
			}, events.Expect(n.lastOf(events.KindEpisode, id).Position))
			must(n, err)
		},
		"superseded": func(n *node, id, _ string) {
			n.Promoted(fact("maria", "instrument", `"cello, the new one"`, day(9), id))
		},
		"retracted": func(n *node, _, id string) {
			_, err := n.Retract(n.Context(), user("acme"), "", id, producers.RetractRequest{Reason: "wrong"})
			must(n, err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := inMemory(t)
			source := n.Tell("maria", "Maria plays the cello.")
			id := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), source))
			local := query.RecallRequest{Query: "cello instrument", Kinds: []string{"fact"}}
			strong := local
			strong.Consistency = query.Strong
			for _, r := range []query.RecallRequest{local, strong} {
				if got := resultIDs(n.ask(r)); !slices.Equal(got, []string{id}) {
					t.Fatalf("the control: %v", got)
				}
			}
			n.Stop()
			change(n, source, id)
			local.WaitFor, strong.WaitFor = 1, 1
			if got := resultIDs(n.ask(local)); !slices.Equal(got, []string{id}) {
				t.Errorf("a local read of views that are behind: %v", got)
			}
			if got := resultIDs(n.ask(strong)); len(got) != 0 {
				t.Errorf("a strong read: %v", got)
			}
		})
	}
}

// lastOf is the last commit of an aggregate of the tenant acme.
func (n *node) lastOf(kind events.Kind, id string) events.Recorded {
	n.Helper()
	tenant, err := n.Keys.Tenant(n.Context(), "acme", false)
	must(n, err)
	last, err := n.Events.Last(n.Context(), events.Aggregate{Tenant: tenant.Token(), Kind: kind, ID: id})
	must(n, err)
	return last
}

// bury appends a tombstone, as the first step of a saga does.
func (n *node) bury(kind events.Kind, id string) {
	n.Helper()
	last := n.lastOf(kind, id)
	e, ok := last.Events[0].(events.EpisodeCaptured)
	if !ok {
		n.Fatalf("not an episode: %T", last.Events[0])
	}
	_, err := n.Events.Append(n.Context(), events.Commit{
		ID: newID(), Aggregate: last.Aggregate, Time: n.Clock.Now(), Events: []events.Event{events.EpisodeForgotten{Subject: e.Subject, Erasure: newID()}},
	}, events.Expect(last.Position))
	must(n, err)
}

// A key that is gone drops the hit; it is no error. Asked for by its id, a record
// whose key is gone without a tombstone is damage.
func TestDestroyedKeyDropsTheHit(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	gone := n.Tell("maria", "Maria plays the cello.")
	left := n.Tell("jonas", "Jonas plays the cello too.")
	n.ask(query.RecallRequest{Query: "cello"})
	tenant, err := n.Keys.Tenant(t.Context(), "acme", false)
	must(t, err)
	must(t, n.Keys.DestroyRecord(t.Context(), tenant.Token(), gone))
	if got := resultIDs(n.ask(query.RecallRequest{Query: "cello"})); !slices.Equal(got, []string{left}) {
		t.Errorf("recall: %v", got)
	}
	list, err := n.Episodes(t.Context(), user("acme"), query.EpisodesRequest{Subject: "maria"})
	if err != nil || len(list.Episodes) != 0 {
		t.Errorf("list: %v, %v", list.Episodes, err)
	}
	if _, err := n.Episode(t.Context(), user("acme"), n.Get(gone)); !errors.Is(err, query.ErrDamaged) {
		t.Errorf("by id: %v", err)
	}
}

// what a fact came from, with what was forgotten of it, and what
// came of it.
func TestLineage(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	first, second, third := n.Tell("maria", "Lisbon, she says."), n.Tell("maria", "Lisbon, again."), n.Tell("maria", "Porto now.")
	old := n.Promoted(fact("maria", "home_city", `"Lisbon"`, day(2), first))
	p, err := n.Propose(t.Context(), user("acme"), "", fact("maria", "home_city", `"Lisbon"`, day(3), second))
	must(t, err)
	if p.FactID != old {
		t.Fatalf("the equal value became %+v", p)
	}
	current := n.Promoted(fact("maria", "home_city", `"Porto"`, day(20), third))
	_, err = n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, first)
	must(t, err)
	got, err := n.FactLineage(t.Context(), user("acme"), n.Get(old))
	must(t, err)
	type link struct {
		ID, Relation string
		Forgotten    bool
		Source       string
	}
	flat := func(list []query.Link) []link {
		var out []link
		for _, l := range list {
			f := link{ID: l.ID, Relation: l.Relation, Forgotten: l.Forgotten}
			if l.Source != nil {
				f.Source = l.Source.Ref
			}
			out = append(out, f)
		}
		return out
	}
	if diff := cmp.Diff([]link{
		{first, "source", true, ""}, {second, "source", false, "m1"}, {p.CandidateID, "merged_from", false, ""},
	}, flat(got.From)); diff != "" {
		t.Errorf("from: %s", diff)
	}
	if diff := cmp.Diff([]link{{current, "superseded_by", false, ""}}, flat(got.To)); diff != "" {
		t.Errorf("to: %s", diff)
	}
	f, err := n.Fact(t.Context(), user("acme"), n.Get(old))
	must(t, err)
	if diff := cmp.Diff([]string{second}, f.SourceEpisodes); diff != "" {
		t.Errorf("sources: %s", diff)
	}
	if f.Status != events.StatusSuperseded || f.SupersededBy != current || f.ValidTo == nil || !f.ValidTo.Equal(day(20)) {
		t.Errorf("fact %+v", f.Fact)
	}
}

// a trace says what was recalled, used and judged.
func TestTrace(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id := n.Tell("maria", "Maria plays the cello.")
	answer := n.ask(query.RecallRequest{Query: "what does she play, the cello?", Subject: "maria"})
	_, err := n.UseTrace(t.Context(), user("acme"), "", answer.TraceID, producers.UseRequest{MemoryIDs: []string{id}})
	must(t, err)
	_, err = n.JudgeTrace(t.Context(), user("acme"), "", answer.TraceID, producers.FeedbackRequest{MemoryID: id, Judgement: "useful"})
	must(t, err)
	got, err := n.Trace(t.Context(), user("acme"), n.Get(answer.TraceID))
	must(t, err)
	if got.Query != "what does she play, the cello?" || !slices.Equal(got.MemoryIDs, []string{id}) ||
		!slices.Equal(got.Used, []string{id}) || got.Judged[id] != events.JudgedUseful ||
		got.Weights != query.DefaultWeightsName || got.ReadAt != answer.Position {
		t.Errorf("trace %+v", got)
	}
	if _, err := n.Trace(t.Context(), user("other"), n.Get(answer.TraceID)); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("of another tenant: %v", err)
	}
	_, err = n.ForgetSubject(t.Context(), user("acme"), "", "maria", "")
	must(t, err)
	if got, err := n.Trace(t.Context(), user("acme"), n.Get(answer.TraceID)); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("after its subject was forgotten: %+v, %v", got, err)
	}
}

// weights by name and by number change the order; unknown ones are refused.
func TestWeights(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	older := episode("maria", "cello lesson on Friday with the cello teacher")
	older.OccurredAt = at(n.Clock.Now().AddDate(0, 0, -20))
	newer := episode("maria", "she mentioned in passing that the cello may need new strings before the summer tour begins")
	newer.OccurredAt = at(n.Clock.Now().AddDate(0, 0, -1))
	a, b := n.TellIn("acme", older), n.TellIn("acme", newer)
	for what, tc := range map[string]struct {
		w    *query.WeightsChoice
		want []string
	}{
		"relevance": {&query.WeightsChoice{Weights: query.Weights{Relevance: 1}}, []string{a, b}},
		"fresh":     {&query.WeightsChoice{Name: "fresh"}, []string{b, a}},
	} {
		if diff := cmp.Diff(tc.want, resultIDs(n.ask(query.RecallRequest{Query: "cello lesson", Weights: tc.w}))); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	for what, w := range map[string]*query.WeightsChoice{"unknown_weights": {Name: "none"}, "bad_weights": {Weights: query.Weights{Relevance: 2}}} {
		_, err := n.Recall(t.Context(), user("acme"), query.RecallRequest{Query: "cello", Weights: w})
		if in, ok := errors.AsType[*events.InputError](err); !ok || in.Code != what || in.Field != "weights" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
