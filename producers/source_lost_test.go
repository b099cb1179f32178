package producers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// A source that is forgotten before its forget could find the fact takes the
// fact with it, unless it has another; then the fact is rejected.
func TestSourceForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		forget func(f *fixture, source string)
		extra  bool
		equal  bool
		want   events.FactStatus
	}{
		"the only source":        {func(f *fixture, s string) { f.forgetEpisode(s) }, false, false, events.StatusDeleted},
		"one of two":             {func(f *fixture, s string) { f.forgetEpisode(s) }, true, false, events.StatusRejected},
		"the source's subject":   {func(f *fixture, _ string) { f.forgetSubject("jon") }, false, false, events.StatusDeleted},
		"added to an equal fact": {func(f *fixture, s string) { f.forgetEpisode(s) }, false, true, events.StatusDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, s store) {
				plain := s.open(t)
				log := &faultyLog{Log: s.log, kind: events.KindFact}
				f := s.openOn(t, log, s.rows)
				subject := "maria"
				if strings.Contains(name, "subject") {
					subject = "jon"
				}
				source, other := plain.capture(subject, "one"), plain.capture("maria", "two")
				r := claim(`"Rome"`, day(3), source)
				r.Confidence = new(1.0)
				if tt.extra {
					r.SourceEpisodes = append(r.SourceEpisodes, other)
				}
				var kept string
				if tt.equal {
					kept = plain.propose(claim(`"Rome"`, day(2), other)).FactID
				}
				log.before = func() error { tt.forget(plain, source); return nil }
				p, err := f.Propose(t.Context(), user("acme"), "", r)
				if err != nil {
					t.Fatal(err)
				}
				slot := f.slot()
				fact := slot.Find(p.CandidateID)
				// A source about somebody else waits for a review, and goes all the same.
				if want := tt.want; fact.Status != want {
					t.Errorf("fact is %s, want %s", fact.Status, want)
				}
				for _, src := range fact.Sources {
					if src.Episode == source {
						t.Error("the forgotten source is still there")
					}
				}
				_, err = f.keys.Record(t.Context(), f.tenant().Token(), p.CandidateID)
				if gone := errors.Is(err, seal.ErrKeyDestroyed); gone != (tt.want == events.StatusDeleted) {
					t.Errorf("key destroyed: %t", gone)
				}
				if slot.Position != p.Position {
					t.Errorf("answer at %d, slot at %d", p.Position, slot.Position)
				}
				if tt.equal {
					if k := slot.Find(kept); k.Status != events.StatusActive || len(k.Sources) != 1 {
						t.Errorf("%+v", k)
					}
				}
			})
		})
	}
}

// A forget that finds the candidate in the log before it is decided is seen by
// the decision.
func TestSourceForgottenWhileUndecided(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		extra, equal bool
		want         events.FactStatus
	}{
		"the only source":        {false, false, events.StatusDeleted},
		"one of two":             {true, false, events.StatusRejected},
		"added to an equal fact": {true, true, events.StatusRejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, s store) {
				plain := s.open(t)
				log := &faultyLog{Log: s.log, kind: events.KindFact}
				f := s.openOn(t, log, s.rows)
				source, other := plain.capture("maria", "one"), plain.capture("maria", "two")
				r := claim(`"Rome"`, day(3), source)
				if tt.extra {
					r.SourceEpisodes = append(r.SourceEpisodes, other)
				}
				var kept string
				if tt.equal {
					kept = plain.propose(claim(`"Rome"`, day(2), other)).FactID
				}
				log.before = log.second(&log.before, func() error {
					plain.forgetEpisode(source)
					plain.loseSource(source)
					return nil
				})
				_, err := f.Propose(t.Context(), user("acme"), "", r)
				if tt.want == events.StatusDeleted != errors.Is(err, events.ErrForgotten) || tt.want != events.StatusDeleted && err != nil {
					t.Fatal(err)
				}
				facts := f.slot().Facts
				if c := facts[len(facts)-1]; c.Status != tt.want || slices.ContainsFunc(c.Sources, func(src events.SourceRef) bool {
					return src.Episode == source
				}) {
					t.Errorf("%+v, want %s", c, tt.want)
				}
				if tt.equal {
					if k := f.slot().Find(kept); k.Status != events.StatusActive || len(k.Sources) != 1 {
						t.Errorf("%+v", k)
					}
				}
			})
		})
	}
}

// The neighbour that nothing is changed for: the control of the tests above.
func TestSourceKept(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	p := f.propose(claim(`"Rome"`, day(3), f.capture("maria", "one")))
	if fact := f.slot().Find(p.FactID); fact.Status != events.StatusActive || len(fact.Sources) != 1 {
		t.Errorf("%+v", fact)
	}
}

// A caller that gives up right after its fact is in the log does not keep the
// fact from losing a source that was forgotten meanwhile.
func TestSourceForgottenAndCallerGone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		plain := s.open(t)
		log := &faultyLog{Log: s.log, kind: events.KindFact}
		f := s.openOn(t, log, s.rows)
		r := claim(`"Rome"`, day(3), plain.capture("maria", "one"))
		ctx, cancel := context.WithCancel(t.Context())
		log.before = func() error { plain.forgetEpisode(r.SourceEpisodes[0]); return nil }
		log.after = func() error { cancel(); return nil }
		p, err := f.Propose(ctx, user("acme"), "", r)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.slot().Find(p.CandidateID); got == nil || got.Status != events.StatusDeleted {
			t.Errorf("fact is %+v", got)
		}
	})
}
