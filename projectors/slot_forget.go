package projectors

import (
	"context"

	"github.com/annals-memory/annals/events"
)

// bury writes a tombstone, and makes leftovers of what the log holds of the record. The batch before must be applied. The
// content of a subject as a whole is for its caller, who clears in many batches.
func (f *slotFold) bury(tenant, sid string, kind byte, id, erasure string, r *events.Recorded) error {
	k := subjectTombKey(tenant, sid)
	if kind != kindSubject {
		k = tombKey(tenant, sid, kind, id)
	}
	buried, err := f.e.bury(tenant, k, erasure, r)
	if err != nil {
		return err
	}
	if buried && !f.readRows {
		if err := f.e.set(erasureKey(tenant, erasure, kind, sid, id), nil); err != nil {
			return err
		}
	}
	if kind == kindSubject {
		return nil
	}
	return f.e.leaveRecord(tenant, sid, kind, id, erasure)
}

// dropFact buries a fact and removes all its rows. The fact need not exist.
func (f *slotFold) dropFact(ctx context.Context, s *slotState, sid, id, erasure string, r *events.Recorded) error {
	t := s.key.tenant
	// The rows of the fact are read from the store.
	if err := f.e.commit(ctx); err != nil {
		return err
	}
	if err := f.bury(t, sid, kindFact, id, erasure, r); err != nil {
		return err
	}
	place := factPlace{sid: sid, dead: true}
	if err := f.e.set(idKey(t, kindFact, id), place.encode()); err != nil {
		return err
	}
	fs := s.find(id)
	if fs != nil {
		if err := f.removeFact(s, fs); err != nil {
			return err
		}
		s.drop(id)
		if err := f.closeSlot(s); err != nil {
			return err
		}
	}
	return f.user.dropped(ctx, t, sid, id)
}

// closeSlot removes the rows of a slot itself if its last fact is gone: nothing would lead from its subject to them.
func (f *slotFold) closeSlot(s *slotState) error {
	if len(s.facts) > 0 {
		return nil
	}
	if f.readRows {
		if err := f.e.unset(nowKey(s.key.tenant, s.sid, s.key.slot)); err != nil {
			return err
		}
	}
	s.sid = ""
	return f.e.unset(slotRowKey(s.key.tenant, s.key.slot))
}

func (f *slotFold) removeFact(s *slotState, fs *factState) error {
	t := s.key.tenant
	if err := f.e.remove(factKey(t, s.sid, s.key.slot, fs.order), fs.row); err != nil {
		return err
	}
	for _, ref := range fs.fact.Sources {
		if err := f.removeSource(s, fs, ref, nil); err != nil {
			return err
		}
	}
	if !f.readRows {
		return nil
	}
	if err := f.dropReview(t, fs.order, fs.fact.Fact); err != nil {
		return err
	}
	revisions := newKey(sortRevision).part(t).part(s.sid).part(s.key.slot).order(fs.order)
	return scan(f.e.db, revisions, nil, func(k, value []byte) (bool, error) {
		return true, f.e.remove(k, rowDigest(k, value))
	})
}

// forgetEpisode buries an episode and masks the facts that had no other source. A tombstone that names no subject is of an
// episode that was dropped in quarantine, which no view ever had: there is nothing to bury.
func (f *slotFold) forgetEpisode(ctx context.Context, r *events.Recorded, ev events.EpisodeForgotten) error {
	t, sid, id := r.Aggregate.Tenant, ev.Subject, r.Aggregate.ID
	if sid == "" {
		return nil
	}
	if dead, err := f.e.tombs.subject(t, sid); dead || err != nil {
		return err
	}
	if err := f.e.commit(ctx); err != nil {
		return err
	}
	if err := f.bury(t, sid, kindEpisode, id, ev.Erasure, r); err != nil {
		return err
	}
	if err := f.user.episodeGone(ctx, t, sid, id); err != nil {
		return err
	}
	return f.maskUnder(ctx, t, newKey(sortFromEpisode).part(t).part(id), "", r.Position)
}

// forgetSubject buries a subject, masks the facts of others that had no other source, and has all rows about it cleared. A crash
// in between repeats it.
func (f *slotFold) forgetSubject(ctx context.Context, r *events.Recorded, ev events.SubjectForgotten) error {
	t, sid := r.Aggregate.Tenant, r.Aggregate.ID
	if err := f.e.commit(ctx); err != nil {
		return err
	}
	if err := f.bury(t, sid, kindSubject, sid, ev.Erasure, r); err != nil {
		return err
	}
	if err := f.maskUnder(ctx, t, newKey(sortFromSubject).part(t).part(sid), sid, r.Position); err != nil {
		return err
	}
	f.cache.forget(t, sid)
	return f.e.letGo(t, sid, ev.Erasure, r.Position)
}

