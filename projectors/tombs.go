package projectors

import (
	"fmt"
	"hash/maphash"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
)

// Tombstone is what is left of a forgotten subject, episode or fact. It holds no value.
type Tombstone struct {
	// Kind is [events.KindSubject], [events.KindEpisode] or [events.KindFact].
	Kind events.Kind
	// Subject is the subject's id, ID that of the record, which is Subject for a subject.
	Subject, ID string
	// Erasure is the id of the erasure that it belongs to.
	Erasure string
	// Position and RecordedAt are those of the event.
	Position   uint64
	RecordedAt time.Time
}

// tombBits is the number of bits of the filter before the tombstones: one mebibyte, good for half a million of them.
const tombBits = 1 << 23

// tombs answers whether something is forgotten. Nearly everything is not, so a Bloom filter of a fixed size is asked before
// the store. What it is told must be in the store before it is asked.
type tombs struct {
	r    pebble.Reader
	seed maphash.Seed
	bits []uint64 // nil while there is no tombstone
}

func loadTombs(r pebble.Reader) (*tombs, error) {
	t := &tombs{r: r, seed: maphash.MakeSeed()}
	for _, sort := range []byte{sortSubjectTomb, sortTomb} {
		err := scan(r, []byte{sort}, nil, func(key, _ []byte) (bool, error) {
			t.add(key)
			return true, nil
		})
		if err != nil {
			return nil, fmt.Errorf("load tombstones: %w", err)
		}
	}
	return t, nil
}

func (t *tombs) add(key []byte) {
	if t.bits == nil {
		t.bits = make([]uint64, tombBits/64)
	}
	h := maphash.Bytes(t.seed, key)
	for range 3 {
		bit := h % tombBits
		t.bits[bit/64] |= 1 << (bit % 64)
		h = h>>23 | h<<41
	}
}

func (t *tombs) has(key []byte) (bool, error) {
	if t.bits == nil {
		return false, nil
	}
	h := maphash.Bytes(t.seed, key)
	for range 3 {
		bit := h % tombBits
		if t.bits[bit/64]&(1<<(bit%64)) == 0 {
			return false, nil
		}
		h = h>>23 | h<<41
	}
	return has(t.r, key)
}

func (t *tombs) subject(tenant, sid string) (bool, error) {
	return t.has(subjectTombKey(tenant, sid))
}

func (t *tombs) record(tenant, sid string, kind byte, id string) (bool, error) {
	return t.has(tombKey(tenant, sid, kind, id))
}

// gone reports whether the record or its subject is forgotten.
func (t *tombs) gone(tenant, sid string, kind byte, id string) (bool, error) {
	if t.bits == nil {
		return false, nil
	}
	if dead, err := t.subject(tenant, sid); dead || err != nil {
		return dead, err
	}
	return t.record(tenant, sid, kind, id)
}

func subjectTombKey(tenant, sid string) key { return newKey(sortSubjectTomb).part(tenant).part(sid) }

func tombKey(tenant, sid string, kind byte, id string) key {
	return newKey(sortTomb).part(tenant).part(sid).byte(kind).part(id)
}

// erasurePrefix is before the rows that lead from an erasure to its tombstones.
func erasurePrefix(tenant, erasure string) key {
	return newKey(sortErasure).part(tenant).part(clip(erasure))
}

func erasureKey(tenant, erasure string, kind byte, sid, id string) key {
	return erasurePrefix(tenant, erasure).byte(kind).part(sid).part(id)
}

// tombOfErasure is the key of the tombstone that the rest of such a row's key leads to.
func tombOfErasure(tenant string, rest []byte) (key, error) {
	if len(rest) == 0 {
		return nil, errRow(sortErasure)
	}
	sid, after, ok := cutPart(rest[1:])
	if !ok {
		return nil, errRow(sortErasure)
	}
	id, _, ok := cutPart(after)
	if !ok {
		return nil, errRow(sortErasure)
	}
	if rest[0] == kindSubject {
		return subjectTombKey(tenant, sid), nil
	}
	return tombKey(tenant, sid, rest[0], id), nil
}

func encodeTomb(erasure string, r *events.Recorded) []byte {
	var e encoder
	e.string(erasure)
	e.uint(r.Position)
	e.time(r.RecordedAt)
	return e.b
}

// decodeTomb reads a tombstone of either sort.
func decodeTomb(k, value []byte) (Tombstone, error) {
	d := decoder{b: value}
	t := Tombstone{Kind: events.KindSubject, Erasure: d.string(), Position: d.uint(), RecordedAt: d.time()}
	if err := d.err(); err != nil {
		return Tombstone{}, err
	}
	_, rest, ok := cutPart(k[1:])
	if !ok {
		return Tombstone{}, errRow(k[0])
	}
	if t.Subject, rest, ok = cutPart(rest); !ok {
		return Tombstone{}, errRow(k[0])
	}
	t.ID = t.Subject
	if k[0] == sortSubjectTomb {
		return t, nil
	}
	if len(rest) == 0 {
		return Tombstone{}, errRow(k[0])
	}
	t.Kind = events.KindEpisode
	if rest[0] == kindFact {
		t.Kind = events.KindFact
	}
	if t.ID, _, ok = cutPart(rest[1:]); !ok {
		return Tombstone{}, errRow(k[0])
	}
	return t, nil
}
