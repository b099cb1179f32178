package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// memories are what is kept of one subject of the tenant acme.
type memories struct{ subject, episode, old, current, trace string }

func (n *node) remember(subject string) memories {
	n.Helper()
	told := episode(subject, subject+" plays the cello.")
	told.OccurredAt = at(day(1))
	m := memories{subject: subject, episode: n.TellIn("acme", told)}
	m.old = n.Promoted(fact(subject, "instrument", `"cello"`, day(2), m.episode))
	m.current = n.Promoted(fact(subject, "instrument", `"cello and viola"`, day(20), m.episode))
	m.trace = n.ask(query.RecallRequest{Query: "cello instrument", Subject: subject}).TraceID
	return m
}

// seen is how many things each way of reading shows of a subject, -1 for a record
// that is not found.
func (n *node) seen(c events.Caller, m memories) map[string]int {
	n.Helper()
	found := func(count int, err error) int {
		n.Helper()
		if errors.Is(err, events.ErrNotFound) {
			return -1
		}
		must(n, err)
		return count
	}
	out := make(map[string]int)
	history, err := n.FactHistory(n.Context(), c, n.Get(m.current))
	out["history"] = found(len(history.Versions), err)
	lineage, err := n.FactLineage(n.Context(), c, n.Get(m.current))
	out["lineage"] = found(len(lineage.From), err)
	trace, err := n.Trace(n.Context(), c, n.Get(m.trace))
	out["trace"] = found(len(trace.MemoryIDs), err)
	if c.Has(events.RoleAuditor) {
		return out
	}
	_, err = n.Episode(n.Context(), c, n.Get(m.episode))
	out["episode"] = found(1, err)
	for what, id := range map[string]string{"fact": m.current, "old fact": m.old} {
		_, err = n.Fact(n.Context(), c, n.Get(id))
		out[what] = found(1, err)
	}
	episodes, err := n.Episodes(n.Context(), c, query.EpisodesRequest{Subject: m.subject})
	out["episodes"] = found(len(episodes.Episodes), err)
	for what, r := range map[string]query.FactsRequest{
		"facts": {}, "facts with history": {Include: query.IncludeHistory},
		"facts as of": {AsOf: at(day(5))}, "facts known at": {KnownAt: at(n.Clock.Now())},
	} {
		r.Subject = m.subject
		facts, err := n.Facts(n.Context(), c, r)
		out[what] = found(len(facts.Facts), err)
	}
	for what, r := range map[string]query.RecallRequest{
		"recall": {}, "strong recall": {Consistency: query.Strong}, "recall as of": {AsOf: at(day(25))},
		"recall known at": {KnownAt: at(n.Clock.Now())},
		"recall of all":   {}, "strong recall of all": {Consistency: query.Strong},
	} {
		r.Query = "cello instrument " + m.subject
		if !strings.HasSuffix(what, "of all") {
			r.Subject = m.subject
		}
		answer, err := n.Recall(n.Context(), c, r)
		must(n, err)
		for _, res := range answer.Results {
			if slices.Contains([]string{m.episode, m.old, m.current}, res.ID) {
				out[what]++
			}
		}
		if r.Subject != "" && answer.NothingRelevant != (out[what] == 0) {
			n.Errorf("%s: nothing_relevant is %v", what, answer.NothingRelevant)
		}
	}
	return out
}

func callers() []events.Caller {
	return []events.Caller{as(events.RoleAgent), as(events.RoleReviewer), as(events.RoleAdmin), as(events.RoleAuditor)}
}

// What is under a legal hold is shown to nobody, in no way: it looks like what was
// never there. Its neighbour stays as it is, and lifting the hold brings all back.
func TestHeld(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	maria, jonas := n.remember("maria"), n.remember("jonas")
	nobody := memories{subject: "nobody", episode: newID(), old: newID(), current: newID(), trace: newID()}
	see := func(m memories) (all []map[string]int) {
		must(t, n.Views.WaitFor(t.Context(), n.End()))
		for _, c := range callers() {
			all = append(all, n.seen(c, m))
		}
		return all
	}
	before, neighbour := see(maria), see(jonas)
	for what, count := range before[0] {
		if count <= 0 {
			t.Errorf("before the hold %s shows nothing", what)
		}
	}
	n.putHold("maria")
	if diff := cmp.Diff(see(nobody), see(maria)); diff != "" {
		t.Errorf("held, and never there (-nobody +held):\n%s", diff)
	}
	if diff := cmp.Diff(neighbour, see(jonas)); diff != "" {
		t.Errorf("the neighbour (-before +while held):\n%s", diff)
	}
	n.change("maria", events.SubjectHeld{Hold: "case-8"})
	n.liftHold("maria")
	if diff := cmp.Diff(see(nobody), see(maria)); diff != "" {
		t.Errorf("one of two holds lifted (-nobody +held):\n%s", diff)
	}
	n.change("maria", events.SubjectReleased{Hold: "case-8"})
	if diff := cmp.Diff(before, see(maria)); diff != "" {
		t.Errorf("released (-before +after):\n%s", diff)
	}
}

