package projectors

import (
	"fmt"
)

// Each subject has a row with the sum of its records, so that a tombstone takes them out of the digest and the counts at once,
// however many there are.

// subjectSum is what a view has of one subject.
type subjectSum struct {
	// episodes and facts count the rows of those sorts, records those of all that the digest covers, unopened the marks.
	episodes, facts, records, unopened uint64
	digest                             digest
}

func sumKey(tenant, sid string) key { return newKey(sortSum).part(tenant).part(sid) }

// sumOfRow is the key of the sum that a record belongs to, nil if its key does not tell of a subject that could take it along.
func sumOfRow(k []byte) []byte {
	switch k[0] {
	case sortEpisode, sortFact, sortRevision, sortTomb:
	default:
		return nil
	}
	n := 2 + int(k[1])
	n += 1 + int(k[n])
	sum := append(make([]byte, 0, n), k[:n]...)
	sum[0] = sortSum
	return sum
}

func (s *subjectSum) encode() []byte {
	var e encoder
	e.uint(s.episodes)
	e.uint(s.facts)
	e.uint(s.records)
	e.uint(s.unopened)
	e.bytes(s.digest.bytes())
	return e.b
}

func decodeSum(value []byte) (*subjectSum, error) {
	d := decoder{b: value}
	s := &subjectSum{episodes: d.uint(), facts: d.uint(), records: d.uint(), unopened: d.uint()}
	sum, ok := digestFrom(d.take())
	s.digest = sum
	if err := d.err(); err != nil {
		return nil, err
	}
	if !ok {
		return nil, errRow(sortSum)
	}
	return s, nil
}

// sum returns a sum as the batch at hand leaves it. It may be changed.
func (e *engine) sum(k []byte) (*subjectSum, error) {
	if s := e.sums[string(k)]; s != nil {
		return s, nil
	}
	s := &subjectSum{}
	_, err := get(e.db, k, func(value []byte) (err error) {
		s, err = decodeSum(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	e.sums[string(k)] = s
	return s, nil
}

// count takes a record into a sum, or out of it. A nil key is nobody's.
func (e *engine) count(k []byte, sort byte, by int64, old, d digest) error {
	if k == nil {
		return nil
	}
	s, err := e.sum(k)
	if err != nil {
		return err
	}
	n := uint64(by) //nolint:gosec // It wraps around, and so adds what is negative.
	s.records += n
	switch sort {
	case sortEpisode:
		s.episodes += n
	case sortFact:
		s.facts += n
	}
	s.digest.sub(old)
	s.digest.add(d)
	return nil
}

// dropSum takes all of a subject out of the digest and the counts.
func (e *engine) dropSum(tenant, sid string) error {
	s, err := e.sum(sumKey(tenant, sid))
	if err != nil {
		return err
	}
	e.state.records -= s.records
	e.state.unopened -= s.unopened
	e.state.digest.sub(s.digest)
	*s = subjectSum{}
	return nil
}

// writeSums adds the sums to the batch.
func (e *engine) writeSums() error {
	for k, s := range e.sums {
		var err error
		if *s == (subjectSum{}) {
			err = e.unset([]byte(k))
		} else {
			err = e.set([]byte(k), s.encode())
		}
		if err != nil {
			return fmt.Errorf("write sum: %w", err)
		}
	}
	clear(e.sums)
	return nil
}
