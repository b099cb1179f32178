package tombstones

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// saga takes one erasure through its levels. Each step is repeatable and is
// entered into the account.
type saga struct {
	*Eraser

	job     *job
	account *account
	// gone is what a cascade starts from.
	gone *forgotten
	// dead are the records whose keys are to be destroyed, and whose they are.
	dead map[string]string
	// subject is the id of a subject that goes as a whole, and dropName removes the
	// way from its name.
	subject  string
	dropName func() error
	// graves are tombstones that the ledger may not have.
	graves []ledger.Tombstone
	// holds tell of the subjects that the cascade has reached whether the log has a
	// hold on them.
	holds map[string]bool
	// repeated says that some of the keys may be gone already.
	repeated bool
}

func (e *Eraser) newSaga(j *job, erasure string) *saga {
	return &saga{
		Eraser: e, job: j, account: accountOf(j.token, erasure), gone: newForgotten(), dead: make(map[string]string),
		repeated: j.repeated || erasure != j.erasure,
	}
}

// forget takes targets through the saga and answers.
func (e *Eraser) forget(ctx context.Context, j *job, targets []target) (Erasure, error) {
	episodes, facts := parted(targets)
	if err := e.buryEpisodes(ctx, j, episodes); err != nil {
		return Erasure{}, err
	}
	graves, err := e.buryFacts(ctx, j, facts)
	if err != nil {
		return Erasure{}, err
	}
	out := Erasure{ErasureID: j.erasure, Matched: len(targets)}
	if j.plan != nil {
		out.Matched = j.plan.Matched
	}
	if len(targets) == 1 && out.Matched == 1 {
		out.ErasureID = targets[0].erasure
	}
	if len(targets) == 0 {
		if out.Matched == 0 {
			return nothing(), nil
		}
		return e.goneSince(ctx, j, out)
	}
	s := e.newSaga(j, out.ErasureID)
	for i := range targets {
		t := &targets[i]
		out.Position = max(out.Position, t.position)
		s.repeated = s.repeated || t.erasure != j.erasure
		if t.Kind == events.KindEpisode {
			s.gone.episodes[t.ID] = true
			if t.erasure == j.erasure {
				graves = append(graves, graveOf(j.token, t))
			}
		}
		// The row of a dead one that was made under an idempotency key stays, as
		// after a purge: its subject's tombstone does not keep the same call out.
		if !t.dead || !token.IsDerived(t.ID) {
			s.dead[t.ID] = t.Subject
		}
	}
	s.bury(graves)
	if err := s.deny(ctx, out.Matched, out.Position); err != nil {
		return Erasure{}, err
	}
	if s.repeated {
		if err := s.remember(ctx); err != nil {
			return Erasure{}, err
		}
	}
	out.Level, err = s.finish(ctx)
	return out, err
}

// goneSince is the answer to a repetition of which everything was taken along by
// another forget since, such as that of a whole subject.
func (e *Eraser) goneSince(ctx context.Context, j *job, out Erasure) (Erasure, error) {
	a := accountOf(j.token, j.erasure)
	if err := e.readAccount(ctx, a); err != nil {
		return Erasure{}, err
	}
	if !a.state.Known() {
		out.ErasureID = ""
	}
	out.Position, out.Level = a.state.Tombstone, shown(a.state.Level)
	return out, nil
}

// parted gives each kind its list.
func parted(targets []target) (episodes, facts []*target) {
	for i := range targets {
		if targets[i].Kind == events.KindEpisode {
			episodes = append(episodes, &targets[i])
		} else {
			facts = append(facts, &targets[i])
		}
	}
	return episodes, facts
}

func graveOf(tenant string, t *target) ledger.Tombstone {
	return ledger.Tombstone{
		Tenant: tenant, Kind: t.Kind, Aggregate: t.ID, Subject: t.Subject, Erasure: t.erasure, Position: t.position,
	}
}

// bury adds tombstones to what the saga has to see to.
func (s *saga) bury(graves []ledger.Tombstone) {
	for _, g := range graves {
		switch g.Kind { //nolint:exhaustive // Nothing else has tombstones.
		case events.KindSubject:
		case events.KindFact:
			s.dead[g.Record] = g.Subject
		default:
			s.dead[g.Aggregate] = g.Subject
		}
	}
	s.graves = append(s.graves, graves...)
}

// remember adds all records that the erasure has put a tombstone on, so that a
// repetition finishes what the first call left.
func (s *saga) remember(ctx context.Context) error {
	return s.snapshot(ctx, func(snap Snapshot) error {
		for t, err := range tombstonesOf(snap, s.job.token, s.account.aggregate.ID) {
			if err != nil {
				return err
			}
			if t.Kind != events.KindSubject {
				s.dead[t.ID] = t.Subject
			}
		}
		return nil
	})
}

// finish goes on from denied, and says how far the erasure is then. That the
// views lag behind the cascade leaves it denied; that a subject is held, held.
func (s *saga) finish(ctx context.Context) (Level, error) {
	last, err := s.cascade(ctx)
	if err != nil {
		return "", err
	}
	done, err := s.shred(ctx)
	if err != nil {
		return "", err
	}
	switch err := s.wait(ctx, last); {
	case errors.Is(err, events.ErrBehind):
		s.later(s.account)
		return LevelDenied, nil
	case err != nil:
		return "", err
	}
	if !done {
		s.later(s.account)
		if s.account.state.Level == LevelHeld {
			return LevelHeld, nil
		}
		return LevelDenied, nil
	}
	if err := s.shredded(ctx); err != nil {
		return "", err
	}
	s.later(s.account)
	return shown(s.account.state.Level), nil
}

// cascade decides on what was derived, and tells the ledger of what had nothing
// else. It returns the position of its last commit.
func (s *saga) cascade(ctx context.Context) (uint64, error) {
	last, derived, err := s.Eraser.cascade(ctx, s.job, s.account.aggregate.ID, s.gone)
	if err != nil {
		return 0, err
	}
	s.graves = nil
	s.bury(derived)
	if err := s.askHolds(ctx, derived); err != nil {
		return 0, err
	}
	return last, s.record(ctx)
}

// record writes the tombstones into the ledger, unless the account says that they
// are there.
func (s *saga) record(ctx context.Context) error {
	if s.ledger == nil || len(s.graves) == 0 || s.account.state.Level.AtLeast(LevelShredded) {
		return nil
	}
	if err := s.ledger.Record(ctx, s.graves); err != nil {
		return fmt.Errorf("copy tombstones: %w", err)
	}
	return nil
}
