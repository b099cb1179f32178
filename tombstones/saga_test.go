package tombstones_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

func (n *node) token() string {
	n.Helper()
	t, err := n.Keys.Tenant(n.Context(), "acme", false)
	must(n, err)
	return t.Token()
}

// keyless reports that a record's key is gone.
func (n *node) keyless(id string) bool {
	n.Helper()
	_, err := n.Keys.Record(n.Context(), n.token(), id)
	if err != nil && !errors.Is(err, seal.ErrKeyDestroyed) {
		n.Fatal(err)
	}
	return err != nil
}

// lives reports that an episode can be read.
func (n *node) lives(id string) bool {
	n.Helper()
	_, err := n.Episode(n.Context(), user("acme"), n.Get(id))
	if err != nil && !errors.Is(err, events.ErrForgotten) && !errors.Is(err, events.ErrNotFound) {
		n.Fatal(err)
	}
	return err == nil
}

func (n *node) forget(key string, r tombstones.ForgetRequest) tombstones.Erasure {
	n.Helper()
	e, err := n.Forget(n.Context(), user("acme"), key, r)
	must(n, err)
	return e
}

// forgetting one record, and again, on the reference log and on a server.
func TestForgetRecord(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *node{"memory": inMemory, "nats": onNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := open(t)
			id, neighbour := n.Tell("maria", "Maria plays the cello."), n.Tell("maria", "Maria swims.")
			factID := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), id))
			first, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, strings.ToUpper(id))
			must(t, err)
			if first.Level != tombstones.LevelShredded || first.Matched != 1 || first.Position == 0 {
				t.Errorf("erasure %+v", first)
			}
			again, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, id)
			must(t, err)
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("again: %s", diff)
			}
			if n.lives(id) || !n.lives(neighbour) || !n.keyless(id) || !n.keyless(factID) || n.keyless(neighbour) {
				t.Error("not exactly the episode and what was derived from it are gone")
			}
			f, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindFact, factID)
			must(t, err)
			if f.ErasureID != first.ErasureID {
				t.Errorf("the derived fact went by %s", f.ErasureID)
			}
		})
	}
}

// What is not there, and what is another's, is one error without an effect.
func TestForgetUnknown(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id := n.Tell("maria", "Maria plays the cello.")
	n.TellIn("other", episode("x", "y"))
	trace, _, err := n.RecordRecall(t.Context(), user("acme"), producers.Recall{Query: "q"})
	must(t, err)
	before := n.End()
	for what, f := range map[string]func() error{
		"another tenant's": func() error {
			_, err := n.ForgetRecord(t.Context(), user("other"), "", events.KindEpisode, id)
			return err
		},
		"unknown tenant": func() error {
			_, err := n.ForgetRecord(t.Context(), user("new"), "", events.KindEpisode, id)
			return err
		},
		"unknown": func() error {
			_, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, newID())
			return err
		},
		"another kind": func() error { _, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindFact, id); return err },
		"a trace": func() error {
			_, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, trace)
			return err
		},
		"no UUID": func() error {
			_, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, "*")
			return err
		},
		"one of a list": func() error {
			_, err := n.Forget(t.Context(), user("acme"), "", tombstones.ForgetRequest{IDs: []string{id, newID()}})
			return err
		},
	} {
		if err := f(); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n.End() != before || !n.lives(id) {
		t.Error("something was written")
	}
}

// Who may forget.
func TestForgetRoles(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	n.Tell("maria", "Maria plays the cello.")
	for _, role := range []events.Role{events.RoleAgent, events.RoleAdmin, events.RoleReviewer, events.RoleAuditor} {
		c := user("acme")
		c.Roles = []events.Role{role}
		id := n.Tell("maria", "Maria swims.")
		_, one := n.ForgetRecord(t.Context(), c, "", events.KindEpisode, id)
		_, many := n.Forget(t.Context(), c, "", tombstones.ForgetRequest{IDs: []string{id}})
		_, all := n.ForgetSubject(t.Context(), c, "", "nobody", "")
		allowed := role == events.RoleAgent || role == events.RoleAdmin
		for _, err := range []error{one, many, all} {
			if allowed && err != nil || !allowed && !errors.Is(err, events.ErrForbidden) {
				t.Errorf("%s: %v", role, err)
			}
		}
	}
}

