package tombstones

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// tally counts what is kept of a subject before its tombstone, all that were
// acknowledged before included if the views are not too far behind: what they do
// not have yet is read from the log. It is nil once the subject is forgotten.
func (e *Eraser) tally(ctx context.Context, j *job, sid string) (*Tally, error) {
	if _, err := e.catchUp(ctx); err != nil && !errors.Is(err, events.ErrBehind) {
		return nil, err
	}
	var found *Tally
	err := e.snapshot(ctx, func(s Snapshot) error {
		t, counted, err := s.Tally(j.token, sid)
		if counted {
			found = &t
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count records: %w", err)
	}
	return found, nil
}

// matchedBy is how many records of a subject the log has before its tombstone,
// whoever asks and whenever: from a tally of before it and what came in between,
// or, once there is none, from the beginning. What was forgotten before the
// tombstone is not among them, purged or not.
func (e *Eraser) matchedBy(ctx context.Context, tenant, sid string, tombstone uint64, before *Tally) (int, error) {
	if before != nil {
		c := &counting{tenant: tenant, sid: sid, tombstone: tombstone}
		if err := c.read(ctx, e.log, before.EpisodesAt, before.FactsAt); err != nil {
			return 0, err
		}
		if !c.lost {
			return before.Episodes + before.Facts + len(c.records), nil
		}
	}
	c := &counting{tenant: tenant, sid: sid, tombstone: tombstone}
	if err := c.read(ctx, e.log, 0, 0); err != nil {
		return 0, err
	}
	return len(c.records), nil
}

// counting counts the records of a subject in the log.
type counting struct {
	tenant, sid string
	tombstone   uint64
	records     map[string]bool
	// lost says that one was forgotten of which this has not seen the beginning.
	lost bool
}

func (c *counting) read(ctx context.Context, log events.KindReader, episodes, facts uint64) error {
	c.records = make(map[string]bool)
	for kind, after := range map[events.Kind]uint64{events.KindEpisode: episodes, events.KindFact: facts} {
		if after >= c.tombstone {
			continue
		}
		for m, err := range log.ReadKind(ctx, c.tenant, kind, after) {
			if err != nil {
				return fmt.Errorf("count records: %w", err)
			}
			if m.Position >= c.tombstone {
				break
			}
			c.take(m)
		}
	}
	return nil
}

// counts reports whether records begin or end with an event of these types, of
// whatever version.
func counts(types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool {
		for _, stem := range []string{
			"annals.episode.captured.", "annals.fact.proposed.", "annals.episode.forgotten.", "annals.fact.forgotten.",
		} {
			if strings.HasPrefix(t, stem) {
				return true
			}
		}
		return false
	})
}

// take counts one message. What cannot be decoded is the views' to report, and is
// in none of them either.
func (c *counting) take(m events.Message) {
	if !counts(m.Header.Types) {
		return
	}
	r, err := events.Decode(m)
	if err != nil {
		return
	}
	for _, ev := range r.Events {
		switch ev := ev.(type) {
		case events.EpisodeCaptured:
			c.began(ev.Subject, r.Aggregate.ID)
		case events.FactProposed:
			c.began(ev.Subject, ev.Fact)
		case events.EpisodeForgotten:
			c.ended(ev.Subject, r.Aggregate.ID)
		case events.FactForgotten:
			c.ended(ev.Subject, ev.Fact)
		default:
		}
	}
}

func (c *counting) began(subject, id string) {
	if subject == c.sid {
		c.records[id] = true
	}
}

func (c *counting) ended(subject, id string) {
	if subject != c.sid {
		return
	}
	c.lost = c.lost || !c.records[id]
	delete(c.records, id)
}

// planned is what the call that began an erasure had planned, nil if it had no
// idempotency key.
func (e *Eraser) planned(ctx context.Context, tenant, erasure string) (*token.Plan, error) {
	rec, err := e.keys.Record(ctx, tenant, erasure)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return nil, nil //nolint:nilnil // The absence of a plan is an answer.
	}
	if err != nil {
		return nil, fmt.Errorf("find plan: %w", err)
	}
	n, err := token.ParseNote(rec.Note())
	if err != nil || n.Kind != events.KindErasure {
		return nil, nil //nolint:nilerr,nilnil // It is no plan.
	}
	return n.Plan, nil
}

// recount makes the number in a request that was put together from its tombstones
// the one that its call has answered with, or will.
func (e *Eraser) recount(ctx context.Context, tenant, erasure string, asked *events.ErasureRequested) error {
	if asked.Scope == scopeSubject {
		n, err := e.matchedBy(ctx, tenant, asked.Subject, asked.Tombstone, nil)
		asked.Matched = n
		return err
	}
	plan, err := e.planned(ctx, tenant, erasure)
	if err == nil && plan != nil {
		asked.Matched = plan.Matched
	}
	return err
}
