package producers

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// slotState is a slot as the log has it.
type slotState struct {
	events.Slot
	aggregate events.Aggregate
	// values are the canonical values of the facts that have been opened.
	values map[string]jsontext.Value
}

// refresh folds what was appended since the last read and shows it to see,
// commit by commit.
func (g *Gateway) refresh(ctx context.Context, s *slotState, see func(events.Recorded)) error {
	for r, err := range g.log.ReadAggregate(ctx, s.aggregate, s.Position) {
		if err != nil {
			return fmt.Errorf("read slot: %w", err)
		}
		s.Apply(r)
		see(r)
	}
	return nil
}

// openValues opens the values of the facts that a candidate can meet: those
// that are true at some time, and those that were retracted. What no key opens
// any more has no value and is equal to nothing.
func (g *Gateway) openValues(ctx context.Context, s *slotState) error {
	var (
		ids   []string
		items []seal.Item
	)
	for _, f := range s.Facts {
		if _, known := s.values[f.Fact]; known || len(f.Content) == 0 ||
			len(f.Valid) == 0 && f.Status != events.StatusRetracted {
			continue
		}
		ids = append(ids, f.Fact)
		items = append(items, seal.Item{
			Scope:  seal.Scope{Tenant: s.aggregate.Tenant, Subject: f.Subject, Class: f.Class},
			Label:  label(events.KindFact, f.Fact, events.TypeFactProposed),
			Sealed: f.Content,
		})
	}
	for i, res := range g.keys.OpenMany(ctx, items) {
		v, err := openedValue(res)
		if err != nil {
			return fmt.Errorf("open fact: %w", err)
		}
		s.values[ids[i]] = v
	}
	return nil
}

// openedValue is the canonical value of an opened fact, nil if its key is gone.
func openedValue(res seal.Result) (jsontext.Value, error) {
	if isDestroyed(res.Err) {
		return nil, nil
	}
	if res.Err != nil {
		return nil, res.Err
	}
	defer clear(res.Plaintext)
	var content events.FactContent
	if err := json.Unmarshal(res.Plaintext, &content); err != nil {
		return nil, events.ErrCorrupt
	}
	v, err := token.Canonical(content.Value)
	if err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	return v, nil
}

// equalTo tells which facts have the canonical value. One that has expired has
// none that could be confirmed: nobody reads it any more.
func (s *slotState) equalTo(value jsontext.Value, now time.Time) func(fact string) bool {
	return func(fact string) bool {
		if f := s.Find(fact); f != nil && !f.ExpiresAt.IsZero() && !f.ExpiresAt.After(now) {
			return false
		}
		v, ok := s.values[fact]
		return ok && v != nil && bytes.Equal(v, value)
	}
}