// a fact with another source loses one, and goes with the last.
func TestCascade(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	first, second := n.Tell("maria", "She plays the cello."), n.Tell("maria", "The cello, she says.")
	both := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), first, second))
	fromFirst := n.Promoted(fact("maria", "hobby", `"music"`, day(2), first))
	merged, err := n.Propose(t.Context(), user("acme"), "", fact("maria", "hobby", `"music"`, day(3), second))
	must(t, err)
	n.forget("", tombstones.ForgetRequest{IDs: []string{first}})
	for _, id := range []string{both, fromFirst} {
		f, err := n.Fact(t.Context(), user("acme"), n.Get(id))
		must(t, err)
		if diff := cmp.Diff([]string{second}, f.SourceEpisodes); diff != "" {
			t.Errorf("sources: %s", diff)
		}
	}
	n.forget("", tombstones.ForgetRequest{IDs: []string{second}})
	for _, id := range []string{both, fromFirst, merged.CandidateID} {
		if _, err := n.Fact(t.Context(), user("acme"), n.Get(id)); !errors.Is(err, events.ErrForgotten) || !n.keyless(id) {
			t.Errorf("without a source: %v", err)
		}
	}
}

// A fact takes the candidates of equal value with it: they say the same.
func TestForgetFactWithItsEquals(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	source := n.Tell("maria", "She plays the cello.")
	id := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), source))
	p, err := n.Propose(t.Context(), user("acme"), "", fact("maria", "instrument", `"cello"`, day(3), n.Tell("maria", "Cello.")))
	must(t, err)
	e, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindFact, id)
	must(t, err)
	if e.Matched != 1 || !n.keyless(id) || !n.keyless(p.CandidateID) || !n.lives(source) {
		t.Errorf("erasure %+v", e)
	}
}

// a subject goes with everything about it, and with what other subjects'
// facts took from it; the name begins anew.
func TestForgetSubject(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *node{"memory": inMemory, "nats": onNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := open(t)
			const composed, decomposed = "Zo\u00eb", "Zoe\u0308"
			hers, his := n.Tell(composed, "Zoë plays the cello."), n.Tell("jonas", "Jonas swims.")
			herFact := n.Promoted(fact(composed, "instrument", `"cello"`, day(2), hers))
			before, err := n.sid(composed)
			must(t, err)
			e, err := n.ForgetSubject(t.Context(), user("acme"), "", decomposed, "she asked")
			must(t, err)
			if e.Matched != 2 || e.Level != tombstones.LevelShredded {
				t.Errorf("erasure %+v", e)
			}
			if n.lives(hers) || !n.lives(his) || !n.keyless(hers) || !n.keyless(herFact) || n.keyless(his) {
				t.Error("not exactly the subject is gone")
			}
			if _, err := n.sid(composed); !errors.Is(err, seal.ErrUnknownSubject) {
				t.Errorf("the name: %v", err)
			}
			end := n.End()
			again, err := n.ForgetSubject(t.Context(), user("acme"), "", composed, "")
			must(t, err)
			if cmp.Diff(again, e) != "" || n.End() != end {
				t.Errorf("a name that is not there any more: %+v, want %+v", again, e)
			}
			none, err := n.ForgetSubject(t.Context(), user("acme"), "", "nobody", "")
			must(t, err)
			if none.Matched != 0 || none.ErasureID != "" || none.Level != tombstones.LevelDenied || n.End() != end {
				t.Errorf("an unknown name: %+v", none)
			}
			n.Tell(composed, "Another Zoë.")
			if after, err := n.sid(composed); err != nil || after == before {
				t.Errorf("the name stands for the old subject: %v", err)
			}
		})
	}
}

func (n *node) sid(name string) (string, error) {
	n.Helper()
	t, err := n.Keys.Tenant(n.Context(), "acme", false)
	must(n, err)
	return t.SubjectID(n.Context(), name, false)
}

