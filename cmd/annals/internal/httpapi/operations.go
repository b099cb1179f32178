package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// Operation is long work on a projection.
type Operation struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	Projection string `json:"projection"`
	// State is running, done or failed.
	State    string `json:"state"`
	Position uint64 `json:"position"`
	Head     uint64 `json:"head"`
	// Folded is how many parked commits a retry has folded or found gone from
	// the log, Parked how many are left; a verify tells the latter, too.
	Folded    int    `json:"folded,omitzero"`
	Parked    uint64 `json:"parked,omitzero"`
	OldDigest string `json:"old_digest,omitempty"`
	NewDigest string `json:"new_digest,omitempty"`
	Error     string `json:"error,omitempty"`

	started time.Time
}

const (
	stateRunning = "running"
	stateDone    = "done"
	stateFailed  = "failed"
	// logName is what stands for the log itself in place of a projection.
	logName = "log"
	// keepOperations is how many ended operations are remembered.
	keepOperations = 100
)

// operations carries out one operation after another.
type operations struct {
	views  *projectors.Views
	ledger *ledger.Ledger
	newID  func() string
	now    func() time.Time
	log    *slog.Logger
	queue  chan string

	mu    sync.Mutex // guards what follows
	byID  map[string]*Operation
	order []string
}

func newOperations(v *projectors.Views, l *ledger.Ledger, newID func() string, now func() time.Time, log *slog.Logger) *operations {
	return &operations{
		views: v, ledger: l, newID: newID, now: now, log: log,
		queue: make(chan string, keepOperations), byID: map[string]*Operation{},
	}
}

func (o *operations) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-o.queue:
			// A damaged log ends it all; what else fails does not.
			if d, is := ledger.AsDamage(o.carryOut(ctx, id)); is {
				return d
			}
		}
	}
}

func (o *operations) carryOut(ctx context.Context, id string) error {
	op, err := o.get(id)
	if err != nil {
		return nil //nolint:nilerr // it was too old to be remembered
	}
	progress := func(p projectors.Progress) {
		o.change(id, func(op *Operation) { op.Position, op.Head = p.Position, p.Target })
	}
	var old, fresh string
	switch {
	case op.Projection == logName:
		err = o.ledger.Check(ctx, func(done, total uint64) {
			op.Position = done
			o.change(id, func(op *Operation) { op.Position, op.Head = done, total })
		})
	case op.Kind == "replay":
		var r projectors.ReplayResult
		r, err = o.views.Replay(ctx, op.Projection, progress)
		old, fresh, op.Position = r.Old, r.New, r.Position
	case op.Kind == "retry":
		var r projectors.RetryResult
		r, err = o.views.RetryParked(ctx, op.Projection)
		op.Folded, op.Parked = r.Folded+r.Gone, r.Parked
		if err == nil && r.Parked > 0 {
			err = fmt.Errorf("%d commits stay parked", r.Parked)
		}
	default:
		var r projectors.VerifyResult
		r, err = o.views.Verify(ctx, op.Projection, progress)
		old, fresh, op.Position = r.Kept, r.Fresh, r.Position
		if err == nil && !r.OK {
			err = fmt.Errorf("%d records differ from a fresh fold of the log", r.Differing)
		}
		// A fresh fold parks what the view has parked: that they are equal does not say
		// that either has all that is in the log.
		op.Parked = o.parked(ctx, op.Projection)
		if err == nil && op.Parked > 0 {
			err = fmt.Errorf("equal to a fresh fold of the log, but %d commits are parked", op.Parked)
		}
	}
	o.change(id, func(done *Operation) {
		done.State, done.OldDigest, done.NewDigest, done.Position = stateDone, old, fresh, op.Position
		done.Folded, done.Parked = op.Folded, op.Parked
		if err != nil {
			done.State, done.Error = stateFailed, err.Error()
		}
	})
	if err != nil {
		o.log.LogAttrs(ctx, slog.LevelError, "operation failed", slog.String("kind", op.Kind),
			slog.String("projection", op.Projection), slog.String("error", err.Error()))
	}
	return err
}

