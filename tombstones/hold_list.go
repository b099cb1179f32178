package tombstones

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// HoldChange is a legal hold as it was put on, or lifted. A hold's name is kept in no
// form that could be read: its token is the same for the same name.
type HoldChange struct {
	Token      string      `json:"token"`
	Held       bool        `json:"held"`
	RecordedAt events.Time `json:"recorded_at"`
	Position   uint64      `json:"position"`
}

// Holds are the legal holds on a subject.
type Holds struct {
	// Held says that there is at least one hold.
	Held bool `json:"held"`
	// Current are the holds there are, in the order in which they were put on.
	Current []HoldChange `json:"current"`
	// History is every change, oldest first.
	History  []HoldChange `json:"history"`
	Position uint64       `json:"position"`
}

// Holds lists the legal holds on a subject by the log itself, for admins: also on one
// that is forgotten and held. The errors are ErrForbidden, an InputError, ErrNotFound
// for a subject that nothing is kept of, and the log's.
func (e *Eraser) Holds(ctx context.Context, caller events.Caller, subject string) (Holds, error) {
	if !caller.Has(events.RoleAdmin) {
		return Holds{}, events.ErrForbidden
	}
	if err := checkName("subject", subject); err != nil {
		return Holds{}, err
	}
	t, sid, err := e.known(ctx, caller, subject)
	if err != nil {
		return Holds{}, err
	}
	out := Holds{Current: []HoldChange{}, History: []HoldChange{}}
	var state events.SubjectState
	since := make(map[string]HoldChange)
	for r, err := range e.log.ReadAggregate(ctx, events.Aggregate{Tenant: t.Token(), Kind: events.KindSubject, ID: sid}, 0) {
		if err != nil {
			return Holds{}, fmt.Errorf("read holds: %w", err)
		}
		state.Apply(r)
		for _, ev := range r.Events {
			c := HoldChange{RecordedAt: events.At(r.RecordedAt), Position: r.Position}
			switch ev := ev.(type) {
			case events.SubjectHeld:
				c.Token, c.Held = ev.Hold, true
				since[c.Token] = c
			case events.SubjectReleased:
				c.Token = ev.Hold
				delete(since, c.Token)
			default:
				continue
			}
			out.History = append(out.History, c)
		}
	}
	if state.Position == 0 {
		return Holds{}, events.ErrNotFound
	}
	for _, c := range out.History {
		if c.Held && since[c.Token] == c {
			out.Current = append(out.Current, c)
		}
	}
	out.Held, out.Position = len(state.Holds) > 0, state.Position
	return out, nil
}