// Facts about one subject that were taken from another's episodes follow it.
func TestForgetSubjectReachesOthers(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	hers, his := n.Tell("maria", "Jonas told me that he swims."), n.Tell("jonas", "I swim.")
	n.propose(fact("jonas", "sport", `"swimming"`, day(2), hers))
	n.propose(fact("jonas", "club", `"harbour"`, day(2), his, hers))
	tenant := n.token()
	_, err := n.ForgetSubject(t.Context(), user("acme"), "", "maria", "")
	must(t, err)
	found := map[string][]events.FactStatus{}
	for m, err := range n.Events.Follow(t.Context(), 0) {
		must(t, err)
		r, err := events.Decode(m)
		must(t, err)
		for _, e := range r.Events {
			switch e := e.(type) {
			case events.FactForgotten:
				found["forgotten"] = append(found["forgotten"], events.FactStatus(e.Fact))
			case events.FactSourceLost:
				found["lost"] = append(found["lost"], events.FactStatus(e.Source))
			default:
			}
		}
		if m.Pending == 0 {
			break
		}
	}
	if len(found["forgotten"]) != 1 || len(found["lost"]) != 1 || string(found["lost"][0]) != hers {
		t.Errorf("cascade in %s: %v", tenant, found)
	}
}

func (n *node) propose(r producers.ProposeRequest) producers.Proposed {
	n.Helper()
	p, err := n.Propose(n.Context(), user("acme"), "", r)
	must(n, err)
	return p
}

// gate lets a test hold the saga where it waits for the views.
type gate struct {
	tombstones.Views

	entered chan struct{}
	open    chan struct{}
	once    sync.Once
}

func (g *gate) WaitFor(ctx context.Context, position uint64) error {
	g.once.Do(func() { close(g.entered) })
	select {
	case <-g.open:
		return g.Views.WaitFor(ctx, position)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", events.ErrBehind, ctx.Err())
	}
}

func (n *node) gated() (*tombstones.Eraser, *gate) {
	n.Helper()
	g := &gate{Views: query.NewErasingViews(n.Views), entered: make(chan struct{}), open: make(chan struct{})}
	e, err := tombstones.New(tombstones.Config{Log: n.Events, Keys: n.Keys, Views: g, Now: n.Clock.Now, NewID: newID})
	must(n, err)
	return e, g
}

// Two forgets of one subject at a time are one erasure with one answer.
func TestConcurrentForgetsOfASubject(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	n.Tell("maria", "Maria plays the cello.")
	e, g := n.gated()
	answers := make(chan tombstones.Erasure, 8)
	var started, done sync.WaitGroup
	for range cap(answers) {
		started.Add(1)
		done.Go(func() {
			started.Done()
			out, err := e.ForgetSubject(t.Context(), user("acme"), "", "maria", "")
			if err != nil {
				t.Error(err)
			}
			answers <- out
		})
	}
	started.Wait()
	<-g.entered
	close(g.open)
	done.Wait()
	close(answers)
	erasures := map[string]bool{}
	for a := range answers {
		if a.Matched > 0 { // one that began when all was over finds nothing
			erasures[a.ErasureID] = true
		}
	}
	if len(erasures) != 1 || n.count(events.TypeSubjectForgotten) != 1 {
		t.Errorf("%d erasures, %d tombstones", len(erasures), n.count(events.TypeSubjectForgotten))
	}
}

// count is how many messages in the log have an event of a type.
func (n *node) count(typ string) int {
	n.Helper()
	total := 0
	for m, err := range n.Events.Follow(n.Context(), 0) {
		must(n, err)
		if m.Header.Has(map[string]bool{typ: true}) {
			total++
		}
		if m.Pending == 0 {
			break
		}
	}
	return total
}

// Two forgets of one record at a time are one tombstone with one answer.
func TestConcurrentForgetsOfARecord(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id := n.Tell("maria", "Maria plays the cello.")
	var mu sync.Mutex
	answers := map[string]bool{}
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			out, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, id)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[fmt.Sprintf("%+v", out)] = true
		})
	}
	done.Wait()
	if len(answers) != 1 || n.count(events.TypeEpisodeForgotten) != 1 {
		t.Errorf("answers %v", answers)
	}
}

