package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// Forgetter forgets. It is a *tombstones.Eraser.
type Forgetter interface {
	Forget(ctx context.Context, caller events.Caller, key string, req tombstones.ForgetRequest) (tombstones.Erasure, error)
	ForgetAbout(ctx context.Context, caller events.Caller, key string, req tombstones.SubjectRequest) (tombstones.Erasure, error)
	ErasureByName(ctx context.Context, caller events.Caller, subject string) (id string, begun bool, err error)
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
// in between. A legal hold does not keep a value from being kept out. The answer
// says how many values are kept out. A record that is named by its id and is
// forgotten already has a value that nobody knows: that is an InputError of kind
// Refused, and nothing changes. The other errors are
// those of the eraser, of the views and ErrDamaged; values can be kept out by then.
func (x *Suppressor) Forget(ctx context.Context, caller events.Caller, key string, req tombstones.ForgetRequest) (tombstones.Erasure, error) {
	kept := 0
	if req.Suppress && !req.DryRun {
		var err error
		if kept, err = x.keepOut(ctx, caller, commandForget, key, req, false); err != nil {
			return tombstones.Erasure{}, err
		}
	}
	out, err := x.eraser.Forget(ctx, caller, key, req)
	if err != nil {
		return tombstones.Erasure{}, fmt.Errorf("forget: %w", err)
	}
	if req.Suppress && !req.DryRun {
		out.Suppressed = &kept
	}
	return out, nil
}

// ForgetSubject is that of the eraser, with suppression if it is asked for, of all
// episodes and facts of the subject. One that was forgotten before, without
// suppression, has values that nobody knows any more: that is an InputError of kind
// Refused.
func (x *Suppressor) ForgetSubject(ctx context.Context, caller events.Caller, key, subject, reason string, suppress bool) (tombstones.Erasure, error) {
	kept := 0
	if suppress {
		var err error
		req := tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: subject}, Reason: reason}
		if kept, err = x.keepOut(ctx, caller, commandForgetSubject, key, req, true); err != nil {
			return tombstones.Erasure{}, err
		}
	}
	out, err := x.eraser.ForgetAbout(ctx, caller, key, tombstones.SubjectRequest{Subject: subject, Reason: reason, Suppress: suppress})
	if err != nil {
		return tombstones.Erasure{}, fmt.Errorf("forget: %w", err)
	}
	if suppress {
		out.Suppressed = &kept
	}
	return out, nil
}

// The commands as the eraser derives the ids of their erasures, which are for ever.
const (
	commandForget        = "forget"
	commandForgetSubject = "forget_subject"
	// commandSuppress is what the ids of suppressions are derived from.
	commandSuppress = "suppress"
)

// keepOut keeps out what a command names, unless it was made before: then all that
// it forgets is kept out, and what it names by now is not what it forgets. It
// returns how many values the command keeps out.
func (x *Suppressor) keepOut(ctx context.Context, caller events.Caller, command, key string, req tombstones.ForgetRequest, whole bool) (int, error) {
	if !caller.Has(events.RoleAdmin) {
		return 0, events.ErrForbidden
	}
	if err := events.CheckIdempotencyKey(key); err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	tenant, err := x.s.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find tenant: %w", err)
	}
	principal := token.Principal(tenant, caller.Principal)
	made, err := x.made(ctx, tenant, command, principal, key)
	if err != nil {
		return 0, err
	}
	id, begun, err := x.suppressionOf(ctx, caller, tenant, command, principal, key, &req, whole)
	if err != nil {
		return 0, err
	}
	if made {
		return x.count(ctx, tenant, id)
	}
	named, err := x.eraser.Forget(ctx, caller, "", dry(req))
	if err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	if whole && len(named.IDs) == 0 {
		kept, err := x.count(ctx, tenant, id)
		if err == nil && kept == 0 && begun {
			err = valuesUnknown()
		}
		return kept, err
	}
	return x.add(ctx, tenant, principal, id, named.IDs, req.IDs != nil)
}

// dry is a request that changes nothing, nor counts against a maximum, which is for
// the forget itself to check.
func dry(req tombstones.ForgetRequest) tombstones.ForgetRequest {
	req.DryRun = true
	return req
}

// suppressionOf is the id of what a command keeps out, "" for a fresh one, and
// whether the erasure that it belongs to has an account.
func (x *Suppressor) suppressionOf(
	ctx context.Context, caller events.Caller, tenant *seal.Tenant, command, principal, key string, req *tombstones.ForgetRequest, whole bool,
) (id string, begun bool, err error) {
	erasure := ""
	switch {
	case key != "":
		erasure = token.Erasure(tenant, command, principal, key)
	case whole:
		if erasure, begun, err = x.eraser.ErasureByName(ctx, caller, req.Filter.Subject); err != nil {
			return "", false, fmt.Errorf("find erasure: %w", err)
		}
	}
	if erasure == "" {
		return "", false, nil
	}
	return token.Erasure(tenant, commandSuppress, "", erasure), begun, nil
}

