package projectors

import (
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
)

// tracesSpec is the projection of recalled answers.
func tracesSpec() *spec {
	return &spec{
		name:     Traces,
		format:   "traces/4",
		families: []string{"annals.trace.", "annals.subject."},
		except: []string{
			"annals.subject.registered.", "annals.subject.consent_", "annals.subject.held.", "annals.subject.released.",
		},
		folder: func(e *engine) (folder, error) {
			return &traces{e: e, open: make(map[string]*traceState)}, nil
		},
	}
}

// traces folds traces. All of a tenant share one aggregate, whose commits do not wait for parked ones. What was used or judged
// of a trace that is not here waits while an earlier commit is parked, which may be its recall; else the trace was forgotten,
// and nothing is kept.
type traces struct {
	e *engine
	// open are the traces that the batch at hand touches, by key.
	open map[string]*traceState
}

type traceState struct {
	TraceRow
	// judgedAt are the positions of the judgements, so that the last one stays in any order.
	judgedAt map[string]uint64
	row      digest
}

func newTraceState() *traceState {
	s := &traceState{judgedAt: make(map[string]uint64)}
	s.Judged = make(map[string]events.Judgement)
	return s
}

func traceKey(tenant, id string) key { return newKey(sortTrace).part(tenant).part(id) }

func subjectTraceKey(tenant, sid, id string) key {
	return newKey(sortSubjectTraces).part(tenant).part(sid).part(id)
}

func (f *traces) flush(context.Context, *pebble.Batch) error {
	for k, s := range f.open {
		var sum []byte
		if s.Subject != "" {
			sum = sumKey(s.Tenant, s.Subject)
		}
		if _, err := f.e.putOf(sum, []byte(k), encodeTrace(s), s.row); err != nil {
			return err
		}
	}
	clear(f.open)
	return nil
}

func (f *traces) applied() {}

