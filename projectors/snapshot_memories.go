package projectors

import (
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

// MemoryID names one memory.
type MemoryID struct {
	Kind    index.Kind
	ID      string
	Subject string
}

func (s *Snapshot) episodePlace(tenant, id string) (place episodePlace, err error) {
	found, err := get(s.memories, idKey(tenant, kindEpisode, id), func(value []byte) error {
		place, err = decodeEpisodePlace(value)
		return err
	})
	if err == nil && !found {
		err = events.ErrNotFound
	}
	return place, err
}

// Episode returns an episode by its id, or its tombstone; [events.ErrNotFound] if there is neither, or if its subject is
// forgotten in any view.
func (s *Snapshot) Episode(tenant, id string) (EpisodeRow, error) {
	place, err := s.episodePlace(tenant, id)
	if err != nil {
		return EpisodeRow{}, err
	}
	if s.SubjectForgotten(tenant, place.sid) {
		return EpisodeRow{}, events.ErrNotFound
	}
	if !place.dead {
		return s.episodeAt(tenant, place.sid, place.position)
	}
	t, err := s.tomb(tombKey(tenant, place.sid, kindEpisode, id))
	if err != nil {
		return EpisodeRow{}, err
	}
	row := EpisodeRow{
		Tenant: tenant, ID: id, Position: t.Position, RecordedAt: t.RecordedAt, Forgotten: true, Erasure: t.Erasure,
	}
	row.Subject = t.Subject
	return row, nil
}

// EpisodeAt returns an episode by its place, which a search tells, with one read where [Snapshot.Episode] takes two;
// [events.ErrNotFound] if it is not there, not any more perhaps, or if its subject is forgotten in any view.
func (s *Snapshot) EpisodeAt(tenant, sid, id string, position uint64) (EpisodeRow, error) {
	if s.SubjectForgotten(tenant, sid) {
		return EpisodeRow{}, events.ErrNotFound
	}
	row, found, err := s.storedEpisode(tenant, sid, position)
	if err == nil && (!found || row.ID != id) {
		err = events.ErrNotFound
	}
	return row, err
}

// episodeAt returns an episode that must be there.
func (s *Snapshot) episodeAt(tenant, sid string, position uint64) (EpisodeRow, error) {
	row, found, err := s.storedEpisode(tenant, sid, position)
	if err == nil && !found {
		err = errRow(sortEpisode)
	}
	return row, err
}

func (s *Snapshot) storedEpisode(tenant, sid string, position uint64) (row EpisodeRow, found bool, err error) {
	found, err = get(s.memories, episodeKey(tenant, sid, position), func(value []byte) error {
		row, err = decodeEpisode(value)
		row.Tenant = tenant
		return err
	})
	return row, found, err
}

// Episodes returns one page of episodes in the order of the log, and the cursor of the next page, empty if there is none.
// Tombstones are left out.
func (s *Snapshot) Episodes(tenant string, f EpisodeFilter) (rows []EpisodeRow, next string, err error) {
	limit := pageLimit(f.Limit)
	prefix := newKey(sortEpisodeOrder).part(tenant)
	if f.Subject != "" {
		if gone, err := has(s.memories, subjectTombKey(tenant, f.Subject)); gone || err != nil {
			return nil, "", err
		}
		prefix = newKey(sortEpisode).part(tenant).part(f.Subject)
	}
	from, err := cursorUnder(f.After, prefix)
	if err != nil {
		return nil, "", err
	}
	err = scan(s.memories, prefix, from, func(k, value []byte) (bool, error) {
		row, err := s.episodeRow(tenant, k[len(prefix):], value, f.Subject == "")
		if err != nil || !f.admits(&row) {
			return true, err
		}
		if len(rows) == limit {
			next = cursor(k)
			return false, nil
		}
		rows = append(rows, row)
		return true, nil
	})
	return rows, next, err
}

// episodeRow reads an episode from its row, or through the row of the tenant's order.
func (s *Snapshot) episodeRow(tenant string, rest, value []byte, ordered bool) (EpisodeRow, error) {
	if !ordered {
		row, err := decodeEpisode(value)
		row.Tenant = tenant
		return row, err
	}
	position, ok := cutPosition(rest)
	if !ok {
		return EpisodeRow{}, errRow(sortEpisodeOrder)
	}
	sid := string(value)
	if gone, err := has(s.memories, subjectTombKey(tenant, sid)); gone || err != nil {
		return EpisodeRow{Forgotten: true}, err
	}
	return s.episodeAt(tenant, sid, position)
}

func (f *EpisodeFilter) admits(r *EpisodeRow) bool {
	return !r.Forgotten && (f.Session == "" || f.Session == r.Session) &&
		(f.From == nil || !r.OccurredAt.Before(*f.From)) && (f.To == nil || r.OccurredAt.Before(*f.To))
}

// SubjectCounts returns how many episodes and facts, candidates included, are kept of the subject. What cannot be read is not
// counted.
func (s *Snapshot) SubjectCounts(tenant, sid string) (episodes, facts int) {
	k := sumKey(tenant, sid)
	read := func(r pebble.Reader, of func(*subjectSum) uint64) (n int) {
		_, err := get(r, k, func(value []byte) error {
			sum, err := decodeSum(value)
			if err == nil {
				n = int(of(sum)) //nolint:gosec // a count.
			}
			return err
		})
		if err != nil {
			return 0
		}
		return n
	}
	return read(s.memories, func(sum *subjectSum) uint64 { return sum.episodes }),
		read(s.facts, func(sum *subjectSum) uint64 { return sum.facts })
}

// MemoryIDs returns the first limit memories that pass the filter, episodes before facts, and how many do in all. Unlike the
// search index it also knows candidates, and memories whose content could not be opened; masked facts are left out. Of
// labels it knows what the events have, the equality of metadata, and not the keys and ranges that are made of opened
// content. It reads
// every memory in the scope of the filter. A limit of zero or less asks for the number only.
func (s *Snapshot) MemoryIDs(tenant string, f index.Filter, limit int) (ids []MemoryID, total int, err error) {
	f.Tenant = tenant
	if err := f.Validate(); err != nil {
		return nil, 0, fmt.Errorf("find memories: %w", err)
	}
	take := func(d *index.Doc) {
		if !admits(&f, d) {
			return
		}
		total++
		if len(ids) < limit {
			ids = append(ids, MemoryID{Kind: d.Kind, ID: d.ID, Subject: d.Subject})
		}
	}
	for _, sort := range []byte{sortEpisode, sortFact} {
		for _, prefix := range s.scopes(sort, &f) {
			if err := s.docs(prefix, tenant, take); err != nil {
				return nil, 0, err
			}
		}
	}
	return ids, total, nil
}

// scopes are the ranges of a sort that the filter's subjects take.
func (s *Snapshot) scopes(sort byte, f *index.Filter) [][]byte {
	if f.Subjects == nil {
		return [][]byte{newKey(sort).part(f.Tenant)}
	}
	subjects := slices.Clone(f.Subjects)
	slices.Sort(subjects)
	var list [][]byte
	for _, sid := range slices.Compact(subjects) {
		list = append(list, newKey(sort).part(f.Tenant).part(sid))
	}
	return list
}

func (s *Snapshot) docs(prefix []byte, tenant string, take func(*index.Doc)) error {
	return scan(s.memories, prefix, nil, func(k, value []byte) (bool, error) {
		var d index.Doc
		if k[0] == sortEpisode {
			row, err := decodeEpisode(value)
			if err != nil {
				return false, err
			}
			row.Tenant = tenant
			d = episodeDoc(&row, &opened{})
		} else {
			var stored storedFact
			dec := decoder{b: value}
			stored.decode(&dec)
			if err := dec.err(); err != nil || stored.masked {
				return true, err
			}
			d = factDoc(tenant, &stored.fact, &opened{})
		}
		gone, err := has(s.memories, subjectTombKey(tenant, d.Subject))
		if err == nil && !gone {
			take(&d)
		}
		return true, err
	})
}

// admits is the filter of the search index on one document.
func admits(f *index.Filter, d *index.Doc) bool {
	switch {
	case f.Kinds != nil && !slices.Contains(f.Kinds, d.Kind),
		f.Sessions != nil && !slices.Contains(f.Sessions, d.Session),
		f.Categories != nil && !slices.Contains(f.Categories, d.Category),
		f.Scopes != nil && !slices.Contains(f.Scopes, d.Scope),
		f.EntitiesAny != nil && !slices.ContainsFunc(f.EntitiesAny, func(e string) bool { return slices.Contains(d.Entities, e) }),
		f.Where != nil && !holds(d, f.Where),
		f.OccurredFromUS != nil && d.OccurredUS < *f.OccurredFromUS,
		f.OccurredToUS != nil && d.OccurredUS >= *f.OccurredToUS,
		d.ExpiresUS != 0 && d.ExpiresUS <= f.NowUS,
		slices.Contains(f.Exclude, d.ID),
		len(d.Origins) > 0 && !slices.ContainsFunc(d.Origins, f.Admits):
		return false
	}
	if d.Kind != index.Fact || f.ValidAtUS == nil {
		return true
	}
	at := *f.ValidAtUS
	return d.ValidFromUS <= at && (at < d.ValidToUS || d.ValidToUS == math.MaxInt64)
}

// holds is the further condition of a filter on one document.
func holds(d *index.Doc, w index.Where) bool {
	switch w := w.(type) {
	case index.And:
		return !slices.ContainsFunc(w, func(part index.Where) bool { return !holds(d, part) })
	case index.Or:
		return slices.ContainsFunc(w, func(part index.Where) bool { return holds(d, part) })
	case index.Not:
		return !holds(d, w.Of)
	case index.AnyOf:
		return slices.ContainsFunc(tokensOf(d, w.Field), func(t string) bool { return slices.Contains(w.Tokens, t) })
	case index.Present:
		return slices.ContainsFunc(tokensOf(d, w.Field), func(t string) bool { return t != "" })
	case index.Within:
		n := numberOf(d, w.Number)
		return w.From <= n && n <= w.To
	}
	return false // validated: there is no other
}

func tokensOf(d *index.Doc, f index.Field) []string {
	switch f {
	case index.FieldSession:
		return []string{d.Session}
	case index.FieldCategory:
		return []string{d.Category}
	case index.FieldScope:
		return []string{d.Scope}
	case index.FieldEntities:
		return d.Entities
	case index.FieldLabels:
		return d.Labels
	}
	return nil
}

func numberOf(d *index.Doc, n index.Number) int64 {
	switch n {
	case index.NumberKind:
		return int64(d.Kind)
	case index.NumberTrust:
		return int64(d.Trust)
	case index.NumberOccurredUS:
		return d.OccurredUS
	case index.NumberObservedUS:
		return d.ObservedUS
	}
	return math.MinInt64 // validated: there is no other
}

// Trace returns a trace by its id; [events.ErrNotFound] if there is none, or if its subject is forgotten in any view.
func (s *Snapshot) Trace(tenant, id string) (TraceRow, error) {
	st := newTraceState()
	found, err := get(s.traces, traceKey(tenant, id), func(value []byte) error { return decodeTrace(value, st) })
	if err != nil {
		return TraceRow{}, err
	}
	if !found {
		return TraceRow{}, events.ErrNotFound
	}
	if st.Subject != "" && s.SubjectForgotten(tenant, st.Subject) {
		return TraceRow{}, events.ErrNotFound
	}
	st.Tenant = tenant
	return st.TraceRow, nil
}
