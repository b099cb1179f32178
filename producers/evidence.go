package producers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers/policy"
)

// Evidence is what the log says of one source that a candidate names.
type Evidence struct {
	// Ref names the episode and its subject. Its episode is "" for an id that
	// can be no episode's.
	Ref events.SourceRef
	// Found says that there is, or was, such an episode in the tenant.
	Found bool
	// Forgotten says that the episode or its subject has a tombstone, of the
	// erasure named.
	Forgotten bool
	Erasure   string
	// Retired says that it is of a revision of its source that is not current.
	Retired bool
	// Trust and Sensitivity are the episode's.
	Trust       events.Trust
	Sensitivity string
	// Principal is the token of who captured it.
	Principal string
	// Guard is what the scan of it found.
	Guard events.Guard
}

func (e *Evidence) isAlive() bool { return e.Found && !e.Forgotten }

// basis is what of the evidence is recorded with a decision on a fact about a
// subject.
func (e *Evidence) basis(subject string) events.EvidenceBasis {
	return events.EvidenceBasis{
		Episode: e.Ref.Episode, Found: e.Found, Forgotten: e.Forgotten, Other: e.Found && e.Ref.Subject != subject,
		Retired: e.Retired, Trust: e.Trust, Sensitivity: e.Sensitivity,
		Principal: e.Principal, Guard: e.Guard,
	}
}

// EvidenceBasis is what of the evidence is recorded with a decision on a fact
// about a subject, which is given by its id.
func EvidenceBasis(subject string, evidence []Evidence) []events.EvidenceBasis {
	list := make([]events.EvidenceBasis, len(evidence))
	for i := range evidence {
		list[i] = evidence[i].basis(subject)
	}
	return list
}

// grounds is what the log says at one time of all that a decision rests on.
type grounds struct {
	evidence []Evidence
	// consent is what the subject says of the category.
	consent string
	policy  *policy.Policy
}

// parallelReads bounds how many things one command asks the log at once.
const parallelReads = 8

// groundsOf asks the log about every source, in the order of the request, about
// the subject's consent to the class, and about the policy in force. An episode
// of another tenant is not found: the tenant is part of its subject.
func (g *Gateway) groundsOf(ctx context.Context, tenant, subject, class string, sources []string) (grounds, error) {
	out := grounds{evidence: make([]Evidence, len(sources))}
	subjects := newReadOnce(func(ctx context.Context, sid string) (events.SubjectState, error) {
		return events.ReadSubject(ctx, g.log, tenant, sid)
	})
	origins := newReadOnce(func(ctx context.Context, source string) (events.SourceState, error) {
		return events.ReadSource(ctx, g.log, tenant, source)
	})
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	reads.Go(func() (err error) {
		out.policy, err = g.policyOf(ctx, tenant)
		return err
	})
	reads.Go(func() error {
		s, err := subjects.get(ctx, subject)
		out.consent = consentOf(&s, class)
		return err
	})
	for i, s := range sources {
		id := token.CanonicalID(s)
		if id == "" {
			continue // no id of ours, and perhaps somebody's name: it goes no further
		}
		reads.Go(func() (err error) {
			out.evidence[i], err = g.sourceEvidence(ctx, tenant, id, subjects, origins)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return grounds{}, fmt.Errorf("read sources: %w", err)
	}
	return out, nil
}

func (g *Gateway) sourceEvidence(ctx context.Context, tenant, id string, subjects *readOnce[events.SubjectState], origins *readOnce[events.SourceState]) (Evidence, error) {
	e := Evidence{Ref: events.SourceRef{Episode: id}}
	a := events.Aggregate{Tenant: tenant, Kind: events.KindEpisode, ID: id}
	last, err := g.log.Last(ctx, a)
	if errors.Is(err, events.ErrNoCommits) {
		return e, nil
	}
	if err != nil {
		return Evidence{}, fmt.Errorf("read source: %w", err)
	}
	released := false
	for _, ev := range last.Events {
		switch ev := ev.(type) {
		case events.EpisodeCaptured:
			e.Found, e.Trust, e.Guard, e.Principal, e.Sensitivity = true, ev.Trust, ev.Guard, last.Principal, ev.Sensitivity
			e.Ref.Subject, e.Ref.Source, e.Ref.Revision, e.Ref.At = ev.Subject, ev.Source, ev.Revision, last.Position
			released = ev.Released != 0
		case events.EpisodeForgotten:
			e.Found, e.Forgotten = true, true
			e.Ref.Subject, e.Erasure = ev.Subject, ev.Erasure
		default: // what waits in quarantine is not there
		}
	}
	if !e.isAlive() {
		return e, nil
	}
	if released { // by a reviewer; who captured it wrote the first commit
		if e.Principal, err = g.firstPrincipal(ctx, a); err != nil {
			return Evidence{}, err
		}
	}
	about, err := subjects.get(ctx, e.Ref.Subject)
	if err != nil {
		return Evidence{}, fmt.Errorf("read subject of source: %w", err)
	}
	if e.Erasure = about.Erasure; e.Erasure != "" {
		e.Forgotten = true
		return e, nil
	}
	if e.Ref.Source == "" {
		return e, nil
	}
	origin, err := origins.get(ctx, e.Ref.Source)
	if err != nil {
		return Evidence{}, fmt.Errorf("read revisions of source: %w", err)
	}
	e.Retired = !origin.IsCurrent(e.Ref.Revision, e.Ref.At)
	return e, nil
}

// firstPrincipal is the principal of an aggregate's first commit.
func (g *Gateway) firstPrincipal(ctx context.Context, a events.Aggregate) (string, error) {
	for r, err := range g.log.ReadAggregate(ctx, a, 0) {
		if err != nil {
			return "", fmt.Errorf("read source: %w", err)
		}
		return r.Principal, nil
	}
	return "", nil
}

// readOnce reads each thing once, however many ask for it at the same time.
type readOnce[T any] struct {
	read func(ctx context.Context, id string) (T, error)
	mu   sync.Mutex
	got  map[string]func() (T, error)
}

func newReadOnce[T any](read func(ctx context.Context, id string) (T, error)) *readOnce[T] {
	return &readOnce[T]{read: read, got: make(map[string]func() (T, error))}
}

func (r *readOnce[T]) get(ctx context.Context, id string) (T, error) {
	r.mu.Lock()
	once, ok := r.got[id]
	if !ok {
		once = sync.OnceValues(func() (T, error) { return r.read(ctx, id) })
		r.got[id] = once
	}
	r.mu.Unlock()
	return once()
}
