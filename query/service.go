package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// waitLimit is how long a read waits for a position.
const waitLimit = 5 * time.Second

// ErrConfig says that a service was made without something it needs.
var ErrConfig = errors.New("query: bad configuration")

// Traces records that memories were recalled. Whoever implements it is the one
// who writes: query itself never does.
type Traces interface {
	RecordRecall(ctx context.Context, caller events.Caller, recalled Recalled) (trace string, position uint64, err error)
}

// Recalled is what a trace keeps of one recall.
type Recalled struct {
	// Subject is the id of the subject asked about, "" if the tenant was.
	Subject string
	// Query is the question; it must be sealed.
	Query string
	// Memories are the ids of the answer, best first.
	Memories []string
	// At is the position that was read.
	At uint64
	// Weights is the name of the weights, "custom" if the request had its own.
	Weights string
	// Lowest is the lowest trust of the memories, zero if there are none.
	Lowest events.Trust
	// Terms are those of the memories, nil if they were not ranked.
	Terms *events.RecallTerms
}

// Encoder turns a question into a vector of unit length, nil for a text without
// a word that it knows.
type Encoder interface {
	// Key names the model, as the vectors of memories name theirs.
	Key() string
	EncodeQuery(ctx context.Context, text string) ([]float32, error)
}

// Config is what a service is made of.
type Config struct {
	Views *projectors.Views
	Keys  *seal.Keyring
	// Log gives the last word on a record, for strong reads and lineage.
	Log    events.AggregateReader
	Traces Traces
	// Model is optional: without one only words are searched for.
	Model Encoder
	// Others finds the encoders of other models, by which a search index may have been
	// made before; nil knows none.
	Others func(key string) (Encoder, bool)
	// Now is the clock that freshness, expiry and "current" go by.
	Now func() time.Time
	// Weights are by name; [DefaultWeightsName] has a default.
	Weights map[string]Weights
	// Horizons are by category; others have [DefaultHorizon]. What Tuner says of one
	// comes first.
	Horizons map[string]time.Duration
	// Tuner says more of categories, tenant by tenant; nil says nothing.
	Tuner Tuner
	// Scanner looks again at what was scanned with other rules; nil does not.
	Scanner Scanner
	// Quarantine has the episodes that wait for a reviewer; nil has none.
	Quarantine Quarantine
	// Deadlines tells until when candidates wait; nil is for ever.
	Deadlines Deadlines
}

// Service answers questions. It is safe for concurrent use, starts no
// goroutines and keeps no memories.
type Service struct {
	views    *projectors.Views
	keys     *seal.Keyring
	log      events.AggregateReader
	traces   Traces
	model    Encoder
	others   func(key string) (Encoder, bool)
	now      func() time.Time
	named    map[string]Weights
	horizons map[string]time.Duration
	tuner    Tuner
	scanner  Scanner
	tokens   *counter

	quarantine Quarantine
	deadlines  Deadlines
}

// New makes a service. The error is ErrConfig.
func New(c Config) (*Service, error) {
	if c.Views == nil || c.Keys == nil || c.Log == nil || c.Traces == nil || c.Now == nil {
		return nil, fmt.Errorf("%w: something is missing", ErrConfig)
	}
	named := map[string]Weights{DefaultWeightsName: DefaultWeights()}
	maps.Copy(named, c.Weights)
	for _, w := range named {
		if !w.Valid() {
			return nil, fmt.Errorf("%w: weights are not in 0..1 or do not sum to 1", ErrConfig)
		}
	}
	return &Service{
		views: c.Views, keys: c.Keys, log: c.Log, traces: c.Traces, model: c.Model, others: c.Others, now: c.Now,
		named: named, horizons: maps.Clone(c.Horizons), tuner: c.Tuner, scanner: c.Scanner, tokens: newCounter(), quarantine: c.Quarantine, deadlines: c.Deadlines,
	}, nil
}

// reading is one read: whose it is and the state it sees.
type reading struct {
	tenant *seal.Tenant
	token  string
	snap   *projectors.Snapshot
	now    time.Time
	// tuned is what a recall goes by.
	tuned tuned
	// untrusted says that the caller is not told what became of a candidate.
	untrusted bool
	// all says that nothing is withheld from the caller.
	all bool
}

// open checks the role, waits for the position and takes a snapshot. A tenant
// that nobody has written for is a reading with a nil tenant: it has nothing,
// which is an answer and not an error.
func (s *Service) open(ctx context.Context, caller events.Caller, waitFor uint64, roles ...events.Role) (*reading, error) {
	if !caller.Has(roles...) {
		return nil, events.ErrForbidden
	}
	if err := s.wait(ctx, waitFor); err != nil {
		return nil, err
	}
	tenant, err := s.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		tenant, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find tenant: %w", err)
	}
	snap, err := s.views.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	r := &reading{tenant: tenant, snap: snap, now: events.Micro(s.now()), untrusted: caller.Trust.IsUntrusted(), all: seesAll(caller)}
	if tenant != nil {
		r.token = tenant.Token()
	}
	return r, nil
}

// again is the same reading of the views as they are by now.
func (s *Service) again(ctx context.Context, r *reading) (*reading, error) {
	fresh, err := s.views.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	same := *r
	same.snap = fresh
	return &same, nil
}

// silent reports whether nothing is shown of a subject: it is forgotten, or under
// a legal hold.
func (r *reading) silent(sid string) bool {
	return r.snap.SubjectForgotten(r.token, sid) || r.snap.Held(r.token, sid)
}

// close lets go of the snapshot.
func (r *reading) close() {
	_ = r.snap.Close() // a snapshot that was only read has nothing to lose
}

func (s *Service) wait(ctx context.Context, position uint64) error {
	if position == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	if err := s.views.WaitFor(ctx, position); err != nil {
		return fmt.Errorf("wait for position: %w", err)
	}
	return nil
}

// subject is the id of an outside name; ok is false if nothing is kept about it.
func (r *reading) subject(ctx context.Context, name string) (sid string, ok bool, err error) {
	if r.tenant == nil {
		return "", false, nil
	}
	sid, err = r.tenant.FindSubject(ctx, name)
	if errors.Is(err, seal.ErrUnknownSubject) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("find subject: %w", err)
	}
	return sid, true, nil
}
