package producers_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/policy"
)

// observation is one candidate of a placement story: days of January.
type observation struct {
	value    string
	from, to int // from 0: when it was observed
	observed int
	trust    events.Trust // 0: user
}

// book is a slot that candidates are placed into, as commits do it.
type book struct {
	by     producers.Evaluator
	slot   events.Slot
	values map[string]string
}

// place decides on an observation and folds the decision; the reason of the
// conflict gate is returned.
func (b *book) place(o observation) string {
	if b.values == nil {
		b.values = map[string]string{}
	}
	id := fmt.Sprintf("f%d", len(b.values)+1)
	trust := o.trust
	if trust == 0 {
		trust = events.TrustUser
	}
	f := events.FactProposed{Fact: id, Subject: "s", Confidence: 1, Trust: trust, ObservedAt: day(o.observed)}
	if o.from != 0 {
		f.ValidFrom = day(o.from)
	}
	if o.to != 0 {
		f.ValidTo = day(o.to)
	}
	evidence := []producers.Evidence{{
		Ref: events.SourceRef{Episode: "e" + id, Subject: "s"}, Found: true, Trust: events.TrustSystem,
	}}
	equal := func(other string) bool { return b.values[other] == o.value }
	f = producers.Supported(f, evidence, 0)
	b.fold(f)
	c := producers.Case{Candidate: f, Basis: events.Basis{Evidence: producers.EvidenceBasis("s", evidence), At: start()}}
	list := producers.Decide(&b.slot, c, equal, b.policy())
	b.values[id] = o.value
	b.fold(list...)
	for _, e := range list {
		if d, ok := e.(events.FactDecided); ok {
			return d.Gates[len(d.Gates)-1].Reason
		}
	}
	return ""
}

// policy is the built-in one, compiled once.
func (b *book) policy() producers.Evaluator {
	if b.by == nil {
		b.by = policy.Default()
	}
	return b.by
}

func (b *book) fold(list ...events.Event) {
	b.slot.Apply(events.Recorded{
		Commit: events.Commit{Events: list}, Position: b.slot.Position + 1, RecordedAt: day(31),
	})
}

// valueAt is what an as-of question at a day is answered with.
func (b *book) valueAt(d int) string {
	if f := b.slot.At(day(d)); f != nil {
		return b.values[f.Fact]
	}
	return ""
}