// D3 of the field: all that match go, whatever their number, and no more.
func TestForgetByFilter(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	const many = 1_257
	items := make([]producers.CaptureRequest, 0, many)
	for i := range many {
		r := episode("log", "entry "+name(i))
		r.Session = "s1"
		items = append(items, r)
	}
	for chunk := range slices.Chunk(items, 1_000) {
		_, err := n.CaptureBatch(t.Context(), user("acme"), "", producers.CaptureBatchRequest{Items: chunk})
		must(t, err)
	}
	other := episode("log", "entry of another session")
	other.Session = "s2"
	left := n.TellIn("acme", other)
	r := tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "s1"}}

	dry := r
	dry.DryRun = true
	end := n.End()
	if got := n.forget("", dry); got.Matched != many || len(got.IDs) != many || got.Level != "" || n.End() != end {
		t.Errorf("dry run: %d matched, %d ids", got.Matched, len(got.IDs))
	}
	capped := r
	capped.Max = new(many - 1)
	_, err := n.Forget(t.Context(), user("acme"), "", capped)
	if in, ok := errors.AsType[*events.InputError](err); !ok || in.Code != "over_max" || in.Kind != events.Refused || n.End() != end {
		t.Errorf("over the maximum: %v", err)
	}
	capped.Max = new(many)
	got := n.forget("key", capped)
	if got.Matched != many || got.Level != tombstones.LevelDenied {
		t.Errorf("erasure %+v", got)
	}
	list, err := n.Episodes(t.Context(), user("acme"), query.EpisodesRequest{Subject: "log", WaitFor: n.End(), Limit: new(1000)})
	must(t, err)
	if len(list.Episodes) != 1 || list.Episodes[0].ID != left {
		t.Errorf("%d episodes are left", len(list.Episodes))
	}
	if diff := cmp.Diff(got, n.forget("key", capped)); diff != "" {
		t.Errorf("the same call again: %s", diff)
	}
	n.Background(n.Run)
	must(t, n.WaitShredded(t.Context()))
	got.Level = tombstones.LevelShredded
	if diff := cmp.Diff(got, n.forget("key", capped)); diff != "" {
		t.Errorf("the same call when all is over: %s", diff)
	}
	if got := n.forget("", r); got.Matched != 0 {
		t.Errorf("a new call: %+v", got)
	}
}