// A forgotten memory of a held subject tells nothing of its end either.
func TestHeldAndForgotten(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	maria := n.remember("maria")
	_, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, maria.episode)
	must(t, err)
	errs := func() (list []error) {
		_, a := n.Episode(t.Context(), as(events.RoleAdmin), n.Get(maria.episode))
		_, b := n.Fact(t.Context(), as(events.RoleAdmin), n.Get(maria.current))
		return append(list, a, b)
	}
	for _, err := range errs() {
		if !errors.Is(err, events.ErrForgotten) {
			t.Errorf("before the hold: %v", err)
		}
	}
	n.putHold("maria")
	for _, err := range errs() {
		if !errors.Is(err, events.ErrNotFound) {
			t.Errorf("while held: %v", err)
		}
	}
}

// corroborate gives a fact an episode of somebody else as another source, as a
// reviewer may.
func (n *node) corroborate(id string, m memories) {
	n.Helper()
	must(n, n.Views.WaitFor(n.Context(), n.End()))
	snap, err := n.Views.Snapshot(n.Context())
	must(n, err)
	defer snap.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	row, err := snap.Fact(n.tenantToken(), id)
	must(n, err)
	last := n.lastOf(events.KindFact, row.Slot)
	_, err = n.Events.Append(n.Context(), events.Commit{
		ID: newID(), Aggregate: last.Aggregate, Time: n.Clock.Now(), Events: []events.Event{events.FactCorroborated{
			Fact: id, Candidate: newID(), Sources: []events.SourceRef{{Episode: m.episode, Subject: n.subject(m.subject)}},
		}},
	}, events.Expect(last.Position))
	must(n, err)
}

// A strong read of views that do not know of the hold yet believes the log.
func TestHeldStrongReads(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	maria, jonas := n.remember("maria"), n.remember("jonas")
	n.corroborate(jonas.current, maria)
	must(t, n.Views.WaitFor(t.Context(), n.End()))
	n.Stop()
	n.putHold("maria")
	ask := func(c query.Consistency) map[string][]string {
		answer := n.ask(query.RecallRequest{Query: "cello instrument", Consistency: c, WaitFor: 1})
		got := make(map[string][]string)
		for _, r := range answer.Results {
			got[r.ID] = r.Sources
		}
		return got
	}
	if got := ask(query.Local); len(got) != 4 || len(got[jonas.current]) != 2 {
		t.Errorf("the control, a local read: %v", got)
	}
	want := map[string][]string{
		jonas.episode: {jonas.episode}, jonas.current: {jonas.episode},
	}
	if diff := cmp.Diff(want, ask(query.Strong)); diff != "" {
		t.Errorf("a strong read: %s", diff)
	}
}

