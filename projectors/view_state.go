package projectors

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// viewState is the row that moves with the rows of a view.
type viewState struct {
	// format names the projection, its version and its settings.
	format string
	// identity is that of the log.
	identity string
	// position is that of the last message folded, commit the id in it.
	position uint64
	commit   string
	digest   digest
	records  uint64
	parked   uint64
	unopened uint64
	// holds is the number of legal holds.
	holds uint64
	// sources is the number of commits of sources that were folded.
	sources uint64
	// indexed is where the last batch ended that wrote to a search index outside, the zero mark but for its log if none did.
	indexed qdrantindex.Mark
	// clearing is the position of the oldest tombstone of a subject whose rows are not all cleared, zero if there is none. It is
	// not stored.
	clearing uint64
}

func stateKey() []byte { return newKey(sortState).part("state") }

func (s *viewState) encode() []byte {
	var e encoder
	e.string(s.format)
	e.string(s.identity)
	e.uint(s.position)
	e.string(s.commit)
	e.bytes(s.digest.bytes())
	e.uint(s.records)
	e.uint(s.parked)
	e.uint(s.unopened)
	e.uint(s.holds)
	e.uint(s.sources)
	e.uint(s.indexed.Position)
	e.uint(s.indexed.Round)
	return e.b
}

// next is the mark of the next batch that writes to a search index outside.
func (s *viewState) next() qdrantindex.Mark {
	m := qdrantindex.Mark{Log: s.identity, Position: s.position}
	if m.Position == s.indexed.Position {
		m.Round = s.indexed.Round + 1
	}
	return m
}

// readState returns the zero state if there is none yet.
func readState(r pebble.Reader) (s viewState, err error) {
	value, closer, err := r.Get(stateKey())
	if errors.Is(err, pebble.ErrNotFound) {
		return viewState{}, nil
	}
	if err != nil {
		return viewState{}, fmt.Errorf("read state: %w", err)
	}
	defer closeInto(closer, &err)
	d := decoder{b: value}
	s.format, s.identity, s.position, s.commit = d.string(), d.string(), d.uint(), d.string()
	sum, ok := digestFrom(d.take())
	s.digest = sum
	s.records, s.parked, s.unopened = d.uint(), d.uint(), d.uint()
	if len(d.b) > 0 { // a view of an older format has none
		s.holds = d.uint()
	}
	if len(d.b) > 0 { // as above
		s.sources = d.uint()
	}
	s.indexed.Log = s.identity
	if len(d.b) > 0 { // as above
		s.indexed.Position, s.indexed.Round = d.uint(), d.uint()
	}
	if err := d.err(); err != nil || !ok {
		return viewState{}, fmt.Errorf("read state: %w", ErrCorrupt)
	}
	return s, nil
}
