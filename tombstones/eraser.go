package tombstones

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

const (
	// waitLimit is how long a forget waits for the views, if nothing else is said.
	waitLimit = 10 * time.Second
	// maxTries bounds how often a conflict is answered by another try: each
	// means that someone else got on.
	maxTries = 100
	// batchSize is how many tombstones are appended at once.
	batchSize = 500
	// firstRetry and lastRetry bound the pauses of what is done in the
	// background.
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
)

// ErrConfig says that an eraser was made without something it needs.
var ErrConfig = errors.New("tombstones: configuration is incomplete")

// Log is what the saga needs of the log.
type Log interface {
	events.Appender
	events.AggregateReader
	events.KindReader
	// State, Follow and MessageAt are those of events.Follower.
	State(ctx context.Context) (events.State, error)
	Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error]
	MessageAt(ctx context.Context, position uint64) (events.Message, error)
}

// Config is what an eraser is made of. Log, Keys, Views, Now and NewID are
// required.
type Config struct {
	Log   Log
	Keys  *seal.Keyring
	Views Views
	// Ledger gets a copy of every tombstone, hold and withdrawal; nil keeps none.
	Ledger Ledger
	// Purging removes bytes; without it an erasure goes no
	// further than shredded. It needs a ledger.
	Purging *Purging
	// Rotation ends older copies of the keys; without it an erasure goes no further
	// than purged.
	Rotation *Rotation
	// Now is the writer's clock in the commits.
	Now func() time.Time
	// NewID makes the ids of erasures without an idempotency key: UUIDs in
	// canonical lower case.
	NewID func() string
	// Logger is told what has to be tried again, by positions and counts; nil
	// tells nobody.
	Logger *slog.Logger
	// FirstRetry is the pause after a first error of what is done in the
	// background; 0 is a quarter of a second. Pauses grow up to a minute.
	FirstRetry time.Duration
	// Wait is how long a forget waits for the views; 0 is ten seconds.
	Wait time.Duration
}

// Eraser forgets. It is safe for concurrent use, and any number of them in any
// number of processes may share a log.
type Eraser struct {
	log   Log
	keys  *seal.Keyring
	views Views
	now   func() time.Time
	newID func() string
	// subjects joins forgets of one subject that run at the same time, so that
	// all get the answer of the one that did it.
	subjects singleflight.Group
	ledger   Ledger
	purging  *Purging
	rotation *Rotation
	// rotating is held by who replaces keys.
	rotating sync.Mutex
	// begunAccounts are the accounts there are, for lists of them.
	begunAccounts *begunAccounts
	// queue is what Run is to destroy.
	queue *queue
	// unfinished are the erasures that Run is to see to, waiting those that have
	// nothing to wait for but the rotation of the root.
	unfinished, waiting *unfinished
	// met says that those of the log as it was at the start are among them.
	met atomic.Bool
	// rounds is held during a round, of whose this is: the [Rotation.DeadBefore] by
	// which all that wait were looked at.
	rounds     sync.Mutex
	judged     time.Time
	logger     *slog.Logger
	firstRetry time.Duration
	// patience is how long a forget waits for the views.
	patience time.Duration
}

// New returns an eraser. It reads and writes nothing yet and starts no
// goroutine.
func New(c Config) (*Eraser, error) {
	if c.Log == nil || c.Keys == nil || c.Views == nil || c.Now == nil || c.NewID == nil {
		return nil, ErrConfig
	}
	if c.Purging != nil && (c.Ledger == nil || !c.Purging.complete()) {
		return nil, ErrConfig
	}
	if c.Rotation != nil && c.Rotation.DeadBefore == nil {
		return nil, ErrConfig
	}
	e := &Eraser{
		log: c.Log, keys: c.Keys, views: c.Views, now: c.Now, newID: c.NewID,
		ledger: c.Ledger, purging: c.Purging, rotation: c.Rotation,
		begunAccounts: newBegunAccounts(), queue: newQueue(), unfinished: newUnfinished(), waiting: newUnfinished(), logger: c.Logger, firstRetry: c.FirstRetry,
		patience: c.Wait,
	}
	if e.logger == nil {
		e.logger = slog.New(slog.DiscardHandler)
	}
	if e.firstRetry <= 0 {
		e.firstRetry = firstRetry
	}
	if e.patience <= 0 {
		e.patience = waitLimit
	}
	return e, nil
}

