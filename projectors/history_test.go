package projectors

import (
	"context"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
)

// history draws what several tenants do to one log.
type history struct {
	*rapid.T
	w        *world
	episodes []captured
	facts    []drawnFact
	traces   []string
}

type drawnFact struct {
	tenant, predicate string
	p                 events.FactProposed
}

func (h *history) tenant() string {
	return rapid.SampledFrom([]string{"acme", "acme-corp"}).Draw(h.T, "tenant")
}

func (h *history) subject() string {
	return rapid.SampledFrom([]string{"anna", "ben", "anna b"}).Draw(h.T, "subject")
}

func (h *history) predicate() string {
	return rapid.SampledFrom([]string{"city", "works_at"}).Draw(h.T, "predicate")
}

func (h *history) valid() []events.Interval {
	from := rapid.IntRange(0, 12).Draw(h.T, "from")
	switch rapid.IntRange(0, 3).Draw(h.T, "shape") {
	case 0:
		return nil
	case 1:
		return between(day(from), day(from+3))
	case 2:
		return append(between(day(from), day(from+2)), events.Interval{From: day(from + 5)})
	}
	return since(day(from))
}

func (h *history) sources(tenant string) []captured {
	var list []captured
	for _, c := range h.episodes {
		if c.tenant == tenant && rapid.IntRange(0, 2).Draw(h.T, "source") == 0 && len(list) < 3 {
			list = append(list, c)
		}
	}
	if rapid.IntRange(0, 5).Draw(h.T, "unknown source") == 0 {
		list = append(list, captured{tenant: tenant, id: "never-was"})
	}
	return list
}

func (h *history) fact() (drawnFact, bool) {
	if len(h.facts) == 0 {
		return drawnFact{}, false
	}
	return rapid.SampledFrom(h.facts).Draw(h.T, "fact"), true
}

func (h *history) onSlot(f drawnFact, list ...events.Event) {
	h.w.append(h, f.tenant, events.KindFact, h.w.slot(h, f.tenant, f.p.Subject, f.predicate), list...)
}

func (h *history) propose() {
	f := drawnFact{tenant: h.tenant(), predicate: h.predicate()}
	subject := h.subject()
	f.p = h.w.proposal(h, f.tenant, subject, f.predicate, h.w.id("value"), day(1), h.sources(f.tenant)...)
	list := []events.Event{f.p}
	switch rapid.IntRange(0, 4).Draw(h.T, "decision") {
	case 0:
		list = append(list, events.FactDecided{Fact: f.p.Fact, Decision: events.DecisionReject})
	case 1:
		list = append(list, events.FactDecided{Fact: f.p.Fact, Decision: events.DecisionReview})
	case 2:
		if old, ok := h.fact(); ok && old.tenant == f.tenant && old.p.Subject == f.p.Subject && old.predicate == f.predicate {
			list = append(list,
				events.FactDecided{Fact: f.p.Fact, Decision: events.DecisionPromote, Into: old.p.Fact},
				events.FactCorroborated{Fact: old.p.Fact, Candidate: f.p.Fact, Sources: f.p.Sources})
		}
	default:
		list = append(list,
			events.FactDecided{Fact: f.p.Fact, Decision: events.DecisionPromote, Into: f.p.Fact},
			events.FactPromoted{Fact: f.p.Fact, Valid: h.valid()})
		for _, old := range h.facts {
			if old.tenant == f.tenant && old.p.Subject == f.p.Subject && old.predicate == f.predicate {
				list = append(list, events.FactSuperseded{Fact: old.p.Fact, By: f.p.Fact, Valid: h.valid()})
				break
			}
		}
	}
	if rapid.Bool().Draw(h.T, "alone") { // what is sealed is in a commit of its own
		h.onSlot(f, list[0])
		list = list[1:]
	}
	if len(list) > 0 {
		h.onSlot(f, list...)
	}
	h.facts = append(h.facts, f)
}