// timeline is the value of each day from 1 to 20, a dot for none.
func (b *book) timeline() string {
	out := ""
	for d := 1; d <= 20; d++ {
		v := b.valueAt(d)
		if v == "" {
			v = "."
		}
		out += v
	}
	return out
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		story   []observation
		want    string // days 1 to 20
		reasons []string
	}{
		"first": {
			[]observation{{value: "a", observed: 5}}, "....aaaaaaaaaaaaaaaa", []string{"no_conflict"},
		},
		"later supersedes": {
			[]observation{{value: "a", observed: 5}, {value: "b", observed: 10}},
			"....aaaaabbbbbbbbbbb",
			[]string{"no_conflict", "supersedes"},
		},
		"older ends at the next start": {
			[]observation{{value: "b", observed: 10}, {value: "a", observed: 5}},
			"....aaaaabbbbbbbbbbb",
			[]string{"no_conflict", "no_conflict"},
		},
		"between two": {
			[]observation{{value: "a", observed: 2}, {value: "c", observed: 10}, {value: "b", observed: 6}},
			".aaaabbbbccccccccccc",
			[]string{"no_conflict", "supersedes", "supersedes"},
		},
		"valid from before": {
			[]observation{{value: "a", observed: 5}, {value: "b", from: 2, observed: 10}},
			".bbbaaaaaaaaaaaaaaaa",
			[]string{"no_conflict", "no_conflict"},
		},
		"own stretch": {
			[]observation{{value: "a", observed: 2}, {value: "b", from: 5, to: 8, observed: 9}},
			".aaabbbaaaaaaaaaaaaa",
			[]string{"no_conflict", "supersedes"},
		},
		"history that is over": {
			[]observation{{value: "a", observed: 10}, {value: "b", from: 3, to: 6, observed: 11}},
			"..bbb....aaaaaaaaaaa",
			[]string{"no_conflict", "no_conflict"},
		},
		"around a later stretch": {
			[]observation{{value: "b", from: 5, to: 8, observed: 9}, {value: "a", observed: 2}},
			".aaabbbaaaaaaaaaaaaa",
			[]string{"no_conflict", "no_conflict"},
		},
		"older observation stays before the newer one's": {
			[]observation{{value: "a", from: 2, observed: 12}, {value: "b", from: 5, observed: 8}},
			".aaabbbbbbbaaaaaaaaa",
			[]string{"no_conflict", "supersedes"},
		},
		"older observation of the same start": {
			[]observation{{value: "a", from: 5, observed: 12}, {value: "b", from: 5, observed: 8}},
			"....aaaaaaaaaaaaaaaa",
			[]string{"no_conflict", "history_only"},
		},
		"newer observation of the same start": {
			[]observation{{value: "a", from: 5, observed: 8}, {value: "b", from: 5, observed: 12}},
			"....bbbbbbbbbbbbbbbb",
			[]string{"no_conflict", "supersedes"},
		},
		"same start and observation": {
			[]observation{{value: "a", observed: 5}, {value: "b", observed: 5}},
			"....aaaaaaaaaaaaaaaa",
			[]string{"no_conflict", "undecidable"},
		},
		"same start and observation, higher trust": {
			[]observation{{value: "a", observed: 5}, {value: "b", observed: 5, trust: events.TrustHuman}},
			"....bbbbbbbbbbbbbbbb",
			[]string{"no_conflict", "supersedes"},
		},
		"lower trust": {
			[]observation{{value: "a", observed: 5}, {value: "b", observed: 10, trust: events.TrustAgent}},
			"....aaaaaaaaaaaaaaaa",
			[]string{"no_conflict", "lower_trust"},
		},
		"lower trust takes nothing from anyone": {
			[]observation{{value: "a", observed: 10}, {value: "b", observed: 5, trust: events.TrustAgent}},
			"....bbbbbaaaaaaaaaaa",
			[]string{"no_conflict", "no_conflict"},
		},
		"equal": {
			[]observation{{value: "a", observed: 5}, {value: "a", observed: 10}},
			"....aaaaaaaaaaaaaaaa",
			[]string{"no_conflict", "equal_value"},
		},
		"equal to a later neighbour": {
			[]observation{{value: "a", observed: 10}, {value: "a", observed: 5}},
			"....aaaaaaaaaaaaaaaa",
			[]string{"no_conflict", "no_conflict"},
		},
		"equal, then one between": {
			[]observation{{value: "a", observed: 2}, {value: "a", observed: 10}, {value: "b", observed: 6}},
			".aaaabbbbaaaaaaaaaaa",
			[]string{"no_conflict", "equal_value", "supersedes"},
		},
		"equal with lower trust does not shield": {
			[]observation{
				{value: "a", observed: 2},
				{value: "a", observed: 10, trust: events.TrustAgent},
				{value: "b", observed: 6},
			},
			".aaaabbbbbbbbbbbbbbb",
			[]string{"no_conflict", "equal_value", "supersedes"},
		},
		"equal stretch beyond the end": {
			[]observation{{value: "a", from: 2, to: 5, observed: 6}, {value: "a", from: 3, to: 9, observed: 10}},
			".aaaaaaa............",
			[]string{"no_conflict", "no_conflict"},
		},
		"equal stretch inside": {
			[]observation{{value: "a", observed: 2}, {value: "a", from: 3, to: 9, observed: 10}},
			".aaaaaaaaaaaaaaaaaaa",
			[]string{"no_conflict", "equal_value"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b book
			var reasons []string
			for _, o := range tt.story {
				reasons = append(reasons, b.place(o))
				disjoint(t, &b.slot)
			}
			if got := b.timeline(); got != tt.want {
				t.Errorf("timeline\n%s, want\n%s", got, tt.want)
			}
			if diff := cmp.Diff(tt.reasons, reasons); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A retracted fact does not come back because its old observation does.
func TestRetractedStaysRetracted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		again observation
		want  string
	}{
		"same again":          {observation{value: "a", observed: 3}, ".aaaaaaa............"},
		"earlier observation": {observation{value: "a", from: 1, observed: 2}, "aaaaaaaa............"},
		"with an end":         {observation{value: "a", from: 3, to: 15, observed: 4}, ".aaaaaaa............"},
		"future":              {observation{value: "a", from: 10, observed: 4}, ".aaaaaaa............"},
		"observed after":      {observation{value: "a", observed: 12}, ".aaaaaaa...aaaaaaaaa"},
		"another value":       {observation{value: "b", observed: 4}, ".aabbbbbbbbbbbbbbbbb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b book
			b.place(observation{value: "a", observed: 2})
			b.fold(events.FactRetracted{Fact: "f1", Valid: []events.Interval{{From: day(2), To: day(9)}}})
			b.place(tt.again)
			if got := b.timeline(); got != tt.want {
				t.Errorf("timeline\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// disjoint checks the invariant of the slot.
func disjoint(t fataler, s *events.Slot) {
	t.Helper()
	var all []events.Interval
	for _, f := range s.Facts {
		for i, iv := range f.Valid {
			if !iv.To.IsZero() && !iv.From.Before(iv.To) {
				t.Fatalf("fact %s: empty interval %v", f.Fact, iv)
			}
			if i > 0 && (f.Valid[i-1].To.IsZero() || iv.From.Before(f.Valid[i-1].To)) {
				t.Fatalf("fact %s: intervals not ascending", f.Fact)
			}
			for _, other := range all {
				if (other.To.IsZero() || iv.From.Before(other.To)) && (iv.To.IsZero() || other.From.Before(iv.To)) {
					t.Fatalf("fact %s: %v overlaps %v", f.Fact, iv, other)
				}
			}
		}
		all = append(all, f.Valid...)
	}
}

func drawObservation(t *rapid.T) observation {
	o := observation{
		value:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value"),
		observed: rapid.IntRange(1, 20).Draw(t, "observed"),
		trust:    rapid.SampledFrom([]events.Trust{0, 0, 0, events.TrustAgent, events.TrustHuman}).Draw(t, "trust"),
	}
	if rapid.Bool().Draw(t, "has from") {
		o.from = rapid.IntRange(1, 20).Draw(t, "from")
	}
	if rapid.Bool().Draw(t, "has to") {
		o.to = max(o.from, o.observed) + rapid.IntRange(1, 10).Draw(t, "to")
		if o.from != 0 {
			o.to = o.from + rapid.IntRange(1, 10).Draw(t, "to")
		}
	}
	return o
}

// Whatever is placed in whatever order, at most one fact is true at any time.
func TestPlacementIsDisjoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b book
		for _, o := range rapid.SliceOfN(rapid.Custom(drawObservation), 1, 12).Draw(t, "story") {
			before := snapshot(&b.slot)
			reason := b.place(o)
			disjoint(t, &b.slot)
			after := snapshot(&b.slot)
			delete(after, fmt.Sprintf("f%d", len(b.values)))
			if reason != producers.ReasonSupersedes && !maps.EqualFunc(before, after, slices.Equal) {
				t.Fatalf("%s changed another fact", reason)
			}
			if rapid.IntRange(0, 5).Draw(t, "retract") == 0 {
				f := b.slot.Facts[rapid.IntRange(0, len(b.slot.Facts)-1).Draw(t, "which")]
				if f.Status == events.StatusActive || f.Status == events.StatusSuperseded {
					b.fold(events.FactRetracted{Fact: f.Fact, Valid: cutAt(f.Valid, day(15))})
				}
			}
		}
	})
}

// cutAt is what a retraction at t leaves.
func cutAt(valid []events.Interval, t time.Time) []events.Interval {
	var out []events.Interval
	for _, iv := range valid {
		if !iv.From.Before(t) {
			continue
		}
		if iv.To.IsZero() || iv.To.After(t) {
			iv.To = t
		}
		out = append(out, iv)
	}
	return out
}

func snapshot(s *events.Slot) map[string][]events.Interval {
	out := map[string][]events.Interval{}
	for _, f := range s.Facts {
		out[f.Fact] = slices.Clone(f.Valid)
	}
	return out
}

// The order in which observations arrive is not seen in any as-of answer, as
// long as each is true from when it was observed: at any instant the value is
// that of the last observation before it.
func TestPlacementInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SliceOfNDistinct(rapid.IntRange(1, 20), 1, 12, rapid.ID[int]).Draw(t, "days")
		story := make([]observation, 0, len(days))
		want := map[int]string{}
		for _, d := range days {
			v := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value")
			story, want[d] = append(story, observation{value: v, observed: d}), v
		}
		if rapid.Bool().Draw(t, "repeat one") {
			story = append(story, story[rapid.IntRange(0, len(story)-1).Draw(t, "which")])
		}
		story = rapid.Permutation(story).Draw(t, "order")
		var b book
		for _, o := range story {
			b.place(o)
		}
		current := ""
		for d := 1; d <= 20; d++ {
			if v, ok := want[d]; ok {
				current = v
			}
			if got := b.valueAt(d); got != current {
				t.Fatalf("day %d: %q, want %q", d, got, current)
			}
		}
	})
}

