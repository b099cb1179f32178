package producers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/guard"
	"github.com/annals-memory/annals/producers/policy"
)

func BenchmarkCapture(b *testing.B) {
	text := strings.Repeat("a sentence of an episode. ", 20)
	for name, open := range stores() {
		for _, keyed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/keyed=%t", name, keyed), func(b *testing.B) {
				f := open(b).open(b)
				f.capture("maria", "first sight")
				who, r := user("acme"), episode("maria", text)
				r.Session, r.Entities = "s1", []string{"Rome"}
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					key := ""
					if keyed {
						i++
						key = fmt.Sprintf("key %d", i)
					}
					if _, err := f.Capture(b.Context(), who, key, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// The parts of a capture that are not this package's.
func BenchmarkCaptureFloor(b *testing.B) {
	s := onNATS(b)
	f := s.open(b)
	id := f.capture("maria", strings.Repeat("a sentence of an episode. ", 20))
	rec := f.last(events.KindEpisode, id)
	subject := f.last(events.KindSubject, subjectOf(f, id)).Aggregate
	b.Run("last", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.log.Last(b.Context(), subject); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			c := rec.Commit
			c.ID = newID()
			c.Aggregate.ID = c.ID
			if _, err := s.log.Append(b.Context(), c, events.ExpectNew); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("key", func(b *testing.B) {
		scope := f.tenant().Scope(subjectOf(f, id), "general")
		for b.Loop() {
			if _, _, err := f.keys.CreateRecord(b.Context(), scope, newID(), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCaptureBatch(b *testing.B) {
	for name, open := range stores() {
		b.Run(name, func(b *testing.B) {
			f := open(b).open(b)
			req := producers.CaptureBatchRequest{Items: items(producers.MaxItems)}
			for b.Loop() {
				if _, err := f.CaptureBatch(b.Context(), user("acme"), "", req); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*producers.MaxItems/b.Elapsed().Seconds(), "episodes/s")
		})
	}
}

func BenchmarkPropose(b *testing.B) {
	for name, open := range stores() {
		b.Run(name, func(b *testing.B) {
			f := open(b).open(b)
			e := f.capture("maria", "moved")
			i := 0
			for b.Loop() {
				i++
				r := claim(`"Rome"`, day(3), e)
				r.Predicate = fmt.Sprintf("predicate %d", i)
				if _, err := f.Propose(b.Context(), user("acme"), "", r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlace(b *testing.B) {
	var k book
	for i := 1; i <= 30; i++ {
		k.place(observation{value: fmt.Sprint(i), observed: i})
	}
	c := producers.Claim{From: day(12), ObservedAt: day(12), Trust: events.TrustUser, Equal: func(string) bool { return false }}
	for b.Loop() {
		producers.Place(&k.slot, c)
	}
}

// A recall, and a report on one that 5,000 others followed.
func BenchmarkTraces(b *testing.B) {
	for name, open := range stores() {
		f := open(b).open(b)
		who, e := user("acme"), f.capture("maria", "moved")
		recall := producers.Recall{Subject: subjectOf(f, e), Query: "where does she live?", Memories: []string{e, e, e, e, e}}
		trace, _, err := f.RecordRecall(b.Context(), who, recall)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/recall", func(b *testing.B) {
			for b.Loop() {
				if _, _, err := f.RecordRecall(b.Context(), who, recall); err != nil {
					b.Fatal(err)
				}
			}
		})
		for range 5_000 {
			if _, _, err := f.RecordRecall(b.Context(), who, recall); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name+"/report", func(b *testing.B) {
			for b.Loop() {
				if _, err := f.UseTrace(b.Context(), who, "", trace, producers.UseRequest{MemoryIDs: []string{e}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A decision without what it waits for: the scan of the value, the gates, the rules
// of the built-in policy and the place among the facts of a slot. The slowest of a
// hundred is reported too.
func BenchmarkDecide(b *testing.B) {
	scanner, by := guard.Default(), policy.Default()
	for name, tt := range map[string]struct{ facts, sources, value int }{
		"usual": {3, 1, 60}, "long": {20, 8, 4 << 10}, "large": {100, 64, 4 << 10},
	} {
		b.Run(name, func(b *testing.B) {
			var slot events.Slot
			for i := range tt.facts {
				f := &events.SlotFact{Status: events.StatusActive, Valid: []events.Interval{{From: day(i), To: day(i + 1)}}}
				f.Fact, f.Trust, f.ObservedAt, f.ValidTo = fmt.Sprint(i), events.TrustUser, day(i), day(i+1)
				slot.Facts = append(slot.Facts, f)
			}
			evidence := make([]producers.Evidence, tt.sources)
			for i := range evidence {
				evidence[i] = src(func(e *producers.Evidence) { e.Ref.Episode = fmt.Sprint("e", i) })
			}
			c := caseOf(events.TrustUser, evidence...)
			c.Candidate.ObservedAt = day(tt.facts + 1)
			value := "city\n" + strings.Repeat("She has lived in Rome ever since. ", 1+tt.value/34)
			took := make([]time.Duration, 0, 1<<16)
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				c.Basis.Guard = scanner.Scan(value)
				list := producers.Decide(&slot, c, never, by)
				took = append(took, time.Since(began))
				if decided(list).Decision != events.DecisionPromote {
					b.Fatal(list[0])
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns/op")
		})
	}
}