func (h *history) change() {
	f, ok := h.fact()
	if !ok {
		return
	}
	switch rapid.IntRange(0, 11).Draw(h.T, "change") {
	case 0:
		h.onSlot(f, events.FactDecided{Fact: f.p.Fact, Decision: events.DecisionPromote, Into: f.p.Fact},
			events.FactPromoted{Fact: f.p.Fact, Valid: h.valid()})
	case 1:
		h.onSlot(f, events.FactRetracted{Fact: f.p.Fact, Valid: h.valid(), Content: []byte("sealed")})
	case 2:
		h.onSlot(f, events.FactSuperseded{Fact: f.p.Fact, By: "other", Valid: h.valid()})
	case 3:
		h.onSlot(f, events.FactForgotten{Fact: f.p.Fact, Subject: f.p.Subject, Erasure: h.w.id("erasure")})
		h.destroy(f.tenant, f.p.Fact)
	case 4:
		if len(f.p.Sources) > 0 {
			h.onSlot(f, events.FactSourceLost{Fact: f.p.Fact, Source: f.p.Sources[0].Episode, Erasure: "e"})
		}
	case 5:
		h.onSlot(f, f.p) // a late write of the same proposal
	case 6:
		h.w.embed(h, f.tenant, f.p.Subject, f.p.Class, f.p.Fact, events.KindFact, unit(uint64(h.w.n), 8))
	case 7:
		var refs []events.SourceRef
		for _, c := range h.sources(f.tenant) {
			refs = append(refs, c.ref())
		}
		h.onSlot(f, events.FactCorroborated{Fact: f.p.Fact, Candidate: "candidate", Sources: refs})
	case 8: // a review that decides nothing yet, or with a note that is sealed
		h.onSlot(f, events.FactReviewed{Fact: f.p.Fact, Verdict: events.VerdictApprove, Content: h.note()})
	case 9:
		h.onSlot(f, events.FactReviewed{Fact: f.p.Fact, Verdict: events.VerdictApprove, Content: h.note()},
			events.FactDecided{Fact: f.p.Fact, Decision: events.DecisionPromote, Into: f.p.Fact},
			events.FactPromoted{Fact: f.p.Fact, Valid: h.valid()})
	case 10:
		h.onSlot(f, events.FactReopened{Fact: f.p.Fact}, events.FactDecided{Fact: f.p.Fact, Decision: events.DecisionQuarantine})
	case 11:
		by := rapid.SampledFrom([]string{"", "other"}).Draw(h.T, "by")
		h.onSlot(f, events.FactRestored{Fact: f.p.Fact, Valid: h.valid(), By: by})
	}
}

func (h *history) note() []byte {
	return rapid.SampledFrom([][]byte{nil, []byte("sealed")}).Draw(h.T, "note")
}

func (h *history) destroy(tenant, record string) {
	if err := h.w.keys.DestroyRecord(context.Background(), h.w.tenant(h, tenant).Token(), record); err != nil {
		h.Fatalf("destroy key: %v", err)
	}
}

func (h *history) capture() {
	source, revision := h.source(), ""
	if source != "" {
		revision = rapid.SampledFrom([]string{"", "first", "second"}).Draw(h.T, "revision")
	}
	h.episodes = append(h.episodes, h.w.captureOf(h, h.tenant(), h.subject(), h.w.id("word"), source, revision))
}

func (h *history) source() string {
	return rapid.SampledFrom([]string{"", "guide", "guideline"}).Draw(h.T, "source of an episode")
}

func (h *history) revise() {
	source := h.source()
	if source == "" {
		return
	}
	revision := rapid.SampledFrom([]string{"first", "second"}).Draw(h.T, "revision")
	h.w.revise(h, h.tenant(), source, revision, day(rapid.IntRange(0, 12).Draw(h.T, "effective")))
}

func (h *history) episode() {
	if len(h.episodes) == 0 {
		return
	}
	c := rapid.SampledFrom(h.episodes).Draw(h.T, "episode")
	switch rapid.IntRange(0, 3).Draw(h.T, "what") {
	case 0, 1:
		h.w.forgetEpisode(h, c)
		h.destroy(c.tenant, c.id)
	case 2:
		h.w.embed(h, c.tenant, c.sid, c.class, c.id, events.KindEpisode, unit(uint64(h.w.n), 8))
	case 3: // a late write
		h.w.append(h, c.tenant, events.KindEpisode, c.id, c.event)
	}
}

func (h *history) trace() {
	tenant := h.tenant()
	switch {
	case len(h.traces) == 0 || rapid.Bool().Draw(h.T, "new trace"):
		id := h.w.id("trace")
		e := events.TraceRecalled{Trace: id, Class: "c", At: h.w.head, Memories: []string{"m-1", "m-2"}, Content: []byte("sealed")}
		if rapid.Bool().Draw(h.T, "with subject") {
			e.Subject = h.w.sid(h, tenant, h.subject())
		}
		h.traces = append(h.traces, id)
		h.w.append(h, tenant, events.KindTrace, events.SharedID, e)
	case rapid.Bool().Draw(h.T, "use"):
		id := rapid.SampledFrom(h.traces).Draw(h.T, "trace")
		h.w.append(h, tenant, events.KindTrace, events.SharedID, events.TraceUsed{Trace: id, Memories: []string{"m-1"}})
	default:
		id := rapid.SampledFrom(h.traces).Draw(h.T, "trace")
		j := rapid.SampledFrom([]events.Judgement{events.JudgedUseful, events.JudgedWrong}).Draw(h.T, "judgement")
		h.w.append(h, tenant, events.KindTrace, events.SharedID, events.TraceJudged{Trace: id, Memory: "m-1", Judgement: j})
	}
}