// stages clear the facts of a subject, with all that leads to them, its tombstones, and the places of its contents.
func (f *slotFold) stages() []clearStage {
	list := []clearStage{f.clearFacts}
	if f.readRows {
		list = append(list, f.clearSort(sortNow), f.clearSort(sortRevision))
	}
	return append(list, f.clearTombs, f.e.leaveSubject)
}

// clearSort clears rows to which nothing leads.
func (f *slotFold) clearSort(sort byte) clearStage {
	return func(_ context.Context, c *clearing) (bool, error) {
		return f.e.clearPage(newKey(sort).part(c.tenant).part(c.sid), nil)
	}
}

func (f *slotFold) clearFacts(_ context.Context, c *clearing) (bool, error) {
	prefix := factsOf(c.tenant, c.sid)
	return f.e.clearPage(prefix, func(k, value []byte) error {
		slot, rest, ok := cutPart(k[len(prefix):])
		if !ok {
			return errRow(sortFact)
		}
		o, ok := cutOrder(rest)
		if !ok {
			return errRow(sortFact)
		}
		var stored storedFact
		d := decoder{b: value}
		stored.decode(&d)
		if err := d.err(); err != nil {
			return err
		}
		return f.unlink(c, slot, o, &stored.fact)
	})
}

// unlink removes the rows that lead to a fact. The slot and the id may be another subject's by now.
func (f *slotFold) unlink(c *clearing, slot string, o order, fact *events.SlotFact) error {
	tenant := c.tenant
	if err := f.e.unsetIf(slotRowKey(tenant, slot), func(value []byte) (bool, error) {
		return string(value) == c.sid, nil
	}); err != nil {
		return err
	}
	if err := f.e.unplace(c, kindFact, fact.Fact); err != nil {
		return err
	}
	var keys []key
	if f.readRows {
		keys = append(keys, reviewKey(tenant, o, fact.Fact), reviewedKey(tenant, o, fact.Fact))
	}
	for _, ref := range fact.Sources {
		keys = append(keys, fromEpisodeKey(tenant, ref.Episode, slot, o))
		if ref.Subject != "" && ref.Subject != c.sid {
			keys = append(keys, fromSubjectKey(tenant, ref.Subject, slot, o))
		}
	}
	for _, k := range keys {
		if err := f.e.unset(k); err != nil {
			return err
		}
	}
	return nil
}

// clearTombs removes the tombstones of a subject's records: that of the subject stands for them.
func (f *slotFold) clearTombs(_ context.Context, c *clearing) (bool, error) {
	prefix := newKey(sortTomb).part(c.tenant).part(c.sid)
	return f.e.clearPage(prefix, func(k, value []byte) error {
		t, err := decodeTomb(k, value)
		if err != nil {
			return err
		}
		kind := k[len(prefix)]
		if !f.readRows {
			if err := f.e.unset(erasureKey(c.tenant, t.Erasure, kind, c.sid, t.ID)); err != nil {
				return err
			}
		}
		return f.e.unplace(c, kind, t.ID)
	})
}

// maskUnder recomputes the masks of the facts that lineage rows under a prefix lead to, but of none about a subject that goes
// as a whole.
func (f *slotFold) maskUnder(ctx context.Context, tenant string, prefix key, goes string, position uint64) error {
	return f.e.visit(ctx, prefix, func(k, value []byte) error {
		if goes != "" && string(value) == goes {
			return nil
		}
		slot, rest, ok := cutPart(k[len(prefix):])
		if !ok {
			return errRow(k[0])
		}
		o, ok := cutOrder(rest)
		if !ok {
			return errRow(k[0])
		}
		s, err := f.slot(tenant, slot)
		if err != nil {
			return err
		}
		for _, fs := range s.facts {
			if fs.order == o {
				return f.remask(ctx, s, fs, position)
			}
		}
		return nil
	})
}

func (f *slotFold) remask(ctx context.Context, s *slotState, fs *factState, position uint64) error {
	changed, err := f.mask(s, fs)
	if err != nil || !changed {
		return err
	}
	if err := f.writeFact(s, fs, position, fs.since); err != nil {
		return err
	}
	if err := f.writeReview(s, fs); err != nil {
		return err
	}
	if err := f.user.changed(ctx, s, fs, position); err != nil {
		return err
	}
	return f.writeNow(s)
}