// A fact that rests on a held episode of somebody else lives on and does not name
// it; nor does the trace of an answer that held memories went into.
func TestHeldIsNotNamed(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	maria, jonas := n.remember("maria"), n.remember("jonas")
	rests := n.Promoted(fact("jonas", "duet", `"with maria"`, day(3), jonas.episode))
	n.corroborate(rests, maria)
	named := func() string {
		f, err := n.Fact(t.Context(), user("acme"), n.Get(rests))
		must(t, err)
		lineage, err := n.FactLineage(t.Context(), user("acme"), n.Get(rests))
		must(t, err)
		link := lineage.From[1]
		var recalled []string
		for _, r := range n.ask(query.RecallRequest{Query: "duet with maria", Subject: "jonas", Kinds: []string{"fact"}}).Results {
			if r.ID == rests {
				recalled = append([]string{"found"}, r.Sources...)
			}
		}
		return fmt.Sprintln(f.SourceEpisodes, link.Forgotten, link.OccurredAt == nil, link.Source == nil, recalled)
	}
	all := n.ask(query.RecallRequest{Query: "cello instrument"})
	traced := func() []string {
		tr, err := n.Trace(t.Context(), as(events.RoleAuditor), n.Get(all.TraceID))
		must(t, err)
		slices.Sort(tr.MemoryIDs)
		return tr.MemoryIDs
	}
	free := fmt.Sprintln([]string{jonas.episode, maria.episode}, false, false, false, []string{"found", jonas.episode, maria.episode})
	both := []string{maria.episode, maria.current, jonas.episode, jonas.current}
	slices.Sort(both)
	one := []string{jonas.episode, jonas.current}
	slices.Sort(one)
	for _, step := range []struct {
		what   string
		do     func()
		named  string
		traced []string
	}{
		{"before", func() {}, free, both},
		{"held", func() { n.putHold("maria") }, fmt.Sprintln([]string{jonas.episode}, true, true, true, []string{"found", jonas.episode}), one},
		{"released", func() { n.liftHold("maria") }, free, both},
	} {
		step.do()
		if diff := cmp.Diff(step.named, named()); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
		if diff := cmp.Diff(step.traced, traced()); diff != "" {
			t.Errorf("%s, the trace: %s", step.what, diff)
		}
	}
}

// What is told of a held subject is kept, and read when the hold is lifted; so is
// what was asked about it. Its facts stay as they are: nothing is decided on them
// meanwhile.
func TestHeldIsWritten(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	maria := n.remember("maria")
	n.putHold("maria")
	told := n.Tell("maria", "Maria sold the cello.")
	sold := fact("maria", "instrument", `"none"`, day(25), told)
	if p, err := n.Propose(t.Context(), user("acme"), "", sold); !errors.Is(err, events.ErrHeld) {
		t.Errorf("a fact of who is held: %+v, %v", p, err)
	}
	asked := n.ask(query.RecallRequest{Query: "what does she play?", Subject: "maria"})
	if len(asked.Results) != 0 || asked.TraceID == "" {
		t.Errorf("while held: %+v", asked)
	}
	reads := func() []error {
		_, a := n.Episode(t.Context(), user("acme"), n.Get(told))
		_, b := n.Fact(t.Context(), user("acme"), n.Get(maria.current))
		_, c := n.Trace(t.Context(), user("acme"), n.Get(asked.TraceID))
		return []error{a, b, c}
	}
	for i, err := range reads() {
		if !errors.Is(err, events.ErrNotFound) {
			t.Errorf("read %d while held: %v", i, err)
		}
	}
	n.liftHold("maria")
	for i, err := range reads() {
		if err != nil {
			t.Errorf("read %d when it is lifted: %v", i, err)
		}
	}
	before := len(n.facts(query.FactsRequest{Subject: "maria", Include: query.IncludeHistory}))
	id := n.Promoted(sold)
	if got := n.facts(query.FactsRequest{Subject: "maria"}); !slices.ContainsFunc(got, func(f query.Fact) bool { return f.ID == id }) {
		t.Errorf("current facts: %v", values(got))
	}
	if got := n.facts(query.FactsRequest{Subject: "maria", Include: query.IncludeHistory}); len(got) != before+1 {
		t.Errorf("all facts: %v, one more than %d wanted", values(got), before)
	}
}

// Many holds, more than a snapshot remembers, are looked up one by one.
func TestHeldAmongMany(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	maria, jonas := n.remember("maria"), n.remember("jonas")
	holds := make([]events.Event, 1_100)
	for i := range holds {
		holds[i] = events.SubjectHeld{Hold: nodetest.Name(i)}
	}
	for list := range slices.Chunk(holds, events.MaxEvents) {
		n.change("maria", list...)
	}
	if _, err := n.Episode(t.Context(), user("acme"), n.Get(maria.episode)); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("held: %v", err)
	}
	if _, err := n.Episode(t.Context(), user("acme"), n.Get(jonas.episode)); err != nil {
		t.Errorf("the neighbour: %v", err)
	}
}