// onSubject registers or holds a subject, or lifts a hold.
func (h *history) onSubject() {
	tenant, subject := h.tenant(), h.subject()
	sid := h.w.sid(h, tenant, subject)
	hold := rapid.SampledFrom([]string{"hold-a", "hold-b"}).Draw(h.T, "hold")
	var list []events.Event
	for range rapid.IntRange(1, 2).Draw(h.T, "events of a subject") {
		list = append(list, rapid.SampledFrom([]events.Event{
			events.SubjectRegistered{Class: "c", Content: []byte("sealed")},
			events.ConsentGranted{Category: "c", Content: []byte("sealed")},
			events.SubjectHeld{Hold: hold},
			events.SubjectReleased{Hold: hold},
		}).Draw(h.T, "event of a subject"))
	}
	h.w.append(h, tenant, events.KindSubject, sid, list...)
}

func (h *history) op() {
	switch n := rapid.IntRange(0, 35).Draw(h.T, "op"); {
	case n < 8:
		h.capture()
	case n < 16:
		h.propose()
	case n < 23:
		h.change()
	case n < 27:
		h.episode()
	case n < 30:
		h.trace()
	case n < 33:
		h.onSubject()
	case n < 35:
		h.revise()
	default:
		tenant, subject := h.tenant(), h.subject()
		h.w.forgetSubject(h, tenant, subject)
		h.w.dead[h.w.sid(h, tenant, subject)] = true
		if err := h.w.keys.DestroySubject(context.Background(), h.w.tenant(h, tenant).Token(), h.w.sid(h, tenant, subject)); err != nil {
			h.Fatalf("destroy subject: %v", err)
		}
	}
}

// batching makes other batches of a log, by saying that nothing is behind a message.
type batching struct {
	events.Follower
	seed uint64
}

func (b batching) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	r := rand.New(rand.NewPCG(b.seed, after))
	return func(yield func(events.Message, error) bool) {
		for m, err := range b.Follower.Follow(ctx, after) {
			if m.Pending > 0 && r.IntN(3) == 0 {
				m.Pending = 0
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// TestHistories holds the views, after any history with restarts and crashes in it, against the model, and against views
// that were built from that log at once, in other batches.
func TestHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.step = rapid.SampledFrom([]time.Duration{time.Second, 0}).Draw(t, "step")
		h := &history{T: t, w: w}
		fs := vfs.NewCrashableMem()
		v := start(t, w.config(fs))
		defer func() { // also where rapid gives a draw up
			if v != nil {
				v.close(t)
			}
		}()
		ops := rapid.IntRange(1, 50).Draw(t, "ops")
		for range ops {
			h.op()
			switch rapid.IntRange(0, 40).Draw(t, "event") {
			case 0: // restart
				v.close(t)
				v = start(t, w.config(fs))
			case 1: // crash
				if rapid.Bool().Draw(t, "caught up") {
					v.waitFor(t, w.head)
				}
				seed := rapid.Uint64().Draw(t, "crash")
				percent := rapid.IntRange(0, 100).Draw(t, "percent")
				clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 1))})
				v.close(t)
				fs = clone
				v = start(t, w.config(fs))
			case 2:
				v.waitFor(t, w.head)
			}
		}
		m := w.model(t, w.head)
		v.waitFor(t, w.head)
		checkViews(t, v.Views, m)
		live := digests(v.Views)
		name := rapid.SampledFrom([]string{Facts, Memories, Traces}).Draw(t, "verified")
		res, err := v.Verify(context.Background(), name, nil)
		if err != nil || !res.OK {
			t.Fatalf("verify %s: %v %+v", name, err, res)
		}
		if _, err := v.Replay(context.Background(), name, nil); err != nil {
			t.Fatalf("replay %s: %v", name, err)
		}
		checkViews(t, v.Views, m)
		v.close(t)
		v = nil

		cfg := w.config(vfs.NewMem())
		cfg.Log = batching{Follower: w.log, seed: rapid.Uint64().Draw(t, "batching")}
		rebuilt := start(t, cfg)
		rebuilt.waitFor(t, w.head)
		checkViews(t, rebuilt.Views, m)
		if got := digests(rebuilt.Views); got != live {
			t.Fatalf("digests differ: live\n%srebuilt\n%s", live, got)
		}
		rebuilt.close(t)
	})
}
