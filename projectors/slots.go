package projectors

import (
	"container/list"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
)

// slotCacheBytes bounds the decoded slots that a fold keeps between batches, roughly.
const slotCacheBytes = 32 << 20

// factState is one fact of a slot in memory.
type factState struct {
	storedFact // its fact is unused: the slot's own is the one
	fact       *events.SlotFact
	order      order
	// valid and status are those of the revision that is open.
	valid  []events.Interval
	status events.FactStatus
	// row and rev are the digests of the stored rows.
	row, rev digest
	// linked are the sources whose lineage is written.
	linked []events.SourceRef
	// inIndex says that the search index knows the fact.
	inIndex bool
}

// slotState is one slot in memory: the decider's own state, and what the view adds to it.
type slotState struct {
	key   slotKey
	sid   string // "" while the slot is empty
	slot  events.Slot
	facts []*factState // in the order of slot.Facts
	size  int
	place *list.Element
}

type slotKey struct{ tenant, slot string }

func (s *slotState) find(id string) *factState {
	for _, f := range s.facts {
		if f.fact.Fact == id {
			return f
		}
	}
	return nil
}

// drop takes a fact out of the slot.
func (s *slotState) drop(id string) {
	for i, f := range s.facts {
		if f.fact.Fact == id {
			s.facts = append(s.facts[:i:i], s.facts[i+1:]...)
			s.slot.Facts = append(s.slot.Facts[:i:i], s.slot.Facts[i+1:]...)
			return
		}
	}
}

// slotCache keeps the slots that were used last. What the current batch touches is never dropped, so that a slot that is
// not in the cache is as the store has it.
type slotCache struct {
	byKey  map[slotKey]*slotState
	recent *list.List // front is the last used
	size   int
	limit  int
}

func newSlotCache() *slotCache {
	return &slotCache{byKey: make(map[slotKey]*slotState), recent: list.New(), limit: slotCacheBytes}
}

func (c *slotCache) get(k slotKey) *slotState {
	s := c.byKey[k]
	if s != nil {
		c.recent.MoveToFront(s.place)
	}
	return s
}

func (c *slotCache) add(s *slotState) {
	c.byKey[s.key] = s
	s.place = c.recent.PushFront(s)
	s.size = slotSize(s)
	c.size += s.size
}

// resize accounts for what was added to a slot.
func (c *slotCache) resize(s *slotState) {
	if c.byKey[s.key] != s {
		return
	}
	c.size -= s.size
	s.size = slotSize(s)
	c.size += s.size
}

func (c *slotCache) remove(s *slotState) {
	c.recent.Remove(s.place)
	delete(c.byKey, s.key)
	c.size -= s.size
}

// trim drops what was not used for longest. It is called when nothing waits in a batch, but perhaps in the middle of a
// commit: the slot that was used last stays, however large, because a fold may be at work on it.
func (c *slotCache) trim() {
	for c.size > c.limit && c.recent.Len() > 1 {
		s, ok := c.recent.Back().Value.(*slotState)
		if !ok {
			return
		}
		c.remove(s)
	}
}

// forget drops all slots of a subject.
func (c *slotCache) forget(tenant, sid string) {
	for k, s := range c.byKey {
		if k.tenant == tenant && s.sid == sid {
			c.remove(s)
		}
	}
}

// slotSize is roughly what a slot takes in memory.
func slotSize(s *slotState) int {
	const slotBase, factBase, sourceBase, gateBase = 512, 1024, 128, 64
	n := slotBase
	for _, f := range s.facts {
		n += factBase + len(f.fact.Content) + len(f.fact.Retraction) + sourceBase*len(f.fact.Sources) +
			gateBase*(len(f.fact.Decision.Gates)+len(f.fact.Valid))
	}
	return n
}

func slotRowKey(tenant, slot string) key { return newKey(sortSlot).part(tenant).part(slot) }

func factsOf(tenant, sid string) key { return newKey(sortFact).part(tenant).part(sid) }

func factKey(tenant, sid, slot string, o order) key {
	return factsOf(tenant, sid).part(slot).order(o)
}

func revisionKey(tenant, sid, slot string, o order, position uint64) key {
	return newKey(sortRevision).part(tenant).part(sid).part(slot).order(o).position(position)
}

func nowKey(tenant, sid, slot string) key {
	return newKey(sortNow).part(tenant).part(sid).part(slot)
}

func idKey(tenant string, kind byte, id string) key {
	return newKey(sortID).part(tenant).byte(kind).part(id)
}

func fromEpisodeKey(tenant, episode, slot string, o order) key {
	return newKey(sortFromEpisode).part(tenant).part(episode).part(slot).order(o)
}

func fromSubjectKey(tenant, source, slot string, o order) key {
	return newKey(sortFromSubject).part(tenant).part(source).part(slot).order(o)
}

// factPlace is where a fact's row is, or that it has a tombstone.
type factPlace struct {
	sid, slot string
	order     order
	dead      bool
}

