package projectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors/index"
)

// memoriesSpec is the projection of episodes, and of the search index over them and over facts.
func memoriesSpec(cfg *Config, recipe Recipe) *spec {
	c := &contents{keys: cfg.Keys, model: recipe.Model, terms: cfg.terms(recipe.Tokenizer)}
	return &spec{
		name:     Memories,
		format:   recipe.format(),
		recipe:   recipe,
		families: []string{"annals.fact.", "annals.episode.", "annals.subject.", "annals.source.", "annals.vector."},
		prepare:  c.prepare,
		folder: func(e *engine) (folder, error) {
			m := &memories{e: e, contents: c, fresh: make(map[string]string), marks: make(map[string]bool)}
			m.slots = newSlotFold(e, m, false)
			return m, nil
		},
	}
}

type memories struct {
	e        *engine
	contents *contents
	slots    *slotFold
	// writer collects what the batch at hand does to the index, nil if nothing yet.
	writer indexWriter
	// fresh are the subjects of the episodes that the batch at hand adds, by the key of their id.
	fresh map[string]string
	// marks are the marks of unopened records that the batch at hand sets or removes, by key.
	marks map[string]bool
	// late are the contents opened by check for the commit at hand, by fact.
	late map[string]opened
	at   *item
	// vectorFresh is set if the batch at hand keeps a vector for later.
	vectorFresh bool
}

func (m *memories) index() indexWriter {
	if m.writer == nil {
		m.writer = m.e.index.writer(m.e.db)
	}
	return m.writer
}

func (m *memories) flush(ctx context.Context, b *pebble.Batch) error {
	if m.writer == nil {
		return nil
	}
	next := m.e.state.next()
	wrote, err := m.writer.Flush(ctx, b, m.e.state.indexed, next)
	if err != nil {
		return fmt.Errorf("flush index: %w", err)
	}
	if wrote {
		m.e.state.indexed = next
	}
	return nil
}

func (m *memories) applied() {
	m.writer = nil
	m.vectorFresh = false
	clear(m.fresh)
	clear(m.marks)
	m.slots.cache.trim()
}

func (m *memories) fold(ctx context.Context, it *item) error {
	m.at = it
	switch it.rec.Aggregate.Kind {
	case events.KindFact:
		return m.slots.fold(ctx, it)
	case events.KindVector:
		return m.vectors(ctx, it)
	case events.KindEpisode:
		if err := m.episode(ctx, it); err != nil {
			return err
		}
		return m.slots.foldTombs(ctx, it)
	case events.KindSubject:
		about, stays := subjectMatters(&it.rec)
		if err := m.e.note(&it.rec, about, stays); err != nil {
			return err
		}
		return m.slots.foldTombs(ctx, it)
	case events.KindSource:
		return m.e.revise(&it.rec)
	case events.KindProcedure, events.KindTrajectory, events.KindPolicy, events.KindTrace,
		events.KindErasure, events.KindSuppression:
	}
	return nil
}

