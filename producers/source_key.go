package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// alreadyCurrent is what a call under a key was told that had nothing to write: that
// its revision was current already, and since where. The log has nothing of it, so
// that without this its repetition would make the revision current again.
type alreadyCurrent struct {
	tenant *seal.Tenant
	id     string
	note   token.Note
	// position is 0 until the call was told one.
	position uint64
}

// alreadyCurrent looks for it under the id of a command.
func (g *Gateway) alreadyCurrent(ctx context.Context, t *seal.Tenant, id string, r ReviseRequest) (*alreadyCurrent, error) {
	fingerprint, err := token.Fingerprint(t, r)
	if err != nil {
		return nil, fmt.Errorf("compare request: %w", err)
	}
	a := &alreadyCurrent{tenant: t, id: id, note: token.Note{Fingerprint: fingerprint, Kind: token.KindCommand, Aggregate: id}}
	rec, err := g.keys.Record(ctx, t.Token(), id)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find revision: %w", err)
	}
	return a, a.adopt(rec)
}

// adopt takes over what an earlier call under the key was told.
func (a *alreadyCurrent) adopt(rec *seal.Record) error {
	n, err := token.ParseNote(rec.Note())
	if err != nil {
		return fmt.Errorf("read revision: %w", err)
	}
	if n.Kind != token.KindCommand || n.Fingerprint != a.note.Fingerprint {
		return events.ErrKeyReused
	}
	a.position = n.Position
	return nil
}

// keep keeps a position and returns it, or the one that another call was faster with.
func (a *alreadyCurrent) keep(ctx context.Context, keys *seal.Keyring, position uint64) (uint64, error) {
	a.note.Position = position
	note, err := a.note.Encode()
	if err != nil {
		return 0, fmt.Errorf("keep revision: %w", err)
	}
	scope := seal.Scope{Tenant: a.tenant.Token(), Subject: seal.Nobody, Class: token.Category(a.tenant, string(events.KindSource))}
	rec, existed, err := keys.CreateRecord(ctx, scope, a.id, note)
	if err != nil {
		return 0, fmt.Errorf("keep revision: %w", err)
	}
	if !existed {
		return position, nil
	}
	if err := a.adopt(rec); err != nil {
		return 0, err
	}
	return a.position, nil
}