// With one time of observation for all, which is how a table of dated facts is
// imported, the order is not seen either.
func TestPlacementOfDatedFactsInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SliceOfNDistinct(rapid.IntRange(1, 20), 1, 12, rapid.ID[int]).Draw(t, "days")
		// All at once, or each a day after the one imported before it.
		step := rapid.IntRange(0, 1).Draw(t, "step")
		var b book
		want := map[int]string{}
		for i, d := range days {
			v := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value")
			want[d] = v
			b.place(observation{value: v, from: d, observed: 25 + i*step})
		}
		current := ""
		for d := 1; d <= 20; d++ {
			if v, ok := want[d]; ok {
				current = v
			}
			if got := b.valueAt(d); got != current {
				t.Fatalf("day %d: %q, want %q", d, got, current)
			}
		}
	})
}

// A candidate of lower trust never takes time from a fact of higher trust.
func TestPlacementKeepsTrust(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b book
		for _, o := range rapid.SliceOfN(rapid.Custom(drawObservation), 1, 10).Draw(t, "story") {
			before := snapshot(&b.slot)
			b.place(o)
			last := b.slot.Facts[len(b.slot.Facts)-1]
			for _, f := range b.slot.Facts[:len(b.slot.Facts)-1] {
				if f.Trust > last.Trust && !slices.Equal(before[f.Fact], f.Valid) {
					t.Fatalf("%s of trust %s lost time to trust %s", f.Fact, f.Trust, last.Trust)
				}
			}
		}
	})
}

func TestPlaceKeepsItsInput(t *testing.T) {
	t.Parallel()
	var b book
	b.place(observation{value: "a", observed: 2})
	before := snapshot(&b.slot)
	p := producers.Place(&b.slot, producers.Claim{
		From: day(5), To: day(7), ObservedAt: day(9), Trust: events.TrustUser, Equal: func(string) bool { return false },
	})
	want := producers.Placement{
		Reason: producers.ReasonSupersedes, Valid: []events.Interval{{From: day(5), To: day(7)}},
		Changed: []producers.Change{{Fact: "f1", Valid: []events.Interval{{From: day(2), To: day(5)}, {From: day(7)}}}},
	}
	if diff := cmp.Diff(want, p, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Error(diff)
	}
	if !maps.EqualFunc(before, snapshot(&b.slot), slices.Equal) {
		t.Error("Place changed the slot")
	}
}