func (x *Suppressor) count(ctx context.Context, tenant *seal.Tenant, id string) (int, error) {
	n, err := x.set.Count(ctx, tenant, id)
	if err != nil {
		return 0, fmt.Errorf("count what is kept out: %w", err)
	}
	return n, nil
}

// add keeps the values of records out. If every one of them must be known, what is
// forgotten refuses all before anything is kept out.
func (x *Suppressor) add(ctx context.Context, tenant *seal.Tenant, principal, id string, ids []string, every bool) (kept int, err error) {
	if every {
		if err := x.known(ctx, tenant.Token(), ids); err != nil {
			return 0, err
		}
	}
	for page := range slices.Chunk(ids, pageSize) {
		values, err := x.values(ctx, tenant.Token(), page)
		if err != nil {
			return 0, err
		}
		if every && len(values) < len(page) {
			return 0, valuesUnknown()
		}
		if id, kept, err = x.set.Add(ctx, tenant, principal, id, values); err != nil {
			return 0, fmt.Errorf("keep out: %w", err)
		}
	}
	return kept, nil
}

// known refuses records whose values nobody knows any more.
func (x *Suppressor) known(ctx context.Context, tenant string, ids []string) error {
	items, _, err := x.items(ctx, tenant, ids)
	if err == nil && len(items) < len(ids) {
		err = valuesUnknown()
	}
	return err
}

func valuesUnknown() error {
	return &events.InputError{
		Kind: events.Refused, Code: "values_unknown", Field: "suppress",
		Rule: "was forgotten already: its values are not known any more, and cannot be kept out",
	}
}

// made reports whether a command under a key has begun to forget, which it does
// only when all that it names is kept out.
func (x *Suppressor) made(ctx context.Context, tenant *seal.Tenant, command, principal, key string) (bool, error) {
	if key == "" {
		return false, nil
	}
	_, err := x.s.keys.Record(ctx, tenant.Token(), token.Erasure(tenant, command, principal, key))
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find erasure: %w", err)
	}
	return true, nil
}

// values reads records, also those under a legal hold: of what they say nothing is
// shown, and only keyed hashes are kept. What is forgotten has none.
func (x *Suppressor) values(ctx context.Context, tenant string, ids []string) ([]string, error) {
	items, of, err := x.items(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	opened, err := x.s.openAll(ctx, items)
	if err != nil {
		return nil, err
	}
	values := make([]string, 0, len(opened))
	for i, plain := range opened {
		if plain == nil {
			err := x.s.lost(ctx, tenant, of[i].kind, of[i].aggregate, items[i].Scope.Subject)
			if !errors.Is(err, events.ErrForgotten) {
				return nil, err
			}
			continue
		}
		value, err := comparedValue(of[i].kind, plain)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// items are the contents of the records that are there.
func (x *Suppressor) items(ctx context.Context, tenant string, ids []string) (items []seal.Item, of []record, err error) {
	snap, err := x.s.views.Snapshot(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open snapshot: %w", err)
	}
	defer snap.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	for _, id := range ids {
		id = token.CanonicalID(id)
		e, err := snap.Episode(tenant, id)
		switch {
		case err == nil && e.Forgotten:
			continue
		case err == nil:
			items, of = append(items, episodeItem(&e)), append(of, record{events.KindEpisode, id, id})
			continue
		case !errors.Is(err, events.ErrNotFound):
			return nil, nil, fmt.Errorf("read episode: %w", err)
		}
		f, err := snap.Fact(tenant, id)
		switch {
		case errors.Is(err, events.ErrNotFound):
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("read fact: %w", err)
		case f.Status == events.StatusDeleted:
			continue
		}
		items, of = append(items, factItem(&f)), append(of, record{events.KindFact, id, f.Slot})
	}
	return items, of, nil
}

// comparedValue is the text of an episode or the value of a fact, as it is compared.
func comparedValue(kind events.Kind, plain []byte) (string, error) {
	if kind == events.KindEpisode {
		content, err := parse[events.EpisodeContent](plain)
		return content.Text, err
	}
	content, err := parse[events.FactContent](plain)
	if err != nil {
		return "", err
	}
	return suppression.Value(content.Predicate, content.Value), nil
}