// mayForget says whether the caller may forget, take back a consent, or ask what would
// be forgotten: agents and admins whose channel is neither external nor a tool. What
// comes by those takes nothing away from what is trusted more.
func mayForget(c events.Caller) bool {
	return c.Has(events.RoleAgent, events.RoleAdmin) && !c.Trust.IsUntrusted()
}

// ForgetRecord forgets one episode or fact. Forgetting it again is the same
// answer, at the level that its erasure has reached by then. The errors are
// ErrForbidden, also for a caller of an external or tool channel whatever its roles,
// ErrNotFound for what is not there or not the caller's, ErrKeyReused, ErrBehind if the views did not get there in time
// (the tombstone is in the log; the same call again completes it), and the
// log's.
func (e *Eraser) ForgetRecord(ctx context.Context, caller events.Caller, key string, kind events.Kind, id string) (Erasure, error) {
	job, err := e.begin(ctx, caller, key, "forget_record", []string{string(kind), id})
	if err != nil {
		return Erasure{}, err
	}
	canonical := token.CanonicalID(id)
	if canonical == "" || job.tenant == nil {
		return Erasure{}, events.ErrNotFound
	}
	t, err := e.find(ctx, job, canonical)
	if err != nil {
		return Erasure{}, err
	}
	if t.Kind != kind {
		return Erasure{}, events.ErrNotFound
	}
	if err := job.claim(ctx, e.keys, token.Plan{Matched: 1}); err != nil {
		return Erasure{}, err
	}
	return e.forget(ctx, job, []target{t})
}

// Forget forgets the records that a request names by id, filter or source. All
// ids must be there: if one is not, nothing changes and the error is
// ErrNotFound. More matches than the request's maximum are an InputError of
// kind Refused, and nothing changes. When more than a few dozen keys are to be
// destroyed the answer is [LevelDenied], and they are destroyed after it, while
// [Eraser.Run] runs; the same call under the same key tells the level reached by
// then. The other errors are those of
// [Eraser.ForgetRecord]; with ErrBehind from a filter or a source nothing may
// have been written yet.
func (e *Eraser) Forget(ctx context.Context, caller events.Caller, key string, req ForgetRequest) (Erasure, error) {
	if !mayForget(caller) {
		return Erasure{}, events.ErrForbidden
	}
	if err := req.validate(); err != nil {
		return Erasure{}, err
	}
	asked := req
	asked.Reason = ""
	job, err := e.begin(ctx, caller, key, "forget", asked)
	if err != nil {
		return Erasure{}, err
	}
	job.scope = req.scope()
	targets, err := e.targets(ctx, job, &req)
	if err != nil {
		return Erasure{}, err
	}
	derived, weakened := 0, 0
	if req.DryRun || req.Max != nil && job.plan == nil {
		if derived, weakened, err = e.cascaded(ctx, job, targets); err != nil {
			return Erasure{}, err
		}
	}
	if req.Max != nil && len(targets)+derived > *req.Max && job.plan == nil {
		return Erasure{}, &events.InputError{
			Kind: events.Refused, Code: "over_max", Field: "max", Rule: "more records match, or would go with them, than max allows",
		}
	}
	if req.DryRun {
		ids := make([]string, len(targets))
		for i, t := range targets {
			ids[i] = t.ID
		}
		return Erasure{Matched: len(ids), Kinds: kindsOf(targets), Cascaded: &derived, Weakened: &weakened, IDs: ids}, nil
	}
	if len(targets) == 0 && !job.keyed {
		return nothing(), nil
	}
	if err := job.claim(ctx, e.keys, token.Plan{Matched: len(targets), UpTo: job.upTo}); err != nil {
		return Erasure{}, err
	}
	return e.forget(ctx, job, targets)
}

