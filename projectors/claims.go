package projectors

import (
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
)

// errEnough ends a scan that was asked for no more.
var errEnough = errors.New("enough")

// Claims are the facts that were taken from an episode, as known at a time of record, nil for all that is known: a range of
// rows that lead to facts, and one read for each fact that is asked for. What is masked, deleted, of a forgotten subject or
// was not proposed by then is not among them. A candidate is.
func (s *Snapshot) Claims(tenant, episode string, known *time.Time) iter.Seq2[FactAt, error] {
	prefix := newKey(sortFromEpisode).part(tenant).part(episode)
	return func(yield func(FactAt, error) bool) {
		err := scan(s.facts, prefix, nil, func(k, value []byte) (bool, error) {
			slot, rest, ok := cutPart(k[len(prefix):])
			if !ok {
				return false, errRow(k[0])
			}
			o, ok := cutOrder(rest)
			if !ok {
				return false, errRow(k[0])
			}
			sid := string(value)
			if s.SubjectForgotten(tenant, sid) {
				return true, nil
			}
			stored, err := s.storedFact(tenant, sid, slot, o)
			if err != nil || stored.masked || stored.fact.Status == events.StatusDeleted {
				return true, err
			}
			f, found, err := s.asKnown(tenant, sid, slot, &placedFact{stored, o}, known)
			if err != nil {
				return false, err
			}
			if found && !yield(f, nil) {
				return false, errEnough
			}
			return true, nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(FactAt{}, err)
		}
	}
}

// InSlot returns the fact of a slot that is true at a valid time, as known at a time of record, nil for all that is known. It
// is one read if that is since the slot's last change, and takes the slot's facts otherwise. found is false if there is none.
func (s *Snapshot) InSlot(tenant, sid, slot string, at time.Time, known *time.Time) (f FactAt, found bool, err error) {
	if s.SubjectForgotten(tenant, sid) {
		return FactAt{}, false, nil
	}
	var facts []placedFact
	recent := false
	if known == nil {
		if facts, recent, err = s.slotNow(tenant, sid, slot, at); err != nil {
			return FactAt{}, false, err
		}
	}
	if !recent {
		if facts, err = s.slotFacts(tenant, sid, slot); err != nil {
			return FactAt{}, false, err
		}
	}
	for i := range facts {
		f, found, err = s.asKnown(tenant, sid, slot, &facts[i], known)
		if err != nil || found && f.Status != events.StatusDeleted && f.TrueAt(at) {
			return f, err == nil, err
		}
	}
	return FactAt{}, false, nil
}

// slotNow reads what a current read needs of a slot. recent is false if that does not tell of the time.
func (s *Snapshot) slotNow(tenant, sid, slot string, at time.Time) (facts []placedFact, recent bool, err error) {
	_, err = get(s.facts, nowKey(tenant, sid, slot), func(value []byte) error {
		d := decoder{b: value}
		if recent = !d.time().After(at); !recent && !d.bad {
			return nil
		}
		for !d.bad && len(d.b) > 0 {
			var p placedFact
			if p.decode(&d); !d.bad {
				facts = append(facts, p)
			}
		}
		return d.err()
	})
	return facts, recent, err
}

// asKnown is a fact as it was known at a time of record; found is false if it was not.
func (s *Snapshot) asKnown(tenant, sid, slot string, p *placedFact, known *time.Time) (f FactAt, found bool, err error) {
	r := openRevision(&p.storedFact)
	if known != nil {
		if r, found, err = s.revisionAt(tenant, sid, slot, p.order, *known); err != nil || !found {
			return FactAt{}, false, err
		}
	}
	f = FactAt{FactRow: FactRow{Tenant: tenant, Slot: slot, SlotFact: p.fact}, Revision: r}
	f.Status, f.Valid = r.Status, slices.Clone(r.Valid)
	return f, true, nil
}
