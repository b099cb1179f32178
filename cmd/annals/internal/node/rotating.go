package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// rootRing is what rotates the key at the top; a keyring is one.
type rootRing interface {
	RotateRoot(ctx context.Context) error
	FinishRoot(ctx context.Context) error
	RootEpochs() seal.RootEpochs
}

// rotator gives the root a fresh key, when it is told to and when the one it has
// is old. Each rotation destroys the former key, and with it all copies of the
// key rows from before.
type rotator struct {
	keys rootRing
	// every is how old the root's key gets; zero is for ever.
	every time.Duration
	// shared says that other processes may wrap under the root.
	shared bool
	now    func() time.Time
	logger *slog.Logger
	// prepare replaces the keys under the root that could open what is to be dead
	// in older copies.
	prepare func(ctx context.Context) error

	mu    sync.Mutex // one rotation at a time
	heard sync.Mutex // guards tell
	tell  []func(epoch uint64, at time.Time)
}

const (
	// rotationTimeout bounds each part of a rotation. The root's own, nobody can cancel half-way.
	rotationTimeout = 10 * time.Minute
	// rotationRetry is how long after a rotation that failed the next is tried.
	rotationRetry = time.Minute
	// rotationLook is how long a wait for the next one is at most, so that a clock
	// that was set is noticed.
	rotationLook = time.Hour
)

// errSharedRoot refuses a rotation that could take other processes their root.
var errSharedRoot = &events.InputError{
	Kind: events.Refused, Code: "root_shared", Field: "alone",
	Rule: "must be true, after all other processes on this log have been stopped; they need a copy of the root key file before they start again",
}

// OnRootDestroyed has f called with the number of every epoch of the root key that
// is destroyed, and when it was; in a run of the node first with the last one that
// was destroyed before, if that is known. What was erased before the next epoch
// began ([seal.RootEpochs.DeadBefore]) is dead in all copies of the keys then. It
// is to be called before Run, and f must not block.
func (n *Node) OnRootDestroyed(f func(epoch uint64, at time.Time)) {
	n.rotator.heard.Lock()
	defer n.rotator.heard.Unlock()
	n.rotator.tell = append(n.rotator.tell, f)
}

// Run takes up a rotation that was interrupted, and rotates by the schedule until
// the context ends. A rotation that fails is tried again; it ends nothing.
func (r *rotator) Run(ctx context.Context) error {
	r.announce()
	if r.keys.RootEpochs().Former != nil && !r.shared {
		r.attempt(ctx, r.finish)
	}
	for {
		d := rotationLook
		if r.every > 0 && !r.shared {
			if d = min(d, r.keys.RootEpochs().Current.Created.Add(r.every).Sub(r.now())); d <= 0 {
				d = rotationLook
				if !r.attempt(ctx, func(ctx context.Context) error { _, err := r.rotate(ctx); return err }) {
					d = rotationRetry
				}
			}
		}
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

func (r *rotator) attempt(ctx context.Context, do func(context.Context) error) bool {
	err := do(ctx)
	if err != nil {
		r.logger.LogAttrs(ctx, slog.LevelError, "rotation of the root key failed", slog.String("error", err.Error()))
	}
	return err == nil
}

// Rotate is what the door calls.
func (r *rotator) Rotate(ctx context.Context, alone bool) (httpapi.RootRotation, error) {
	if r.shared && !alone {
		return httpapi.RootRotation{}, errSharedRoot
	}
	return r.rotate(ctx)
}

// rotate finishes the rotation that is under way, which may have begun long ago,
// and carries out another.
func (r *rotator) rotate(ctx context.Context) (httpapi.RootRotation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys.RootEpochs().Former != nil {
		if err := r.carryOut(ctx); err != nil {
			return httpapi.RootRotation{}, err
		}
	}
	if r.prepare != nil {
		// It waits for the views, and may be cut off anywhere: a stop of the node must not wait for it.
		pctx, cancel := context.WithTimeout(ctx, rotationTimeout)
		err := r.prepare(pctx)
		cancel()
		if err != nil {
			return httpapi.RootRotation{}, fmt.Errorf("rotate keys under the root: %w", err)
		}
	}
	old := r.keys.RootEpochs().Current
	if err := r.carryOut(ctx); err != nil {
		return httpapi.RootRotation{}, err
	}
	e := r.keys.RootEpochs()
	return httpapi.RootRotation{Old: httpapi.EpochOf(old), New: httpapi.EpochOf(e.Current), Destroyed: e.Destroyed}, nil
}

// finish ends the rotation that is under way.
func (r *rotator) finish(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.carryOut(ctx)
}

// carryOut does both steps of a rotation, or what is left of them. Nothing has to
// be waited for between them: the keyring waits for its own calls, and no other
// process has cached a key that ends.
func (r *rotator) carryOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rotationTimeout)
	defer cancel()
	if err := r.keys.RotateRoot(ctx); err != nil {
		return fmt.Errorf("rotate root key: %w", err)
	}
	if err := r.keys.FinishRoot(ctx); err != nil {
		return fmt.Errorf("finish rotation of root key: %w", err)
	}
	e := r.keys.RootEpochs()
	r.logger.LogAttrs(ctx, slog.LevelInfo, "root key rotated", slog.Uint64("epoch", e.Current.Number), slog.Time("destroyed", e.Destroyed))
	r.announce()
	return nil
}

// announce tells who wants to know of the last epoch that was destroyed.
func (r *rotator) announce() {
	e := r.keys.RootEpochs()
	if e.Former != nil || e.Destroyed.IsZero() {
		return
	}
	r.heard.Lock()
	defer r.heard.Unlock()
	for _, f := range r.tell {
		f(e.Current.Number-1, e.Destroyed)
	}
}