func (m *memories) episode(ctx context.Context, it *item) error {
	if err := m.oneSubject(it); err != nil {
		return err
	}
	for i, e := range it.rec.Events {
		if e, ok := e.(events.EpisodeCaptured); ok && it.opened[i].state == isDamaged {
			gone, err := m.e.tombs.gone(it.rec.Aggregate.Tenant, e.Subject, kindEpisode, it.rec.Aggregate.ID)
			if err != nil {
				return err
			}
			if !gone {
				return park(it.opened[i].cause)
			}
		}
	}
	about, stays := episodeMatters(&it.rec)
	if err := m.e.note(&it.rec, about, stays); err != nil {
		return err
	}
	for i, e := range it.rec.Events {
		if e, ok := e.(events.EpisodeCaptured); ok {
			if err := m.capture(ctx, it, i, &e); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneSubject refuses a commit that is about another subject than the episode is.
func (m *memories) oneSubject(it *item) error {
	sid, err := m.subjectOfEpisode(it.rec.Aggregate.Tenant, it.rec.Aggregate.ID)
	if err != nil {
		return err
	}
	for _, e := range it.rec.Events {
		var subject string
		switch e := e.(type) {
		case events.EpisodeCaptured:
			subject = e.Subject
		case events.EpisodeForgotten:
			if e.Subject == "" {
				continue
			}
			subject = e.Subject
		default:
			continue
		}
		if sid == "" {
			sid = subject
		}
		if sid != subject {
			return park(causeForeign)
		}
	}
	return nil
}

func (m *memories) capture(ctx context.Context, it *item, event int, e *events.EpisodeCaptured) error {
	t, id := it.rec.Aggregate.Tenant, it.rec.Aggregate.ID
	if gone, err := m.e.tombs.gone(t, e.Subject, kindEpisode, id); gone || err != nil {
		return err
	}
	ik := idKey(t, kindEpisode, id)
	known, err := m.subjectOfEpisode(t, id)
	if err != nil || known != "" {
		return err
	}
	m.fresh[string(ik)] = e.Subject
	row := EpisodeRow{
		Tenant: t, ID: id, EpisodeCaptured: *e, ContentType: it.types[event], Position: it.position,
		RecordedAt: it.rec.RecordedAt, Principal: it.rec.Principal,
	}
	place := episodePlace{sid: e.Subject, position: it.position}
	if err := m.e.set(ik, place.encode()); err != nil {
		return err
	}
	if err := m.e.set(newKey(sortEpisodeOrder).part(t).position(it.position), []byte(e.Subject)); err != nil {
		return err
	}
	if _, err := m.e.put(episodeKey(t, e.Subject, it.position), encodeEpisode(&row), digest{}); err != nil {
		return err
	}
	o := &it.opened[event]
	if o.state != isOpen {
		return m.unopened(t, e.Subject, kindEpisode, id)
	}
	if err := m.index().Put(ctx, episodeDoc(&row, o)); err != nil {
		return fmt.Errorf("index episode: %w", err)
	}
	if m.e.state.parked == 0 {
		return nil
	}
	return m.lateVectors(ctx, t, e.Subject, kindEpisode, id) // it may have been parked when they came
}

// subjectOfEpisode is the subject of an episode, or of its tombstone; "" if there is neither, or if the subject is forgotten,
// whose rows may still be there.
func (m *memories) subjectOfEpisode(tenant, id string) (sid string, err error) {
	ik := idKey(tenant, kindEpisode, id)
	if sid := m.fresh[string(ik)]; sid != "" {
		return sid, nil
	}
	_, err = get(m.e.db, ik, func(value []byte) error {
		place, err := decodeEpisodePlace(value)
		sid = place.sid
		return err
	})
	if err != nil || sid == "" {
		return "", err
	}
	gone, err := m.e.tombs.subject(tenant, sid)
	if gone {
		sid = ""
	}
	return sid, err
}

// episodeDoc is what the search index knows of an episode.
func episodeDoc(r *EpisodeRow, o *opened) index.Doc {
	return index.Doc{
		Tenant: r.Tenant, Subject: r.Subject, ID: r.ID, Kind: index.Episode, Seq: r.Position,
		Session: r.Session, Category: r.Class, Entities: r.Entities, Labels: slices.Concat(r.Labels, o.labels),
		Origins: episodeOrigins(&r.EpisodeCaptured, r.Position), Trust: uint8(r.Trust), OccurredUS: micros(r.OccurredAt), ObservedUS: micros(r.OccurredAt),
		ValidToUS: math.MaxInt64, Terms: o.terms, Length: o.length,
	}
}

// factDoc is what the search index knows of a fact.
func factDoc(tenant string, f *events.SlotFact, o *opened) index.Doc {
	from, to := hull(f.Valid)
	d := index.Doc{
		Tenant: tenant, Subject: f.Subject, ID: f.Fact, Kind: index.Fact, Seq: f.ProposedAt,
		Category: f.Category, Scope: f.Scope, Trust: uint8(f.Trust), Origins: factOrigins(f.Sources),
		OccurredUS: micros(f.ObservedAt), ObservedUS: micros(f.ObservedAt),
		ValidFromUS: from, ValidToUS: to, Terms: o.terms, Length: o.length,
	}
	if !f.ExpiresAt.IsZero() {
		d.ExpiresUS = micros(f.ExpiresAt)
	}
	return d
}

// hull is the least interval that covers all of a fact's.
func hull(valid []events.Interval) (from, to int64) {
	if len(valid) == 0 {
		return 0, 0
	}
	from, to = micros(valid[0].From), math.MaxInt64
	if last := valid[len(valid)-1].To; !last.IsZero() {
		to = micros(last)
	}
	return from, to
}

// indexed reports whether a fact belongs in the search index: it was promoted, and is or was true at some time.
func indexed(f *events.SlotFact, masked bool) bool {
	if masked || len(f.Valid) == 0 {
		return false
	}
	switch f.Status {
	case events.StatusActive, events.StatusSuperseded, events.StatusRetracted:
		return true
	case events.StatusCandidate, events.StatusRejected, events.StatusMerged, events.StatusDeleted:
	}
	return false
}

// check opens what a commit of a slot may bring into the index and what was not opened ahead: facts that were proposed by
// an earlier commit.
func (m *memories) check(ctx context.Context, it *item, s *slotState, dead []deadFact) error {
	m.late = nil
	for i, e := range it.rec.Events {
		if isDead(dead, factOf(e)) {
			continue
		}
		if it.opened[i].state == isDamaged {
			return park(it.opened[i].cause)
		}
		switch e.(type) {
		case events.FactPromoted, events.FactCorroborated, events.FactSuperseded, events.FactRestored, events.FactRetracted:
		default:
			continue
		}
		fs := s.find(factOf(e))
		if fs == nil || fs.inIndex {
			continue
		}
		o, err := m.contents.openFact(ctx, s.key.tenant, &fs.fact.FactProposed)
		if err != nil {
			return err
		}
		if o.state == isDamaged {
			return park(o.cause)
		}
		if m.late == nil {
			m.late = make(map[string]opened)
		}
		m.late[fs.fact.Fact] = o
	}
	if len(m.late) > 0 && m.vectorFresh {
		return m.e.commit(ctx) // the vectors are read from the store
	}
	return nil
}

// content is what was opened for a fact of the commit at hand.
func (m *memories) content(fact string) (opened, bool) {
	if o, ok := m.late[fact]; ok {
		return o, true
	}
	for i, e := range m.at.rec.Events {
		if p, ok := e.(events.FactProposed); ok && p.Fact == fact && i < len(m.at.opened) {
			return m.at.opened[i], true
		}
	}
	return opened{}, false
}

func (m *memories) changed(ctx context.Context, s *slotState, fs *factState, position uint64) error {
	t, f := s.key.tenant, fs.fact
	was := fs.inIndex
	fs.inIndex = indexed(f, fs.masked)
	if !fs.inIndex {
		if was {
			if err := m.index().Remove(ctx, t, s.sid, f.Fact); err != nil {
				return fmt.Errorf("index fact: %w", err)
			}
		}
		if fs.masked {
			return m.reopened(t, s.sid, kindFact, f.Fact)
		}
		return nil
	}
	o, ok := m.content(f.Fact)
	if !ok || o.state == notOpened {
		from, to := hull(f.Valid)
		origins := factOrigins(f.Sources)
		u := index.Update{
			Tenant: t, Subject: s.sid, ID: f.Fact, Seq: position, ValidFromUS: &from, ValidToUS: &to, Origins: &origins,
		}
		if err := m.index().Update(ctx, u); err != nil {
			return fmt.Errorf("index fact: %w", err)
		}
		return nil
	}
	if o.state == keyGone {
		return m.unopened(t, s.sid, kindFact, f.Fact)
	}
	if err := m.index().Put(ctx, factDoc(t, f, &o)); err != nil {
		return fmt.Errorf("index fact: %w", err)
	}
	return m.lateVectors(ctx, t, s.sid, kindFact, f.Fact)
}

func (m *memories) dropped(ctx context.Context, tenant, sid, fact string) error {
	if err := m.index().Remove(ctx, tenant, sid, fact); err != nil {
		return fmt.Errorf("index fact: %w", err)
	}
	if err := m.reopened(tenant, sid, kindFact, fact); err != nil {
		return err
	}
	return m.dropVectors(tenant, sid, fact)
}

// dropVectors removes the vectors that are kept for a record. Those of the batch at hand were applied.
func (m *memories) dropVectors(tenant, sid, record string) error {
	return scan(m.e.db, vectorsOf(tenant, sid, record), nil, func(k, _ []byte) (bool, error) {
		return true, m.e.unset(k)
	})
}

func vectorsOf(tenant, sid, record string) key {
	return newKey(sortVector).part(tenant).part(sid).part(record)
}

// episodeGone removes an episode, whose subject [memories.oneSubject] has found to be the tombstone's.
func (m *memories) episodeGone(ctx context.Context, tenant, sid, id string) error {
	// The rows are read from the store; the batch was applied.
	ik := idKey(tenant, kindEpisode, id)
	var place episodePlace
	found, err := get(m.e.db, ik, func(value []byte) error {
		p, err := decodeEpisodePlace(value)
		place = p
		return err
	})
	if err != nil {
		return err
	}
	if found && !place.dead && place.sid == sid {
		k := episodeKey(tenant, place.sid, place.position)
		var old digest
		if _, err := get(m.e.db, k, func(value []byte) error { old = rowDigest(k, value); return nil }); err != nil {
			return err
		}
		if err := m.e.remove(k, old); err != nil {
			return err
		}
		if err := m.e.unset(newKey(sortEpisodeOrder).part(tenant).position(place.position)); err != nil {
			return err
		}
	}
	if err := m.e.set(ik, episodePlace{sid: sid, dead: true}.encode()); err != nil {
		return err
	}
	if err := m.index().Remove(ctx, tenant, sid, id); err != nil {
		return fmt.Errorf("index episode: %w", err)
	}
	if err := m.dropVectors(tenant, sid, id); err != nil {
		return err
	}
	return m.reopened(tenant, sid, kindEpisode, id)
}

// stages clear the search index first: what is in it and cannot be read takes the place of what can.
func (m *memories) stages() []clearStage {
	return append([]clearStage{
		m.clearIndex, m.clearEpisodes, m.slots.clearSort(sortVector), m.slots.clearSort(sortUnopened),
	}, m.slots.stages()...)
}

func (m *memories) clearIndex(ctx context.Context, c *clearing) (bool, error) {
	more, err := m.index().RemoveSubject(ctx, c.tenant, c.sid)
	if err != nil {
		return false, fmt.Errorf("remove subject from index: %w", err)
	}
	if more {
		return true, nil
	}
	// What this batch removes is still there, and another round finds nothing.
	left, err := m.e.index.left(ctx, c.tenant, c.sid)
	if err != nil {
		return false, fmt.Errorf("count subject in index: %w", err)
	}
	return left > 0, nil
}

func (m *memories) clearEpisodes(_ context.Context, c *clearing) (bool, error) {
	prefix := newKey(sortEpisode).part(c.tenant).part(c.sid)
	return m.e.clearPage(prefix, func(k, value []byte) error {
		position, ok := cutPosition(k[len(prefix):])
		if !ok {
			return errRow(sortEpisode)
		}
		row, err := decodeEpisode(value)
		if err != nil {
			return err
		}
		if err := m.e.unset(newKey(sortEpisodeOrder).part(c.tenant).position(position)); err != nil {
			return err
		}
		return m.e.unplace(c, kindEpisode, row.ID)
	})
}

// vectors folds the embeddings in a commit.
func (m *memories) vectors(ctx context.Context, it *item) error {
	t := it.rec.Aggregate.Tenant
	live := make([]bool, len(it.rec.Events))
	for i, e := range it.rec.Events {
		v, ok := e.(events.VectorEmbedded)
		if !ok || (m.contents.model != "" && m.contents.model != v.Model) {
			continue
		}
		gone, err := m.e.tombs.gone(t, v.Subject, kindOf(&v), v.Record)
		if err != nil {
			return err
		}
		live[i] = !gone
		o := &it.opened[i]
		switch {
		case gone:
		case o.state == isDamaged:
			return park(o.cause)
		case o.state == isOpen && len(o.vector) != v.Dim:
			return park(causeBadVector)
		}
	}
	about, stays := vectorMatters(it.rec.Events)
	if err := m.e.note(&it.rec, about, stays); err != nil {
		return err
	}
	for i, e := range it.rec.Events {
		if v, ok := e.(events.VectorEmbedded); ok && live[i] {
			if err := m.vector(ctx, it, i, &v, kindOf(&v)); err != nil {
				return err
			}
		}
	}
	return nil
}

func kindOf(v *events.VectorEmbedded) byte {
	if v.Of == events.KindFact {
		return kindFact
	}
	return kindEpisode
}

func (m *memories) vector(ctx context.Context, it *item, event int, v *events.VectorEmbedded, kind byte) error {
	t, o := it.rec.Aggregate.Tenant, &it.opened[event]
	if o.state != isOpen {
		return m.unopened(t, v.Subject, kind, v.Record)
	}
	err := m.index().SetVector(ctx, index.Vector{
		Tenant: t, Subject: v.Subject, ID: v.Record, Model: v.Model, Seq: it.position, Values: o.vector,
	})
	if errors.Is(err, index.ErrVectorDim) {
		return park(causeBadVector)
	}
	if err != nil {
		return fmt.Errorf("index vector: %w", err)
	}
	if keep, err := m.comesLater(t, v.Record, kind); err != nil || !keep {
		return err
	}
	m.vectorFresh = true
	var enc encoder
	enc.uint(it.position)
	enc.string(v.Class)
	enc.string(it.types[event])
	enc.bytes(v.Content)
	return m.e.set(vectorsOf(t, v.Subject, v.Record).part(v.Model), enc.b)
}

// comesLater reports whether a record may come into the index later than its vector: a fact with its promotion, an episode
// that is parked with its retry.
func (m *memories) comesLater(tenant, id string, kind byte) (bool, error) {
	if kind == kindFact {
		return true, nil
	}
	if m.e.state.parked == 0 {
		return false, nil
	}
	sid, err := m.subjectOfEpisode(tenant, id)
	return sid == "", err
}

// lateVectors gives a record that has just come into the index the vectors that came before.
func (m *memories) lateVectors(ctx context.Context, tenant, sid string, kind byte, record string) error {
	prefix := vectorsOf(tenant, sid, record)
	var found []index.Vector
	var sealed []seal.Item
	err := scan(m.e.db, prefix, nil, func(k, value []byte) (bool, error) {
		model, _, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, errRow(sortVector)
		}
		d := decoder{b: value}
		v := index.Vector{Tenant: tenant, Subject: sid, ID: record, Model: model, Seq: d.uint()}
		e := events.VectorEmbedded{Record: record, Subject: sid, Class: d.string(), Model: model}
		typ := d.string()
		e.Content = d.bytes()
		if err := d.err(); err != nil {
			return false, err
		}
		found, sealed = append(found, v), append(sealed, vectorItem(tenant, typ, &e))
		return true, nil
	})
	if err != nil {
		return err
	}
	for i := range found {
		o, err := m.contents.openVector(ctx, sealed[i])
		if err == nil && o.state != isOpen {
			// It could be opened when it came, so what is stored is damaged or its key has gone since.
			if err := m.unopened(tenant, sid, kind, record); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		found[i].Values = o.vector
		err = m.index().SetVector(ctx, found[i])
		if errors.Is(err, index.ErrVectorDim) {
			err = m.unopened(tenant, sid, kind, record)
		}
		if err != nil {
			return fmt.Errorf("index vector: %w", err)
		}
	}
	return nil
}

func unopenedKey(tenant, sid string, kind byte, id string) key {
	return newKey(sortUnopened).part(tenant).part(sid).byte(kind).part(id)
}

// unopened marks a record whose key is gone though it has no tombstone yet.
func (m *memories) unopened(tenant, sid string, kind byte, id string) error {
	k := unopenedKey(tenant, sid, kind, id)
	marked, err := m.marked(k)
	if err != nil || marked {
		return err
	}
	m.marks[string(k)] = true
	if err := m.countUnopened(tenant, sid, 1); err != nil {
		return err
	}
	return m.e.set(k, nil)
}

// reopened removes the mark.
func (m *memories) reopened(tenant, sid string, kind byte, id string) error {
	if m.e.state.unopened == 0 {
		return nil
	}
	k := unopenedKey(tenant, sid, kind, id)
	marked, err := m.marked(k)
	if err != nil || !marked {
		return err
	}
	m.marks[string(k)] = false
	if err := m.countUnopened(tenant, sid, -1); err != nil {
		return err
	}
	return m.e.unset(k)
}

func (m *memories) countUnopened(tenant, sid string, by int64) error {
	s, err := m.e.sum(sumKey(tenant, sid))
	if err != nil {
		return err
	}
	n := uint64(by) //nolint:gosec // It wraps around, and so adds what is negative.
	s.unopened += n
	m.e.state.unopened += n
	return nil
}

// marked reports whether a record has the mark, as the batch at hand leaves it.
func (m *memories) marked(k key) (bool, error) {
	if marked, ok := m.marks[string(k)]; ok {
		return marked, nil
	}
	return has(m.e.db, k)
}