func (f *traces) fold(ctx context.Context, it *item) error {
	if it.rec.Aggregate.Kind == events.KindTrace {
		if err := f.check(it); err != nil {
			return err
		}
		about, stays := traceMatters(it.rec.Events)
		if err := f.e.note(&it.rec, about, stays); err != nil {
			return err
		}
	}
	for _, e := range it.rec.Events {
		if err := f.event(ctx, &it.rec, e); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a commit about a trace whose recall may be parked before it.
func (f *traces) check(it *item) error {
	recalled := make(map[string]bool)
	for _, e := range it.rec.Events {
		var id string
		switch e := e.(type) {
		case events.TraceRecalled:
			recalled[e.Trace] = true
			continue
		case events.TraceUsed:
			id = e.Trace
		case events.TraceJudged:
			id = e.Trace
		default:
			continue
		}
		if recalled[id] {
			continue
		}
		s, err := f.trace(it.rec.Aggregate.Tenant, id)
		if err != nil {
			return err
		}
		if s != nil {
			continue
		}
		if waits, err := f.e.parkedBefore(it); err != nil {
			return err
		} else if waits {
			return park(causeBehind)
		}
	}
	return nil
}

func (f *traces) event(ctx context.Context, r *events.Recorded, e events.Event) error {
	t := r.Aggregate.Tenant
	switch e := e.(type) {
	case events.TraceRecalled:
		return f.recalled(r, e)
	case events.TraceUsed:
		s, err := f.trace(t, e.Trace)
		if err != nil || s == nil {
			return err
		}
		for _, id := range e.Memories {
			if !slices.Contains(s.Used, id) {
				s.Used = append(s.Used, id)
			}
		}
	case events.TraceJudged:
		s, err := f.trace(t, e.Trace)
		if err != nil || s == nil {
			return err
		}
		if r.Position >= s.judgedAt[e.Memory] {
			s.Judged[e.Memory], s.judgedAt[e.Memory] = e.Judgement, r.Position
		}
	case events.SubjectForgotten:
		return f.forget(ctx, r, e)
	default:
	}
	return nil
}

func (f *traces) recalled(r *events.Recorded, e events.TraceRecalled) error {
	t := r.Aggregate.Tenant
	if e.Subject != "" {
		gone, err := f.e.tombs.subject(t, e.Subject)
		if err != nil || gone {
			return err
		}
	}
	s, err := f.trace(t, e.Trace)
	if err != nil || s != nil {
		return err // a second recall of one id cannot happen; the first stands
	}
	if e.Subject != "" {
		if err := f.e.set(subjectTraceKey(t, e.Subject, e.Trace), nil); err != nil {
			return err
		}
	}
	s = newTraceState()
	s.Tenant = t
	s.TraceRecalled, s.Position, s.RecordedAt, s.Principal = e, r.Position, r.RecordedAt, r.Principal
	f.open[string(traceKey(t, e.Trace))] = s
	return nil
}

// forget buries a subject, and has its traces cleared.
func (f *traces) forget(ctx context.Context, r *events.Recorded, e events.SubjectForgotten) error {
	t, sid := r.Aggregate.Tenant, r.Aggregate.ID
	if err := f.e.commit(ctx); err != nil {
		return err
	}
	if _, err := f.e.bury(t, subjectTombKey(t, sid), e.Erasure, r); err != nil {
		return err
	}
	return f.e.letGo(t, sid, e.Erasure, r.Position)
}

func (f *traces) stages() []clearStage { return []clearStage{f.clear, f.e.leaveSubject} }

// clear removes the traces of a subject. An id may be another subject's by now.
func (f *traces) clear(_ context.Context, c *clearing) (bool, error) {
	prefix := newKey(sortSubjectTraces).part(c.tenant).part(c.sid)
	return f.e.clearPage(prefix, func(k, _ []byte) error {
		id, _, ok := cutPart(k[len(prefix):])
		if !ok {
			return errRow(sortSubjectTraces)
		}
		return f.e.unsetIf(traceKey(c.tenant, id), func(value []byte) (bool, error) {
			s := newTraceState()
			err := decodeTrace(value, s)
			return s.Subject == c.sid, err
		})
	})
}

// trace returns a trace as the batch at hand leaves it, nil if there is none.
func (f *traces) trace(tenant, id string) (*traceState, error) {
	k := traceKey(tenant, id)
	if s := f.open[string(k)]; s != nil {
		return s, nil
	}
	s := newTraceState()
	s.Tenant = tenant
	found, err := get(f.e.db, k, func(value []byte) error {
		s.row = rowDigest(k, value)
		return decodeTrace(value, s)
	})
	if err != nil || !found {
		return nil, err
	}
	if s.Subject != "" {
		// The rows of a forgotten subject may still be there.
		if gone, err := f.e.tombs.subject(tenant, s.Subject); gone || err != nil {
			return nil, err
		}
	}
	f.open[string(k)] = s
	return s, nil
}

func encodeTrace(s *traceState) []byte {
	e := encoder{b: make([]byte, 0, 256+len(s.Content))}
	e.uint(s.Position)
	e.time(s.RecordedAt)
	e.string(s.Principal)
	e.string(s.Trace)
	e.string(s.Subject)
	e.string(s.Class)
	e.uint(s.At)
	e.strings(s.Memories)
	e.string(s.Weights)
	e.uint(uint64(s.Lowest))
	e.bytes(s.Content)
	e.strings(s.Used)
	ids := make([]string, 0, len(s.Judged))
	for id := range s.Judged {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	e.uint(uint64(len(ids)))
	for _, id := range ids {
		e.string(id)
		e.string(string(s.Judged[id]))
		e.uint(s.judgedAt[id])
	}
	return e.b
}

func decodeTrace(value []byte, s *traceState) error {
	d := decoder{b: value}
	s.Position = d.uint()
	s.RecordedAt = d.time()
	s.Principal = d.string()
	s.Trace = d.string()
	s.Subject = d.string()
	s.Class = d.string()
	s.At = d.uint()
	s.Memories = d.strings()
	s.Weights = d.string()
	s.Lowest = events.Trust(d.uint()) //nolint:gosec // written from a Trust.
	s.Content = d.bytes()
	s.Used = d.strings()
	for range d.count() {
		id := d.string()
		s.Judged[id] = events.Judgement(d.string())
		s.judgedAt[id] = d.uint()
	}
	return d.err()
}
