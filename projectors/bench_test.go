package projectors

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
)

// tape is a log of messages that are in memory already.
type tape struct{ messages []events.Message }

func (t tape) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for _, m := range t.messages[after:] {
			if !yield(m, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

func (t tape) State(context.Context) (events.State, error) {
	n := uint64(len(t.messages))
	return events.State{Identity: "tape", First: 1, Last: n, Messages: n}, nil
}

func (t tape) MessageAt(_ context.Context, p uint64) (events.Message, error) {
	if p == 0 || p > uint64(len(t.messages)) {
		return events.Message{}, events.ErrNoCommits
	}
	return t.messages[p-1], nil
}

// mixed makes n commits of which every third is one of a fact slot: half of those begin a slot, the others supersede.
func mixed(tb testing.TB, w *world, n int) []events.Message {
	tb.Helper()
	tenant := w.tenant(tb, "acme").Token()
	hash := w.tenant(tb, "acme").Hash
	content := bytes.Repeat([]byte("s"), 512)
	var last events.FactProposed
	list := make([]events.Message, n)
	for i := range n {
		id := fmt.Sprintf("019a0000-0000-7000-8000-%012d", i)
		sid := hash("subject", fmt.Sprint(i%1_000))
		a := events.Aggregate{Tenant: tenant, Kind: events.KindEpisode, ID: id}
		var evs []events.Event
		switch i % 3 {
		case 0:
			p := events.FactProposed{
				Fact: id, Subject: sid, Class: hash("category", "c"), Predicate: hash("predicate", "p"), Category: hash("category", "c"),
				Confidence: 0.97, Trust: events.TrustUser, ObservedAt: day(i % 365), Content: content,
				Sources: []events.SourceRef{{Episode: id, Subject: sid}},
			}
			slot := hash("slot", id)
			evs = []events.Event{
				p,
				events.FactDecided{Fact: id, Decision: events.DecisionPromote, Into: id, Gates: []events.Gate{
					{Gate: "identity", Outcome: events.DecisionPromote, Reason: "ok"},
					{Gate: "confidence", Outcome: events.DecisionPromote, Reason: "ok"},
				}, Policy: events.PolicyRef{Name: "default", Version: 1, Hash: hash("policy", "")}},
				events.FactPromoted{Fact: id, Valid: since(day(i % 365))},
			}
			if i%6 == 3 {
				p.Subject, slot = last.Subject, hash("slot", last.Fact)
				evs[0] = p
				evs = append(evs, events.FactSuperseded{Fact: last.Fact, By: id, Valid: between(day(0), day(1))})
			}
			last = p
			a = events.Aggregate{Tenant: tenant, Kind: events.KindFact, ID: slot}
		default:
			evs = []events.Event{events.EpisodeCaptured{Subject: sid, Class: hash("category", "c"), OccurredAt: day(1), Trust: events.TrustUser, Content: content}}
		}
		m, err := events.Encode(events.Commit{ID: id, Aggregate: a, Time: epoch(), Principal: "principal-a", Events: evs})
		if err != nil {
			tb.Fatal(err)
		}
		m.Position, m.RecordedAt, m.Pending = uint64(i)+1, epoch(), uint64(n-i-1)
		list[i] = m
	}
	return list
}

// BenchmarkFactsReplay builds the facts from a log of which a third are commits of fact slots.
func BenchmarkFactsReplay(b *testing.B) {
	w := newWorld(b)
	const n = 60_000
	log := tape{messages: mixed(b, w, n)}
	b.Run("memory", func(b *testing.B) { replayFacts(b, w, log, n) })
	b.Run("nats", func(b *testing.B) {
		nats := serve(b)
		fill(b, nats, log.messages)
		b.Run("consumer", func(b *testing.B) {
			for b.Loop() {
				for m, err := range nats.Follow(b.Context(), 0) {
					if err != nil {
						b.Fatal(err)
					}
					if m.Pending == 0 {
						break
					}
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "messages/s")
		})
		b.Run("facts", func(b *testing.B) { replayFacts(b, w, nats, n) })
	})
}

func replayFacts(b *testing.B, w *world, log events.Follower, n int) {
	b.Helper()
	cfg := w.config(vfs.Default)
	cfg.Log, cfg.CacheBytes = log, 64<<20
	if err := cfg.complete(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cfg.Dir = b.TempDir()
		v := &Views{cfg: cfg, cache: newCache(&cfg)}
		l, err := openLane(&v.cfg, factsSpec(), v.cache)
		if err != nil {
			b.Fatal(err)
		}
		v.lanes = []*lane{l}
		r := follow(v)
		r.waitFor(b, uint64(n))
		b.StopTimer()
		r.close(b)
		b.StartTimer()
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(n*b.N), "us/message")
}

// serve starts an embedded log.
func serve(tb testing.TB) *natslog.Log {
	tb.Helper()
	srv, err := natslog.StartServer(tb.Context(), natslog.Options{Dir: tb.TempDir(), Durability: natslog.DurabilityProcess})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	nc, err := srv.Connect(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	s, err := natslog.Open(tb.Context(), nc, natslog.Config{CreateStreams: true})
	if err != nil {
		tb.Fatal(err)
	}
	return s.Log()
}

// fill appends the commits of a tape to an empty log.
func fill(tb testing.TB, log events.Log, messages []events.Message) {
	tb.Helper()
	last := map[events.Aggregate]uint64{}
	for i := range messages {
		rec, err := events.Decode(messages[i])
		if err != nil {
			tb.Fatal(err)
		}
		ack, err := log.Append(tb.Context(), rec.Commit, events.Expect(last[rec.Aggregate]))
		if err != nil {
			tb.Fatal(err)
		}
		last[rec.Aggregate] = ack.Position
	}
}