// Every condition of a filter, and a source.
func TestForgetFilters(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	full := episode("maria", "the red kite")
	full.Session, full.Category, full.Entities, full.OccurredAt = "s1", "hobby", []string{"Kite"}, at(day(5))
	full.Metadata = map[string]jsontext.Value{"n": jsontext.Value(`1.0`)}
	full.Source = events.Source{Kind: "mail", Ref: "a/b"}
	want := n.TellIn("acme", full)
	other := n.Tell("jonas", "another kite")
	factID := n.Promoted(fact("jonas", "kite", `"red"`, day(6), other))
	for what, tc := range map[string]struct {
		r    tombstones.ForgetRequest
		want []string
	}{
		"subject":  {tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: "maria"}}, []string{want}},
		"session":  {tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "s1"}}, []string{want}},
		"category": {tombstones.ForgetRequest{Filter: &tombstones.Filter{Categories: []string{"hobby"}}}, []string{want}},
		"entity":   {tombstones.ForgetRequest{Filter: &tombstones.Filter{Entities: []string{"Kite", "x"}}}, []string{want}},
		"metadata": {tombstones.ForgetRequest{Filter: &tombstones.Filter{Metadata: map[string]jsontext.Value{"n": jsontext.Value("1")}}}, []string{want}},
		"occurred": {tombstones.ForgetRequest{Filter: &tombstones.Filter{Occurred: &tombstones.Period{To: at(day(6))}}}, []string{want}},
		"observed": {tombstones.ForgetRequest{Filter: &tombstones.Filter{Kinds: []string{"fact"}, Occurred: &tombstones.Period{From: at(day(6))}}}, []string{factID}},
		"kind":     {tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: "jonas", Kinds: []string{"fact"}}}, []string{factID}},
		"source":   {tombstones.ForgetRequest{Source: &events.Source{Kind: "mail", Ref: "a/b"}}, []string{want}},
		"no such":  {tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: "nobody"}}, nil},
		"half":     {tombstones.ForgetRequest{Source: &events.Source{Kind: "mail", Ref: "a"}}, nil},
	} {
		tc.r.DryRun = true
		if diff := cmp.Diff(tc.want, append([]string(nil), n.forget("", tc.r).IDs...)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	n.forget("", tombstones.ForgetRequest{Source: &events.Source{Kind: "mail", Ref: "a/b"}, Reason: "the mail was recalled"})
	if n.lives(want) || !n.lives(other) {
		t.Error("not exactly the source is gone")
	}
}

func TestForgetInputErrors(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	n.Tell("maria", "Maria plays the cello.")
	const canary = "canary-7f3a"
	filter := func(f tombstones.Filter) tombstones.ForgetRequest { return tombstones.ForgetRequest{Filter: &f} }
	meta := func(key, value string) tombstones.ForgetRequest {
		return filter(tombstones.Filter{Metadata: map[string]jsontext.Value{key: jsontext.Value(value)}})
	}
	end := n.End()
	for what, tc := range map[string]struct {
		r           tombstones.ForgetRequest
		code, field string
	}{
		"nothing":          {tombstones.ForgetRequest{}, "exactly_one", "ids"},
		"two ways":         {tombstones.ForgetRequest{IDs: []string{newID()}, Filter: &tombstones.Filter{Session: "a"}}, "exactly_one", "ids"},
		"no ids":           {tombstones.ForgetRequest{IDs: []string{}}, "missing", "ids"},
		"many ids":         {tombstones.ForgetRequest{IDs: make([]string, tombstones.MaxIDs+1)}, "too_large", "ids"},
		"any id":           {tombstones.ForgetRequest{IDs: []string{"*"}}, "wildcard", "ids[0]"},
		"empty filter":     {filter(tombstones.Filter{}), "empty_filter", "filter"},
		"kinds alone":      {filter(tombstones.Filter{Kinds: []string{"fact"}}), "empty_filter", "filter"},
		"any subject":      {filter(tombstones.Filter{Subject: "*"}), "wildcard", "filter.subject"},
		"any session":      {filter(tombstones.Filter{Session: "*"}), "wildcard", "filter.session"},
		"any category":     {filter(tombstones.Filter{Categories: []string{"a", "*"}}), "wildcard", "filter.categories[1]"},
		"any entity":       {filter(tombstones.Filter{Entities: []string{"*"}}), "wildcard", "filter.entities[0]"},
		"any metadata":     {meta("a", `"*"`), "wildcard", "filter.metadata"},
		"operator":         {meta("a", `{"gt":"`+canary+`"}`), "unknown_operator", "filter.metadata"},
		"$ key":            {meta("$not", `1`), "unknown_operator", "filter.metadata"},
		"null":             {meta("a", `null`), "unknown_operator", "filter.metadata"},
		"empty key":        {meta("", `1`), "missing", "filter.metadata"},
		"bad JSON":         {meta("a", `"`+canary), "bad_type", "filter.metadata"},
		"unknown kind":     {filter(tombstones.Filter{Session: "a", Kinds: []string{canary}}), "unknown_value", "filter.kinds[0]"},
		"control":          {filter(tombstones.Filter{Subject: canary + "\x00"}), "control_character", "filter.subject"},
		"bytes":            {filter(tombstones.Filter{Subject: canary + "\xff"}), "invalid_encoding", "filter.subject"},
		"long":             {filter(tombstones.Filter{Subject: strings.Repeat("a", 257)}), "too_large", "filter.subject"},
		"empty period":     {filter(tombstones.Filter{Occurred: &tombstones.Period{}}), "missing", "filter.occurred"},
		"period backwards": {filter(tombstones.Filter{Occurred: &tombstones.Period{From: at(day(2)), To: at(day(1))}}), "not_after_from", "filter.occurred.to"},
		"negative max":     {tombstones.ForgetRequest{IDs: []string{newID()}, Max: new(-1)}, "out_of_range", "max"},
		"no source kind":   {tombstones.ForgetRequest{Source: &events.Source{Ref: "a"}}, "missing", "source.kind"},
		"no source ref":    {tombstones.ForgetRequest{Source: &events.Source{Kind: "a"}}, "missing", "source.ref"},
		"any source":       {tombstones.ForgetRequest{Source: &events.Source{Kind: "a", Ref: "*"}}, "wildcard", "source.ref"},
		"long reason":      {tombstones.ForgetRequest{IDs: []string{newID()}, Reason: strings.Repeat("a", 4097)}, "too_large", "reason"},
		"reason, bytes":    {tombstones.ForgetRequest{IDs: []string{newID()}, Reason: canary + "\xff"}, "invalid_encoding", "reason"},
	} {
		_, err := n.Forget(t.Context(), user("acme"), "", tc.r)
		in, ok := errors.AsType[*events.InputError](err)
		if !ok || in.Code != tc.code || in.Field != tc.field {
			t.Errorf("%s: %#v, want %s in %s", what, err, tc.code, tc.field)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error repeats the input", what)
		}
	}
	for what, subject := range map[string]string{"missing": "", "wildcard": "*", "control_character": "a\n", "too_large": strings.Repeat("a", 257)} {
		_, err := n.ForgetSubject(t.Context(), user("acme"), "", subject, "")
		if in, ok := errors.AsType[*events.InputError](err); !ok || in.Code != what || in.Field != "subject" {
			t.Errorf("subject %s: %v", what, err)
		}
	}
	// The rules of a key are those of every other command.
	for code, key := range map[string]string{
		"not_printable": "a\x00", "not_utf8": "a\xff", "too_large": strings.Repeat("k", events.MaxIdempotencyKey+1),
	} {
		_, err := n.ForgetRecord(t.Context(), user("acme"), key, events.KindEpisode, newID())
		if in, ok := errors.AsType[*events.InputError](err); !ok || in.Code != code || in.Field != "idempotency_key" {
			t.Errorf("key %s: %v", code, err)
		}
	}
	longest := strings.Repeat("\u20ac", events.MaxIdempotencyKey)
	if _, err := n.ForgetRecord(t.Context(), user("acme"), longest, events.KindEpisode, newID()); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("the longest key: %v", err)
	}
	// The decoder's error says which member; the doors make a problem of it.
	if err := json.Unmarshal([]byte(`{"session":"a","unknown":"`+canary+`"}`), new(tombstones.Filter)); !errors.Is(err, json.ErrUnknownName) || strings.Contains(err.Error(), canary) {
		t.Errorf("unknown condition: %v", err)
	}
	if n.End() != end {
		t.Error("something was written")
	}
}

