package projectors

import (
	"context"

	"github.com/annals-memory/annals/events"
)

// A content row says where in the log a message is about a living record, if it holds sealed content of it or of others. When
// the record ends, its content rows become leftovers. A message that is about more than one record has a company row, which
// counts those that live: as long as there is one, the message cannot go.

func contentsOfSubject(tenant, sid string) key { return newKey(sortContent).part(tenant).part(sid) }

func contentsOf(tenant, sid string, kind byte, id string) key {
	return contentsOfSubject(tenant, sid).byte(kind).part(id)
}

func companyKey(tenant string, position uint64) key {
	return newKey(sortCompany).part(tenant).position(position)
}

func leftoversOf(tenant string) key { return newKey(sortLeftover).part(tenant) }

func leftoverKey(tenant string, position uint64, erasure string) key {
	return leftoversOf(tenant).position(position).part(clip(erasure))
}

// The values of content rows.
const (
	contentMention = 0
	contentSealed  = 1
)

// note keeps where the log holds sealed content of living records, and makes leftovers of what comes too late. stays says that
// the commit must stay in the log whatever becomes of its about. It writes, so what parks must have been found.
func (e *engine) note(r *events.Recorded, about []matter, stays bool) error {
	sealed := false
	for i := range about {
		sealed = sealed || about[i].sealed
	}
	if !sealed {
		return nil
	}
	t, alone := r.Aggregate.Tenant, len(about) == 1 && !stays
	var living uint64
	if stays {
		living++
	}
	for i := range about {
		p := &about[i]
		erasure, gone, err := e.erasureOf(t, p)
		if err != nil {
			return err
		}
		if gone {
			if !p.sealed {
				continue
			}
			if err := e.set(leftoverKey(t, r.Position, erasure), []byte(p.sid)); err != nil {
				return err
			}
			continue
		}
		living++
		value := []byte{contentMention}
		if p.sealed {
			value[0] = contentSealed
		}
		if err := e.set(contentsOf(t, p.sid, p.kind, p.id).position(r.Position), value); err != nil {
			return err
		}
	}
	if alone {
		return nil
	}
	return e.setCompany(companyKey(t, r.Position), living)
}

// erasureOf tells whether a record or its subject has a tombstone, and of which erasure.
func (e *engine) erasureOf(tenant string, p *matter) (erasure string, gone bool, err error) {
	if e.tombs.bits == nil {
		return "", false, nil
	}
	keys := []key{subjectTombKey(tenant, p.sid)}
	if p.kind == kindFact || p.kind == kindEpisode {
		keys = append(keys, tombKey(tenant, p.sid, p.kind, p.id))
	}
	for _, k := range keys {
		dead, err := e.tombs.has(k)
		if err != nil {
			return "", false, err
		}
		if !dead {
			continue
		}
		_, err = get(e.db, k, func(value []byte) error {
			t, err := decodeTomb(k, value)
			erasure = t.Erasure
			return err
		})
		return erasure, true, err
	}
	return "", false, nil
}

// company is the number of living records that a message is about, as the batch at hand leaves it; found is false if there is
// no such row.
func (e *engine) company(k key) (living uint64, found bool, err error) {
	if living, ok := e.companies[string(k)]; ok {
		return living, living > 0, nil
	}
	found, err = get(e.db, k, func(value []byte) error {
		d := decoder{b: value}
		living = d.uint()
		return d.err()
	})
	return living, found, err
}

func (e *engine) setCompany(k key, living uint64) error {
	e.companies[string(k)] = living
	if living == 0 {
		return e.unset(k)
	}
	var enc encoder
	enc.uint(living)
	return e.set(k, enc.b)
}

// leave makes a leftover of a content row, given the end of its key. The row itself is for the caller to remove.
func (e *engine) leave(tenant, sid, erasure string, end, value []byte) error {
	position, ok := cutPosition(end)
	if !ok || len(value) != 1 {
		return errRow(sortContent)
	}
	if value[0] == contentSealed {
		if err := e.set(leftoverKey(tenant, position, erasure), []byte(sid)); err != nil {
			return err
		}
	}
	k := companyKey(tenant, position)
	living, found, err := e.company(k)
	if err != nil || !found {
		return err
	}
	return e.setCompany(k, living-1)
}

// leaveRecord makes leftovers of all content of a record. The batch before was applied.
func (e *engine) leaveRecord(tenant, sid string, kind byte, id, erasure string) error {
	for _, prefix := range []key{contentsOf(tenant, sid, kind, id), contentsOf(tenant, "", kind, id)} {
		err := scan(e.db, prefix, nil, func(k, value []byte) (bool, error) {
			if err := e.leave(tenant, sid, erasure, k[len(prefix):], value); err != nil {
				return false, err
			}
			return true, e.unset(k)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leaveSubject makes leftovers of the content of a subject.
func (e *engine) leaveSubject(_ context.Context, c *clearing) (more bool, err error) {
	prefix := contentsOfSubject(c.tenant, c.sid)
	return e.clearPage(prefix, func(k, value []byte) error {
		rest := k[len(prefix):]
		if len(rest) == 0 {
			return errRow(sortContent)
		}
		_, end, ok := cutPart(rest[1:])
		if !ok {
			return errRow(sortContent)
		}
		return e.leave(c.tenant, c.sid, c.erasure, end, value)
	})
}

// note keeps where the log holds the facts of a commit. The view that answers for facts does, no other.
func (f *slotFold) note(r *events.Recorded, sid string) error {
	if !f.readRows {
		return nil
	}
	about, stays := factMatters(r.Events, sid)
	return f.e.note(r, about, stays)
}

// noteOrphans notes a commit about facts that are not here, whose proposals were erased: what they sealed elsewhere must go
// with them.
func (f *slotFold) noteOrphans(r *events.Recorded) error {
	if !f.readRows {
		return nil
	}
	about, stays := factMatters(r.Events, "")
	for i := range about {
		_, err := get(f.e.db, idKey(r.Aggregate.Tenant, kindFact, about[i].id), func(value []byte) error {
			place, err := decodeFactPlace(value)
			about[i].sid = place.sid // of a tombstone, for there is no fact
			return err
		})
		if err != nil {
			return err
		}
		// The rows of a forgotten subject may still be there.
		if gone, err := f.e.tombs.subject(r.Aggregate.Tenant, about[i].sid); err != nil {
			return err
		} else if gone {
			about[i].sid = ""
		}
	}
	return f.e.note(r, about, stays)
}
