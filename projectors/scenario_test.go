package projectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/words"
)

// scenario is a story that a person can read: a file of commands with what each must print. Days are counted from the
// first; every commit is recorded one hour after the one before.
type scenario struct {
	*testing.T
	w        *world
	v        *running
	episodes map[string]captured
	facts    map[string]drawnFact
}

// TestScenarios runs the files in testdata/scenarios.
func TestScenarios(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		w := newWorld(t)
		w.step = time.Hour
		s := &scenario{T: t, w: w, v: start(t, w.config(vfs.NewMem())), episodes: map[string]captured{}, facts: map[string]drawnFact{}}
		defer func() { s.v.close(t) }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.T = t
			return s.run(d)
		})
		s.v.waitFor(t, w.head)
		checkViews(t, s.v.Views, w.model(t, w.head))
	})
}

func arg(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func (s *scenario) day(d *datadriven.TestData, name string) (time.Time, bool) {
	v := arg(d, name)
	if v == "" {
		return time.Time{}, false
	}
	var n int
	if _, err := fmt.Sscanf(v, "%d", &n); err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	return day(n), true
}

func (s *scenario) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "capture":
		c := s.w.capture(s, "acme", arg(d, "about"), d.Input)
		s.episodes[arg(d, "as")] = c
	case "fact":
		s.fact(d)
	case "retract":
		f := s.facts[arg(d, "fact")]
		from, _ := s.day(d, "from")
		to, _ := s.day(d, "to")
		s.onSlot(f, events.FactRetracted{Fact: f.p.Fact, Valid: between(from, to)})
	case "forget":
		s.forget(d)
	case "replay":
		s.v.waitFor(s, s.w.head)
		for _, name := range []string{Facts, Memories, Traces} {
			if _, err := s.v.Replay(s.Context(), name, nil); err != nil {
				return err.Error() + "\n"
			}
		}
	case "facts":
		return s.list(d)
	case "revisions":
		return s.revisions(d)
	case "show":
		return s.show(d)
	case "search":
		return s.search(d)
	default:
		s.Fatalf("unknown command %s", d.Cmd)
	}
	return "ok\n"
}

func (s *scenario) onSlot(f drawnFact, list ...events.Event) {
	s.w.append(s, "acme", events.KindFact, s.w.slot(s, "acme", f.p.Subject, f.predicate), list...)
}

// fact promotes a fact. Its valid time is said outright: what a policy would have made of it is no part of this package.
func (s *scenario) fact(d *datadriven.TestData) {
	from, _ := s.day(d, "from")
	var sources []captured
	for name := range strings.SplitSeq(arg(d, "source"), ",") {
		sources = append(sources, s.episodes[name])
	}
	f := drawnFact{tenant: "acme", predicate: arg(d, "predicate")}
	f.p = s.w.proposal(s, "acme", arg(d, "about"), f.predicate, arg(d, "value"), from, sources...)
	valid := since(from)
	if to, ok := s.day(d, "to"); ok {
		valid = between(from, to)
	}
	var more []events.Event
	if old := arg(d, "supersedes"); old != "" {
		o := s.facts[old]
		more = append(more, events.FactSuperseded{Fact: o.p.Fact, By: f.p.Fact, Valid: between(o.p.ObservedAt, from)})
	}
	s.w.promote(s, "acme", f.predicate, f.p, valid, more...)
	s.facts[arg(d, "as")] = f
}

func (s *scenario) forget(d *datadriven.TestData) {
	switch {
	case arg(d, "episode") != "":
		s.w.forgetEpisode(s, s.episodes[arg(d, "episode")])
	case arg(d, "fact") != "":
		f := s.facts[arg(d, "fact")]
		s.onSlot(f, events.FactForgotten{Fact: f.p.Fact, Subject: f.p.Subject, Erasure: "erasure"})
	default:
		s.w.forgetSubject(s, "acme", arg(d, "subject"))
		s.w.dead[s.w.sid(s, "acme", arg(d, "subject"))] = true
	}
}

func (s *scenario) name(id string) string {
	for name, f := range s.facts {
		if f.p.Fact == id {
			return name
		}
	}
	for name, c := range s.episodes {
		if c.id == id {
			return name
		}
	}
	return id
}

// value opens a fact as a reader does.
func (s *scenario) value(row *FactRow) string {
	plain, err := s.w.keys.Open(s.Context(), seal.Scope{Tenant: row.Tenant, Subject: row.Subject, Class: row.Class},
		seal.Label{Aggregate: string(events.KindFact), Record: row.Fact, EventType: events.TypeFactProposed}, row.Content)
	if err != nil {
		return "(sealed)"
	}
	var c events.FactContent
	if err := json.Unmarshal(plain, &c); err != nil {
		s.Fatalf("content: %v", err)
	}
	return c.Predicate + " = " + string(c.Value)
}