func (p factPlace) encode() []byte {
	var e encoder
	e.bool(p.dead)
	e.string(p.sid)
	e.string(p.slot)
	e.uint(p.order.position)
	e.uint(uint64(p.order.index))
	return e.b
}

func decodeFactPlace(value []byte) (factPlace, error) {
	d := decoder{b: value}
	p := factPlace{dead: d.bool(), sid: d.string(), slot: d.string()}
	p.order.position = d.uint()
	p.order.index = uint16(d.uint()) //nolint:gosec // written from a uint16.
	return p, d.err()
}

// slot returns a slot, empty if there is none, as the batch at hand leaves it.
func (f *slotFold) slot(tenant, slot string) (*slotState, error) {
	k := slotKey{tenant, slot}
	if s := f.cache.get(k); s != nil {
		return s, nil
	}
	s := &slotState{key: k}
	_, err := get(f.e.db, slotRowKey(tenant, slot), func(value []byte) error {
		s.sid = string(value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.sid != "" {
		// The rows of a forgotten subject may still be there.
		gone, err := f.e.tombs.subject(tenant, s.sid)
		if err != nil {
			return nil, err
		}
		if gone {
			s.sid = ""
		}
	}
	if s.sid != "" {
		if err := f.load(s); err != nil {
			return nil, err
		}
	}
	f.cache.add(s)
	return s, nil
}

func (f *slotFold) load(s *slotState) error {
	prefix := factsOf(s.key.tenant, s.sid).part(s.key.slot)
	return scan(f.e.db, prefix, nil, func(k, value []byte) (bool, error) {
		o, ok := cutOrder(k[len(prefix):])
		if !ok {
			return false, errRow(sortFact)
		}
		fs := &factState{order: o, row: rowDigest(k, value)}
		d := decoder{b: value}
		fs.decode(&d)
		if err := d.err(); err != nil {
			return false, err
		}
		fs.fact = &fs.storedFact.fact
		fs.valid, fs.status = fs.fact.Valid, fs.fact.Status
		fs.inIndex = indexed(fs.fact, fs.masked)
		fs.linked = slices.Clone(fs.fact.Sources)
		if f.readRows {
			rk := revisionKey(s.key.tenant, s.sid, s.key.slot, o, fs.revision)
			found, err := get(f.e.db, rk, func(value []byte) error {
				fs.rev = rowDigest(rk, value)
				return nil
			})
			if err != nil {
				return false, err
			}
			if !found {
				return false, errRow(sortRevision)
			}
		}
		s.facts = append(s.facts, fs)
		s.slot.Facts = append(s.slot.Facts, fs.fact)
		return true, nil
	})
}

var errNoSubject = errors.New("slot without a subject")

// writeFact stores a fact, and its revision if that is another one than before.
func (f *slotFold) writeFact(s *slotState, fs *factState, position uint64, at time.Time) error {
	if s.sid == "" {
		return fmt.Errorf("write fact: %w", errNoSubject)
	}
	t := s.key.tenant
	if fs.revision == 0 || fs.status != fs.fact.Status || !equalIntervals(fs.valid, fs.fact.Valid) {
		if err := f.writeRevision(s, fs, position, at); err != nil {
			return err
		}
	}
	stored := storedFact{fact: *fs.fact, revision: fs.revision, since: fs.since, sourced: fs.sourced, masked: fs.masked}
	e := encoder{b: make([]byte, 0, 512+len(fs.fact.Content))}
	stored.encode(&e)
	row, err := f.e.put(factKey(t, s.sid, s.key.slot, fs.order), e.b, fs.row)
	fs.row = row
	return err
}

func (f *slotFold) writeRevision(s *slotState, fs *factState, position uint64, at time.Time) error {
	if f.readRows {
		if fs.revision != 0 {
			closed := Revision{
				Fact: fs.fact.Fact, Valid: fs.valid, Status: fs.status, RecordedFrom: fs.since, RecordedTo: at,
			}
			k := revisionKey(s.key.tenant, s.sid, s.key.slot, fs.order, fs.revision)
			if _, err := f.e.put(k, encodeRevision(&closed), fs.rev); err != nil {
				return err
			}
		}
		open := Revision{Fact: fs.fact.Fact, Valid: fs.fact.Valid, Status: fs.fact.Status, RecordedFrom: at}
		k := revisionKey(s.key.tenant, s.sid, s.key.slot, fs.order, position)
		rev, err := f.e.put(k, encodeRevision(&open), digest{})
		if err != nil {
			return err
		}
		fs.rev = rev
	}
	fs.revision, fs.since = position, at
	fs.valid, fs.status = fs.fact.Valid, fs.fact.Status
	return nil
}

func equalIntervals(a, b []events.Interval) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].From.Equal(b[i].From) || !a[i].To.Equal(b[i].To) {
			return false
		}
	}
	return true
}