// parked is how many commits a view has parked.
func (o *operations) parked(ctx context.Context, view string) uint64 {
	for _, s := range o.views.Status(ctx) {
		if s.Projection == view {
			return s.Parked
		}
	}
	return 0
}

func (o *operations) change(id string, f func(*Operation)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op := o.byID[id]; op != nil {
		f(op)
	}
}

func (o *operations) get(id string) (Operation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op := o.byID[id]; op != nil {
		return *op, nil
	}
	return Operation{}, events.ErrNotFound
}

func (o *operations) begin(kind, projection string) (Operation, error) {
	op := &Operation{ID: o.newID(), Kind: kind, Projection: projection, State: stateRunning, started: o.now()}
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.queue <- op.ID:
	default:
		return Operation{}, fmt.Errorf("%w: too many operations are waiting", events.ErrBehind)
	}
	o.byID[op.ID] = op
	o.order = append(o.order, op.ID)
	if len(o.order) > 2*keepOperations {
		delete(o.byID, o.order[0])
		o.order = o.order[1:]
	}
	return *op, nil
}

// Projections is where every view stands.
type Projections struct {
	Projections []projectors.Status `json:"projections"`
}

// Health is the answer of the health calls.
type Health struct {
	Status string `json:"status"`
	// Detail is what goes on beside and takes no node out of service.
	Detail string `json:"detail,omitempty"`
}

func (a *API) operate() {
	admin := []events.Role{events.RoleAdmin}
	operators := []events.Role{events.RoleAdmin, events.RoleAuditor}
	add(a, Route{Method: http.MethodGet, Path: "/healthz", Summary: "The process runs.", Recovery: true},
		func(context.Context, Request[None]) (Health, error) { return Health{Status: "ok"}, nil })
	add(a, Route{Method: http.MethodGet, Path: "/readyz", Summary: "The log answers and every view is healthy and near its head.", Recovery: true},
		func(ctx context.Context, _ Request[None]) (Health, error) {
			if err := a.core.Ready(ctx); err != nil {
				return Health{}, err
			}
			return Health{Status: "ready", Detail: a.core.Embeddings.Changing()}, nil
		})
	a.routes = append(a.routes, Route{
		Method: http.MethodGet, Path: "/openapi.json", Summary: "This document.", Status: http.StatusOK, Recovery: true,
		in: reflect.TypeFor[None](), out: reflect.TypeFor[map[string]any](),
		serve: func(w http.ResponseWriter, _ *http.Request, _ events.Caller) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(a.doc) // nobody is left to tell
		},
	})
	add(a, Route{Method: http.MethodGet, Path: "/v1/projections", Summary: "Where every view stands.", Roles: operators, Recovery: true},
		func(ctx context.Context, _ Request[None]) (Projections, error) {
			if a.core.Views == nil {
				return Projections{[]projectors.Status{}}, nil
			}
			return Projections{a.core.Views.Status(ctx)}, nil
		})
	for kind, summary := range map[string]string{
		"replay": "Rebuild a view beside the serving one, compare digests, switch.",
		"verify": "Compare a view with a fresh fold of the log.",
		"retry":  "Fold again what a view has parked.",
	} {
		add(a, Route{Method: http.MethodPost, Path: "/v1/projections/{name}/" + kind, Summary: summary, Roles: admin, Status: http.StatusAccepted},
			func(ctx context.Context, r Request[None]) (Operation, error) {
				for _, s := range a.core.Views.Status(ctx) {
					if s.Projection == r.Path("name") {
						return a.ops.begin(kind, s.Projection)
					}
				}
				return Operation{}, events.ErrNotFound
			})
	}
	add(a, Route{Method: http.MethodGet, Path: "/v1/operations/{id}", Summary: "How far long work is.", Roles: operators, Recovery: true},
		func(_ context.Context, r Request[None]) (Operation, error) { return a.ops.get(r.Path("id")) })
}