func days(valid []events.Interval) string {
	var parts []string
	n := func(t time.Time) string {
		if t.IsZero() {
			return "…"
		}
		return fmt.Sprintf("day %d", int(t.Sub(day(0)).Hours()/24))
	}
	for _, iv := range valid {
		parts = append(parts, n(iv.From)+" to "+n(iv.To))
	}
	if parts == nil {
		return "never"
	}
	return strings.Join(parts, ", ")
}

func (s *scenario) list(d *datadriven.TestData) string {
	s.v.waitFor(s, s.w.head)
	snap := snapshot(s, s.v.Views)
	defer closeSnapshot(s, snap)
	f := FactFilter{Subject: s.w.sid(s, "acme", arg(d, "about")), Now: day(100), History: arg(d, "history") != ""}
	if at, ok := s.day(d, "as-of"); ok {
		f.ValidAt = &at
	}
	if n := arg(d, "known-at-hour"); n != "" {
		var h int
		if _, err := fmt.Sscanf(n, "%d", &h); err != nil {
			s.Fatalf("hour: %v", err)
		}
		known := epoch().Add(time.Duration(h) * time.Hour)
		f.KnownAt = &known
	}
	rows, _, err := snap.Facts(s.w.tenant(s, "acme").Token(), f)
	if err != nil {
		return err.Error() + "\n"
	}
	var lines []string
	for i := range rows {
		lines = append(lines, fmt.Sprintf("%s: %s, %s, true %s", s.name(rows[i].Fact), s.value(&rows[i].FactRow), rows[i].Status, days(rows[i].Valid)))
	}
	slices.Sort(lines)
	return printed(lines)
}

func printed(lines []string) string {
	if len(lines) == 0 {
		return "nothing\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *scenario) revisions(d *datadriven.TestData) string {
	s.v.waitFor(s, s.w.head)
	snap := snapshot(s, s.v.Views)
	defer closeSnapshot(s, snap)
	list, err := snap.SlotRevisions(s.w.tenant(s, "acme").Token(), s.w.slot(s, "acme", s.w.sid(s, "acme", arg(d, "about")), arg(d, "predicate")))
	if err != nil {
		return err.Error() + "\n"
	}
	var lines []string
	hour := func(t time.Time) string {
		if t.IsZero() {
			return "…"
		}
		return fmt.Sprintf("hour %d", int(t.Sub(epoch()).Hours()))
	}
	for _, r := range list {
		lines = append(lines, fmt.Sprintf("known %s to %s: %s %s, true %s", hour(r.RecordedFrom), hour(r.RecordedTo), s.name(r.Fact), r.Status, days(r.Valid)))
	}
	return printed(lines)
}

func (s *scenario) show(d *datadriven.TestData) string {
	s.v.waitFor(s, s.w.head)
	snap := snapshot(s, s.v.Views)
	defer closeSnapshot(s, snap)
	tenant := s.w.tenant(s, "acme").Token()
	if name := arg(d, "episode"); name != "" {
		row, err := snap.Episode(tenant, s.episodes[name].id)
		switch {
		case errors.Is(err, events.ErrNotFound):
			return "not found\n"
		case err != nil:
			return err.Error() + "\n"
		case row.Forgotten:
			return fmt.Sprintf("forgotten, %d bytes of content\n", len(row.Content))
		}
		return fmt.Sprintf("there, %v bytes of content\n", len(row.Content) > 0)
	}
	row, err := snap.Fact(tenant, s.facts[arg(d, "fact")].p.Fact)
	switch {
	case errors.Is(err, events.ErrNotFound):
		return "not found\n"
	case err != nil:
		return err.Error() + "\n"
	}
	return fmt.Sprintf("%s, content %v\n", row.Status, len(row.Content) > 0)
}

func (s *scenario) search(d *datadriven.TestData) string {
	s.v.waitFor(s, s.w.head)
	snap := snapshot(s, s.v.Views)
	defer closeSnapshot(s, snap)
	tn := s.w.tenant(s, "acme")
	q := index.Query{Filter: index.Filter{Tenant: tn.Token()}, K: 10}
	for _, term := range words.Terms(arg(d, "for")) {
		q.Terms = append(q.Terms, words.Key(tn.TermKey(), term))
	}
	c, err := snap.Candidates(context.Background(), q)
	if err != nil {
		return err.Error() + "\n"
	}
	var lines []string
	for _, h := range c.Lexical {
		lines = append(lines, h.Kind.String()+" "+s.name(h.ID))
	}
	slices.Sort(lines)
	return printed(lines)
}