// A value that is forgotten under a hold can be kept out all the same.
func TestHeldIsKeptOut(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	maria := n.remember("maria")
	number := n.Promoted(fact("maria", "number", `"555 0199"`, day(3), maria.episode))
	set, err := suppression.New(suppression.Config{Log: n.Events, Now: n.Clock.Now, NewID: newID})
	must(t, err)
	x, err := query.NewSuppressor(n.Service, n.Eraser, set)
	must(t, err)
	n.putHold("maria")
	must(t, n.Views.WaitFor(t.Context(), n.End()))
	tenant, err := n.Keys.Tenant(t.Context(), "acme", false)
	must(t, err)
	for _, step := range []struct {
		id, value string
	}{{number, "555 0199"}, {maria.episode, "maria plays the cello."}} {
		for _, forgotten := range []bool{false, true} {
			if forgotten {
				req := forgetIDs(step.id)
				req.Suppress = true
				_, err := x.Forget(t.Context(), as(events.RoleAdmin), "", req)
				must(t, err)
			}
			if kept, err := set.Has(t.Context(), tenant, step.value); err != nil || kept != forgotten {
				t.Errorf("a value is kept out: %v, %v; it was forgotten: %v", kept, err, forgotten)
			}
		}
	}
}

// hookedRows do something once, in the midst of a reading, when keys are read.
type hookedRows struct {
	seal.Rows

	hook atomic.Pointer[func()]
}

func (r *hookedRows) GetMany(ctx context.Context, keys []string) (map[string]seal.Row, error) {
	if hook := r.hook.Swap(nil); hook != nil {
		(*hook)()
	}
	return r.Rows.GetMany(ctx, keys)
}

// What comes under a hold while it is being opened is not shown.
func TestHeldMeanwhile(t *testing.T) {
	t.Parallel()
	reads := map[string]func(n *node, m memories) (shown int, err error){
		"episode": func(n *node, m memories) (int, error) {
			_, err := n.Episode(n.Context(), user("acme"), query.RecordRequest{ID: m.episode})
			return 1, err
		},
		"fact": func(n *node, m memories) (int, error) {
			_, err := n.Fact(n.Context(), user("acme"), query.RecordRequest{ID: m.current})
			return 1, err
		},
		"trace": func(n *node, m memories) (int, error) {
			_, err := n.Trace(n.Context(), user("acme"), query.RecordRequest{ID: m.trace})
			return 1, err
		},
		"history": func(n *node, m memories) (int, error) {
			a, err := n.FactHistory(n.Context(), user("acme"), query.RecordRequest{ID: m.current})
			return len(a.Versions), err
		},
		"lineage": func(n *node, m memories) (int, error) {
			a, err := n.FactLineage(n.Context(), user("acme"), query.RecordRequest{ID: m.current})
			return len(a.From), err
		},
		"facts": func(n *node, m memories) (int, error) {
			a, err := n.Facts(n.Context(), user("acme"), query.FactsRequest{Subject: m.subject})
			return len(a.Facts), err
		},
		"episodes": func(n *node, m memories) (int, error) {
			a, err := n.Episodes(n.Context(), user("acme"), query.EpisodesRequest{Subject: m.subject})
			return len(a.Episodes), err
		},
		"recall": func(n *node, _ memories) (int, error) {
			a, err := n.Recall(n.Context(), user("acme"), query.RecallRequest{Query: "cello instrument"})
			return len(a.Results), err
		},
		"recall of it": func(n *node, m memories) (int, error) {
			a, err := n.Recall(n.Context(), user("acme"), query.RecallRequest{Query: "cello instrument", Subject: m.subject})
			return len(a.Results), err
		},
	}
	for what, read := range reads {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			rows := &hookedRows{Rows: seal.NewMemRows()}
			o := options(nil)
			o.Rows = rows
			n := &node{nodetest.Start(t, o)}
			m := n.remember("maria")
			must(t, n.Views.WaitFor(t.Context(), n.End()))
			if shown, err := read(n, m); err != nil || shown == 0 {
				t.Fatalf("the control: %d, %v", shown, err)
			}
			n.Clock.Days(1) // no key is remembered
			hook := func() {
				n.putHold("maria")
				must(t, n.Views.WaitFor(t.Context(), n.End()))
			}
			rows.hook.Store(&hook)
			shown, err := read(n, m)
			if rows.hook.Load() != nil {
				t.Fatal("nothing was opened")
			}
			if err != nil && !errors.Is(err, events.ErrNotFound) || err == nil && shown > 0 {
				t.Errorf("shown %d, %v", shown, err)
			}
		})
	}
}