// The same key is the same erasure; with another request it is refused.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	a, b := n.Tell("maria", "Maria plays the cello."), n.Tell("maria", "Maria swims.")
	first, err := n.ForgetRecord(t.Context(), user("acme"), "k", events.KindEpisode, a)
	must(t, err)
	again, err := n.ForgetRecord(t.Context(), user("acme"), "k", events.KindEpisode, a)
	must(t, err)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	if _, err := n.ForgetRecord(t.Context(), user("acme"), "k", events.KindEpisode, b); !errors.Is(err, events.ErrKeyReused) || !n.lives(b) {
		t.Errorf("another request: %v", err)
	}
	s, err := n.ForgetSubject(t.Context(), user("acme"), "k", "maria", "one")
	must(t, err)
	n.Tell("maria", "Someone else of that name.")
	s2, err := n.ForgetSubject(t.Context(), user("acme"), "k", "maria", "two")
	must(t, err)
	if diff := cmp.Diff(s, s2); diff != "" || s.Matched != 1 {
		t.Errorf("subject %+v: %s", s, diff)
	}
	list, err := n.Episodes(t.Context(), user("acme"), query.EpisodesRequest{Subject: "maria", WaitFor: n.End()})
	must(t, err)
	if len(list.Episodes) != 1 {
		t.Errorf("the repetition reached the new subject")
	}
}

