package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// work is one command on its way: who it is from, what it makes, and under
// which key.
type work struct {
	tenant    *seal.Tenant
	principal string // token
	cmd       command
	// id is that of the record the command makes.
	id string
	// fingerprint is "" for a command without an idempotency key.
	fingerprint string
	// subject is an outside name.
	subject string
	// category is the token of the class.
	category string
	// refuseWithdrawn says that nothing is begun against a consent that was taken back.
	refuseWithdrawn bool
	// locate makes the note's kind and aggregate for a subject id.
	locate func(sid string) (events.Kind, string)
	// position is that of the command's commit, if the row follows it.
	position uint64

	rec     *seal.Record
	existed bool
}

// sid is the id of the subject that the record is about.
func (w *work) sid() string { return w.rec.Scope().Subject }

// prepare derives the id and fingerprint of a command.
func (g *Gateway) prepare(ctx context.Context, c events.Caller, cmd command, request any) (*work, error) {
	t, err := g.tenant(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return g.prepareIn(t, token.Principal(t, c.Principal), cmd, request)
}

func (g *Gateway) prepareIn(t *seal.Tenant, principal string, cmd command, request any) (*work, error) {
	w := &work{tenant: t, principal: principal, cmd: cmd, id: cmd.id(t, g.newID)}
	if cmd.key == "" {
		return w, nil
	}
	var err error
	if w.fingerprint, err = token.Fingerprint(t, request); err != nil {
		return nil, fmt.Errorf("compare request: %w", err)
	}
	return w, nil
}

// maxRebirths bounds how often a command starts again because its subject was
// forgotten while it ran. One is the rule; more need a forget each time.
const maxRebirths = 8

// begin makes the record's key and then asks whether the subject is alive. In
// this order no forget is missed: it writes its tombstone before it destroys
// keys, so that either the tombstone is seen here or the key is seen there.
//
// Where an earlier command found the subject alive under the same class, both
// are asked at once, which takes a third off the time of a capture: the class
// key that a forget destroys is there already. If it turns out that it was not,
// the forget may have been over between the two, and the subject is asked about
// again. What is captured while its subject is being forgotten is masked by
// every view either way.
func (g *Gateway) begin(ctx context.Context, w *work) error {
	for range maxRebirths {
		sid, err := g.subjectID(ctx, w.tenant, w.subject)
		if errors.Is(err, seal.ErrUnknownSubject) {
			continue // dropped as soon as it was made
		}
		if err != nil {
			return err
		}
		scope := seal.Scope{Tenant: w.tenant.Token(), Subject: sid, Class: w.category}
		lookUp := func() (standing, error) { return g.standingOf(ctx, w, w.sid()) }
		if g.names.isProven(scope) {
			beside := later(func() (standing, error) { return g.standingOf(ctx, w, sid) })
			lookUp = func() (standing, error) {
				state, err := beside()
				// The key was made before the name was given to another id, or
				// under a class key that had to be made again.
				if w.sid() != sid || w.rec.First() {
					state, err = g.standingOf(ctx, w, w.sid())
				}
				return state, err
			}
		}
		if err := g.createKey(ctx, w, scope); err != nil {
			return err
		}
		state, err := lookUp()
		if err == nil && state.life == lifeUnknown {
			state.life, err = g.register(ctx, w.tenant, w.sid(), w.subject, w.principal)
		}
		if err != nil {
			return err
		}
		if state.withdrawn && w.refuseWithdrawn && state.life == lifeAlive {
			return g.unbegin(ctx, w, refusedConsent())
		}
		if state.life == lifeAlive {
			g.names.prove(w.rec.Scope())
			return nil
		}
		if w.existed {
			g.names.dropSubject(w.tenant.Token(), w.subject)
			return events.ErrForgotten
		}
		if err := g.abandon(ctx, w); err != nil {
			return err
		}
	}
	return fmt.Errorf("find subject: %w", events.ErrConflict)
}

// later begins f and returns what waits for its answer. Whoever does not wait
// leaves nothing behind but f itself, to its end.
func later[T any](f func() (T, error)) func() (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := f()
		done <- answer{value, err}
	}()
	return func() (T, error) {
		a := <-done
		return a.value, a.err
	}
}

