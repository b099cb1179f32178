package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// RecordRecall keeps which memories an answer was made of, and returns the id
// and the position of the trace. The query is sealed under the subject asked
// about, so that it is forgotten with it; without one, under a subject that
// stands for the tenant. A subject whose key is gone, or that has no first event
// yet, is events.ErrForgotten: nothing is kept of the question. While a forget is
// under way the question may be kept, and ends with the key it is sealed under.
func (g *Gateway) RecordRecall(ctx context.Context, caller events.Caller, r Recall) (trace string, position uint64, err error) {
	if err := permit(caller, events.RoleAgent, events.RoleReviewer, events.RoleAuditor, events.RoleAdmin); err != nil {
		return "", 0, err
	}
	t, err := g.tenant(ctx, caller.Tenant)
	if err != nil {
		return "", 0, err
	}
	rec, err := g.traceKey(ctx, t, r.Subject)
	if err != nil {
		return "", 0, err
	}
	id, err := g.newTraceID(ctx, t.Token(), r.At)
	if err != nil {
		return "", 0, err
	}
	scope := rec.Scope()
	content, err := sealAt(rec, traceLabel(scope.Subject, id), events.TraceContent{Query: r.Query, Terms: r.Terms})
	if err != nil {
		return "", 0, err
	}
	memories := r.Memories
	if memories == nil {
		memories = []string{}
	}
	w := &work{tenant: t, principal: token.Principal(t, caller.Principal), id: id}
	position, err = g.appendTrace(ctx, w, events.TraceRecalled{
		Trace: id, Subject: scope.Subject, Class: scope.Class, At: r.At,
		Memories: memories, Weights: r.Weights, Lowest: r.Lowest, Content: content,
	})
	if err == nil {
		g.traced.note(t.Token(), position, g.now())
	}
	return id, position, err
}

// UseTrace reports which of the recalled memories went into an answer.
func (g *Gateway) UseTrace(ctx context.Context, caller events.Caller, key, trace string, r UseRequest) (Written, error) {
	if err := permit(caller, reporters()...); err != nil {
		return Written{}, err
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate()); err != nil {
		return Written{}, err
	}
	type request struct {
		Trace string `json:"trace"`
		UseRequest
	}
	return g.reportOn(ctx, caller, command{name: cmdUse, principal: caller.Principal, key: key}, trace,
		request{token.CanonicalID(trace), r}, func(t *seal.Tenant) events.Event {
			ids := make([]string, len(r.MemoryIDs))
			for i, id := range r.MemoryIDs {
				ids[i] = token.CanonicalID(id)
			}
			return events.TraceUsed{
				Trace: token.CanonicalID(trace), Memories: ids, AnswerRef: token.AnswerRef(t, r.AnswerRef),
			}
		})
}

// JudgeTrace reports what a reader thought of one recalled memory. A later
// judgement of the same memory replaces the earlier one.
func (g *Gateway) JudgeTrace(ctx context.Context, caller events.Caller, key, trace string, r FeedbackRequest) (Written, error) {
	if err := permit(caller, reporters()...); err != nil {
		return Written{}, err
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate()); err != nil {
		return Written{}, err
	}
	type request struct {
		Trace string `json:"trace"`
		FeedbackRequest
	}
	return g.reportOn(ctx, caller, command{name: cmdJudge, principal: caller.Principal, key: key}, trace,
		request{token.CanonicalID(trace), r}, func(*seal.Tenant) events.Event {
			return events.TraceJudged{
				Trace: token.CanonicalID(trace), Memory: token.CanonicalID(r.MemoryID), Judgement: events.Judgement(r.Judgement),
			}
		})
}

// reporters are the roles that report on traces.
func reporters() []events.Role {
	return []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAdmin}
}

// reportOn appends an event about a trace of the caller's tenant. The row that
// makes sure of a key follows the event, and says where it is: among all other
// events on traces nobody could find it again, and to append it again would put
// it after what was reported since.
func (g *Gateway) reportOn(ctx context.Context, caller events.Caller, cmd command, trace string, request any, event func(*seal.Tenant) events.Event) (Written, error) {
	w, err := g.prepare(ctx, caller, cmd, request)
	if err != nil {
		return Written{}, err
	}
	rec, err := g.findTrace(ctx, w.tenant, trace)
	if err != nil {
		return Written{}, err
	}
	if err := g.reportable(ctx, w.tenant.Token(), rec.Scope().Subject); err != nil {
		return Written{}, err
	}
	if cmd.key == "" {
		position, err := g.appendTrace(ctx, w, event(w.tenant))
		return Written{Position: position}, err
	}
	done, err := g.turns.take(ctx, w.id)
	if err != nil {
		return Written{}, err
	}
	defer done()
	if position, reported, err := g.reported(ctx, w); reported || err != nil {
		return Written{Position: position}, err
	}
	if w.position, err = g.appendTrace(ctx, w, event(w.tenant)); err != nil {
		return Written{}, err
	}
	if err := g.commandRow(ctx, w, rec.Scope()); err != nil {
		return Written{}, err
	}
	return Written{Position: w.position}, nil
}

// reported says whether the event of a keyed report is in the log, and where.
func (g *Gateway) reported(ctx context.Context, w *work) (position uint64, reported bool, err error) {
	w.rec, err = g.keys.Record(ctx, w.tenant.Token(), w.id)
	if gone, ok := errors.AsType[*seal.KeyDestroyedError](err); ok {
		if gone.Level == seal.LevelRecord {
			return 0, false, nil
		}
		return 0, false, events.ErrForgotten
	}
	if err != nil {
		return 0, false, fmt.Errorf("find report: %w", err)
	}
	if err := w.sameCommand(); err != nil {
		return 0, false, err
	}
	n, err := token.ParseNote(w.rec.Note())
	if err != nil {
		return 0, false, fmt.Errorf("find report: %w", err)
	}
	return n.Position, true, nil
}

func (g *Gateway) appendTrace(ctx context.Context, w *work, e events.Event) (uint64, error) {
	ack, err := g.log.Append(ctx, events.Commit{
		ID:        w.id,
		Aggregate: tracesOf(w.tenant.Token()),
		Time:      g.clock(),
		Principal: w.principal,
		Events:    []events.Event{e},
	}, events.ExpectAny)
	if err != nil {
		return 0, fmt.Errorf("append trace: %w", err)
	}
	return ack.Position, nil
}