// Views that do not follow leave the tombstone in the log; the same call
// completes it.
func TestBehind(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id := n.Tell("maria", "Maria plays the cello.")
	e, g := n.gated()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.ForgetRecord(ctx, user("acme"), "", events.KindEpisode, id); !errors.Is(err, events.ErrBehind) {
		t.Fatalf("error is %v", err)
	}
	if n.keyless(id) || n.count(events.TypeEpisodeForgotten) != 1 {
		t.Error("the saga went on, or did not begin")
	}
	close(g.open)
	out, err := e.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, id)
	must(t, err)
	if out.Level != tombstones.LevelShredded || !n.keyless(id) || n.count(events.TypeEpisodeForgotten) != 1 {
		t.Errorf("erasure %+v", out)
	}
}

// What a crash has cut off is finished at the next start, once and for all.
func TestFinishFinishesWhatWasCutOff(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id, other := n.Tell("maria", "Maria plays the cello."), n.Tell("jonas", "Jonas swims.")
	factID := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), id))
	his := n.Promoted(fact("jonas", "sport", `"swimming"`, day(2), other))
	n.Tell("zoe", "Zoe sails.")
	e, _ := n.gated()
	cut := func(forget func(context.Context) error) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := forget(ctx); !errors.Is(err, events.ErrBehind) {
			t.Fatalf("error is %v", err)
		}
	}
	cut(func(ctx context.Context) error {
		_, err := e.ForgetRecord(ctx, user("acme"), "", events.KindEpisode, id)
		return err
	})
	cut(func(ctx context.Context) error {
		_, err := e.ForgetRecord(ctx, user("acme"), "", events.KindFact, his)
		return err
	})
	sid, err := n.sid("zoe")
	must(t, err)
	tenant := n.token()
	agg := events.Aggregate{Tenant: tenant, Kind: events.KindSubject, ID: sid}
	last, err := n.Events.Last(t.Context(), agg)
	must(t, err)
	_, err = n.Events.Append(t.Context(), events.Commit{
		ID: newID(), Aggregate: agg, Time: n.Clock.Now(), Events: []events.Event{events.SubjectForgotten{Erasure: newID()}},
	}, events.Expect(last.Position))
	must(t, err)
	if n.keyless(id) || n.keyless(factID) || n.keyless(his) {
		t.Fatal("nothing was cut off")
	}
	must(t, n.Finish(t.Context()))
	if !n.keyless(id) || !n.keyless(factID) || !n.keyless(his) || n.keyless(other) {
		t.Error("not exactly what was forgotten is shredded")
	}
	if _, err := n.sid("zoe"); !errors.Is(err, seal.ErrUnknownSubject) {
		t.Errorf("the name of the forgotten subject: %v", err)
	}
	end := n.End()
	must(t, n.Finish(t.Context()))
	if n.End() != end {
		t.Error("a second run wrote something")
	}
}

// Finish on an empty log is over at once.
func TestFinishOfNothing(t *testing.T) {
	t.Parallel()
	must(t, inMemory(t).Finish(t.Context()))
}

// No tombstone holds a name, a text or the reason.
func TestTombstonesHoldNoValue(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	const canary = "canary-7f3a"
	id := n.Tell(canary, canary)
	n.Promoted(fact(canary, canary, `"`+canary+`"`, day(2), id))
	n.forget(canary, tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: canary}, Reason: canary})
	_, err := n.ForgetSubject(t.Context(), user("acme"), canary, canary, canary)
	must(t, err)
	for m, err := range n.Events.Follow(t.Context(), 0) {
		must(t, err)
		if strings.Contains(string(m.Data), canary) || strings.Contains(m.Subject, canary) || strings.Contains(m.Header.ID, canary) {
			t.Errorf("message %d holds a value", m.Position)
		}
		if m.Pending == 0 {
			break
		}
	}
}