// SubjectRequest asks to forget everything about a subject.
type SubjectRequest struct {
	// Subject is the outside name.
	Subject string
	// Reason is checked and not kept.
	Reason string
	// Suppress keeps what is forgotten from coming back. It is part of what an
	// idempotency key stands for, and for whoever calls to see to: package query does.
	Suppress bool
}

// command is what an idempotency key stands for.
func (r *SubjectRequest) command() []string {
	c := []string{token.NFC(r.Subject)}
	if r.Suppress {
		c = append(c, "suppress")
	}
	return c
}

// ForgetSubject is [Eraser.ForgetAbout] of a name and a reason.
func (e *Eraser) ForgetSubject(ctx context.Context, caller events.Caller, key, subject, reason string) (Erasure, error) {
	return e.ForgetAbout(ctx, caller, key, SubjectRequest{Subject: subject, Reason: reason})
}

// ForgetAbout forgets everything about a subject, and what other subjects'
// facts took from it alone. A name that
// nothing is kept about matches 0 and appends nothing, or, without a key, is answered
// with the last erasure that was asked for by this name without one; the same name used again
// afterwards is another subject, which no repetition under the key reaches. The errors are those of [Eraser.ForgetRecord].
func (e *Eraser) ForgetAbout(ctx context.Context, caller events.Caller, key string, req SubjectRequest) (Erasure, error) {
	if !mayForget(caller) {
		return Erasure{}, events.ErrForbidden
	}
	subject := req.Subject
	if err := checkName("subject", subject); err != nil {
		return Erasure{}, err
	}
	if err := checkReason(req.Reason); err != nil {
		return Erasure{}, err
	}
	job, err := e.begin(ctx, caller, key, "forget_subject", req.command())
	if err != nil {
		return Erasure{}, err
	}
	job.scope = scopeSubject
	if job.tenant == nil {
		return nothing(), nil
	}
	flight := job.token + "." + job.tenant.SubjectHash(subject)
	if job.keyed {
		flight += "." + job.erasure // which is that of the caller and the key
	} else {
		// Not that of a call that forgets whom the name stood for before: what
		// has been told since would stay.
		sid, err := job.tenant.SubjectID(ctx, subject, false)
		if err != nil && !errors.Is(err, seal.ErrUnknownSubject) {
			return Erasure{}, fmt.Errorf("find subject: %w", err)
		}
		flight += "." + sid
	}
	for {
		out, err, _ := e.subjects.Do(flight, func() (any, error) {
			out, err := e.forgetSubject(ctx, job, subject)
			if err != nil && ctx.Err() != nil {
				err = &cutOffError{err}
			}
			return out, err
		})
		if _, cut := errors.AsType[*cutOffError](err); cut && ctx.Err() == nil {
			continue // Another caller did it and gave up; this one has not.
		}
		if err != nil {
			return Erasure{}, fmt.Errorf("forget subject: %w", err)
		}
		erasure, _ := out.(Erasure) // nothing else is ever returned
		return erasure, nil
	}
}

// cutOffError is the error of a call whose own context has ended.
type cutOffError struct{ error }

// Unwrap returns the error itself.
func (e *cutOffError) Unwrap() error { return e.error }

// wait waits for the views up to the limit.
func (e *Eraser) wait(ctx context.Context, position uint64) error {
	if position == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	if err := e.views.WaitFor(ctx, position); err != nil {
		if errors.Is(err, events.ErrBehind) {
			return fmt.Errorf("wait for views: %w", err)
		}
		return fmt.Errorf("wait for views: %w: %w", events.ErrBehind, err)
	}
	return nil
}

// catchUp waits until the views have all that the log had acknowledged when it
// was called, and returns up to where.
func (e *Eraser) catchUp(ctx context.Context) (uint64, error) {
	state, err := e.log.State(ctx)
	if err != nil {
		return 0, fmt.Errorf("read state of the log: %w", err)
	}
	return state.Last, e.wait(ctx, state.Last)
}

// snapshot calls do with the views as they stand.
func (e *Eraser) snapshot(ctx context.Context, do func(Snapshot) error) error {
	snap, err := e.views.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	return errors.Join(do(snap), snap.Close())
}