// unbegin destroys the key of a command that is not carried out, if it made it. A
// consent that was taken back has destroyed all keys from before it.
func (g *Gateway) unbegin(ctx context.Context, w *work, because error) error {
	_, refused := errors.AsType[*events.InputError](because)
	if w.existed && !refused {
		return because
	}
	if err := g.keys.DestroyRecord(ctx, w.tenant.Token(), w.id); err != nil {
		return fmt.Errorf("destroy record key: %w", err)
	}
	return because
}

// createKey makes the record's key, or takes the one that an earlier attempt
// of the same command made.
func (g *Gateway) createKey(ctx context.Context, w *work, scope seal.Scope) error {
	n, err := w.note(scope.Subject).Encode()
	if err != nil {
		return fmt.Errorf("create record key: %w", err)
	}
	w.rec, w.existed, err = g.keys.CreateRecord(ctx, scope, w.id, n)
	switch {
	case w.existed && errors.Is(err, seal.ErrKeyDestroyed):
		g.names.dropSubject(w.tenant.Token(), w.subject)
		return events.ErrForgotten
	case err != nil:
		return fmt.Errorf("create record key: %w", err)
	case !w.existed:
		return nil
	}
	return w.sameCommand()
}

func (w *work) note(sid string) token.Note {
	kind, aggregate := w.locate(sid)
	return token.Note{Fingerprint: w.fingerprint, Kind: kind, Aggregate: aggregate, Position: w.position}
}

// sameCommand says whether the stored key was made by this very command.
func (w *work) sameCommand() error {
	stored, err := token.ParseNote(w.rec.Note())
	if err != nil {
		return fmt.Errorf("read command: %w", err)
	}
	if w.cmd.key == "" {
		return fmt.Errorf("create record key: %w", events.ErrConflict) // a fresh id that is not fresh
	}
	if stored.Fingerprint != w.fingerprint {
		return events.ErrKeyReused
	}
	return nil
}

// abandon undoes what begin made under a subject that turned out to be
// forgotten: the record's key, the subject key above it that was made anew,
// and the way to the forgotten id, so that the next round gets a new one.
// The works are all about that subject, and there is at least one.
func (g *Gateway) abandon(ctx context.Context, works ...*work) error {
	w := works[0]
	tenant, sid := w.tenant.Token(), w.sid()
	ids := make([]string, len(works))
	for i, other := range works {
		ids[i] = other.id
		g.names.dropSubject(tenant, other.subject) // of which there may be several spellings
	}
	if err := g.keys.DestroyRecord(ctx, tenant, ids...); err != nil {
		return fmt.Errorf("abandon record: %w", err)
	}
	s, err := events.ReadSubject(ctx, g.log, tenant, sid)
	if err != nil {
		return fmt.Errorf("abandon subject: %w", err)
	}
	if len(s.Holds) > 0 {
		// What is forgotten and held is kept, its name too: until that is over
		// nothing can be written of it.
		return events.ErrHeld
	}
	if err := g.keys.DestroySubject(ctx, tenant, sid); err != nil {
		return fmt.Errorf("abandon subject: %w", err)
	}
	if err := w.tenant.DropSubject(ctx, sid, w.tenant.SubjectHash(w.subject)); err != nil {
		return fmt.Errorf("abandon subject: %w", err)
	}
	return nil
}

// forgotten is the answer to a key whose record was forgotten. The key row
// that this command made is destroyed again.
func (g *Gateway) forgotten(ctx context.Context, w *work) error {
	if !w.existed {
		if err := g.keys.DestroyRecord(ctx, w.tenant.Token(), w.id); err != nil {
			return fmt.Errorf("destroy record key: %w", err)
		}
	}
	return events.ErrForgotten
}

// commandRow makes sure of a key for a command that has no record of its own,
// by a row under the scope of the record it is about. Without a key there is
// nothing to make sure of. A class key that has to be made for the row was
// destroyed after it had opened that record, and is destroyed again.
func (g *Gateway) commandRow(ctx context.Context, w *work, scope seal.Scope) error {
	if w.cmd.key == "" {
		return nil
	}
	w.locate = func(string) (events.Kind, string) { return token.KindCommand, w.id }
	if err := g.createKey(ctx, w, scope); err != nil || !w.rec.First() {
		return err
	}
	if err := g.keys.DestroyClass(ctx, scope); err != nil {
		return fmt.Errorf("abandon command: %w", err)
	}
	return g.forgotten(ctx, w)
}
