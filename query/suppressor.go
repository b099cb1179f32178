package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// Forgetter forgets. It is a *tombstones.Eraser.
type Forgetter interface {
	Forget(ctx context.Context, caller events.Caller, key string, req tombstones.ForgetRequest) (tombstones.Erasure, error)
	ForgetSubject(ctx context.Context, caller events.Caller, key, subject, reason string) (tombstones.Erasure, error)
}

// Suppressor forgets like the eraser behind it and, if a request asks for it, keeps
// what is forgotten from coming back. It is safe for concurrent use.
type Suppressor struct {
	s      *Service
	eraser Forgetter
	set    *suppression.Set
}

// NewSuppressor makes a suppressor. The error is ErrConfig.
func NewSuppressor(s *Service, eraser Forgetter, set *suppression.Set) (*Suppressor, error) {
	if s == nil || eraser == nil || set == nil {
		return nil, fmt.Errorf("%w: something is missing", ErrConfig)
	}
	return &Suppressor{s: s, eraser: eraser, set: set}, nil
}

// Forget is that of the eraser. With Suppress, which is for admins, the texts of
// the episodes and the values of the facts that the request names are kept out
// first: not of those that are derived from them, nor of those that come to match
// in between. A legal hold does not keep a value from being kept out. The errors are
// those of the eraser, of the views and ErrDamaged; values can be kept out by then.
func (x *Suppressor) Forget(ctx context.Context, caller events.Caller, key string, req tombstones.ForgetRequest) (tombstones.Erasure, error) {
	if req.Suppress && !req.DryRun {
		if err := x.keepOut(ctx, caller, req); err != nil {
			return tombstones.Erasure{}, err
		}
	}
	out, err := x.eraser.Forget(ctx, caller, key, req)
	if err != nil {
		return tombstones.Erasure{}, fmt.Errorf("forget: %w", err)
	}
	return out, nil
}

// ForgetSubject is that of the eraser, with suppression if it is asked for, of all
// episodes and facts of the subject.
func (x *Suppressor) ForgetSubject(ctx context.Context, caller events.Caller, key, subject, reason string, suppress bool) (tombstones.Erasure, error) {
	if suppress {
		err := x.keepOut(ctx, caller, tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: subject}, Reason: reason})
		if err != nil {
			return tombstones.Erasure{}, err
		}
	}
	out, err := x.eraser.ForgetSubject(ctx, caller, key, subject, reason)
	if err != nil {
		return tombstones.Erasure{}, fmt.Errorf("forget: %w", err)
	}
	return out, nil
}

func (x *Suppressor) keepOut(ctx context.Context, caller events.Caller, req tombstones.ForgetRequest) error {
	if !caller.Has(events.RoleAdmin) {
		return events.ErrForbidden
	}
	req.DryRun = true
	named, err := x.eraser.Forget(ctx, caller, "", req)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	tenant, err := x.s.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find tenant: %w", err)
	}
	state, err := x.s.views.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	defer state.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	r := &reading{tenant: tenant, token: tenant.Token(), snap: state}
	var values []string
	for _, id := range named.IDs {
		value, ok, err := x.value(ctx, r, token.CanonicalID(id))
		if err != nil {
			return err
		}
		if ok {
			values = append(values, value)
		}
	}
	if err := x.set.Add(ctx, tenant, token.Principal(tenant, caller.Principal), values); err != nil {
		return fmt.Errorf("keep out: %w", err)
	}
	return nil
}

// value reads a record, also one under a legal hold: of what it says nothing is
// shown, and only a keyed hash is kept. One that is forgotten has none.
func (x *Suppressor) value(ctx context.Context, r *reading, id string) (string, bool, error) {
	e, err := r.snap.Episode(r.token, id)
	switch {
	case err == nil && e.Forgotten:
		return "", false, nil
	case err == nil:
		plain, err := x.open(ctx, r.token, episodeItem(&e), record{events.KindEpisode, id, id})
		if plain == nil || err != nil {
			return "", false, err
		}
		content, err := parse[events.EpisodeContent](plain)
		return content.Text, err == nil, err
	case !errors.Is(err, events.ErrNotFound):
		return "", false, fmt.Errorf("read episode: %w", err)
	}
	f, err := r.snap.Fact(r.token, id)
	switch {
	case errors.Is(err, events.ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read fact: %w", err)
	case f.Status == events.StatusDeleted, undecided(&f, f.Status):
		return "", false, nil
	}
	plain, err := x.open(ctx, r.token, factItem(&f), record{events.KindFact, id, f.Slot})
	if plain == nil || err != nil {
		return "", false, err
	}
	content, err := parse[events.FactContent](plain)
	if err != nil {
		return "", false, err
	}
	return suppression.Value(content.Predicate, content.Value), true, nil
}

// open opens one content, nil if it was forgotten.
func (x *Suppressor) open(ctx context.Context, tenant string, item seal.Item, of record) ([]byte, error) {
	opened, err := x.s.openAll(ctx, []seal.Item{item})
	if err != nil {
		return nil, err
	}
	if opened[0] != nil {
		return opened[0], nil
	}
	if err := x.s.lost(ctx, tenant, of.kind, of.aggregate, item.Scope.Subject); !errors.Is(err, events.ErrForgotten) {
		return nil, err
	}
	return nil, nil //nolint:nilnil // The absence of a content is an answer.
}
