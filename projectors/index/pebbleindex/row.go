package pebbleindex

import (
	"encoding/binary"
	"fmt"

	"github.com/annals-memory/annals/projectors/index"
)

// The layout of a forward row: fixed fields at fixed offsets, so that most conditions are judged without parsing, then the
// id, session, category and scope as lp, entities and labels as a two-byte count and lp each, and the models as a
// one-byte count and lp with eight bytes of Seq each.
const (
	rowFormat = 2

	offFormat    = 0
	offKind      = 1
	offTrust     = 2
	offLength    = 4
	offOccurred  = 8
	offObserved  = 16
	offValidFrom = 24
	offValidTo   = 32
	offExpires   = 40
	offUpdated   = 48
	offSeq       = 56
	offTokens    = 64
)

const maxModels = 255

// row is a forward row in memory.
type row struct {
	kind      index.Kind
	trust     uint8
	length    uint32
	occurred  int64
	observed  int64
	validFrom int64
	validTo   int64
	expires   int64
	seq       uint64
	updated   uint64 // Seq of the last update, or of the document
	id        string
	session   string
	category  string
	scope     string
	entities  []string
	labels    []string
	models    []modelRef
}

// modelRef says that the document has a vector of a model.
type modelRef struct {
	name string
	seq  uint64
}

func (w *row) model(name string) *modelRef {
	for i := range w.models {
		if w.models[i].name == name {
			return &w.models[i]
		}
	}
	return nil
}

func appendTokens(b []byte, tokens []string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(tokens))) //nolint:gosec // validated to be at most MaxList
	for _, t := range tokens {
		b = appendLP(b, t)
	}
	return b
}

func appendRow(b []byte, w *row) []byte {
	b = append(b, rowFormat, byte(w.kind), w.trust, 0)
	b = binary.BigEndian.AppendUint32(b, w.length)
	for _, t := range [...]int64{w.occurred, w.observed, w.validFrom, w.validTo, w.expires} {
		b = binary.BigEndian.AppendUint64(b, uint64(t)) //nolint:gosec // the bits are kept
	}
	b = binary.BigEndian.AppendUint64(b, w.updated)
	b = binary.BigEndian.AppendUint64(b, w.seq)
	for _, s := range [...]string{w.id, w.session, w.category, w.scope} {
		b = appendLP(b, s)
	}
	b = appendTokens(b, w.entities)
	b = appendTokens(b, w.labels)
	b = append(b, byte(len(w.models))) //nolint:gosec // validated to be at most 255
	for _, m := range w.models {
		b = binary.BigEndian.AppendUint64(appendLP(b, m.name), m.seq)
	}
	return b
}

// rowReader walks over the tokens of an encoded row. After a failure all reads return nothing and bad is set.
type rowReader struct {
	b   []byte
	bad bool
}

func (r *rowReader) token() []byte {
	lp, rest, ok := cutLP(r.b)
	if !ok {
		r.b, r.bad = nil, true
		return nil
	}
	r.b = rest
	return lp[1:]
}

func (r *rowReader) number(size int) uint64 {
	if len(r.b) < size {
		r.b, r.bad = nil, true
		return 0
	}
	var n uint64
	for _, c := range r.b[:size] {
		n = n<<8 | uint64(c)
	}
	r.b = r.b[size:]
	return n
}

func (r *rowReader) tokens() []string {
	n := r.number(2)
	var list []string
	for range n {
		list = append(list, string(r.token()))
	}
	return list
}

func rowInt(b []byte, off int) int64 {
	return int64(binary.BigEndian.Uint64(b[off:])) //nolint:gosec // the bits are kept
}

// checkRow reports a value that is no forward row.
func checkRow(b []byte) error {
	if len(b) < offTokens || b[offFormat] != rowFormat {
		return fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	return nil
}

func parseRow(b []byte) (*row, error) {
	if err := checkRow(b); err != nil {
		return nil, err
	}
	r := rowReader{b: b[offTokens:]}
	w := &row{
		kind:      index.Kind(b[offKind]),
		trust:     b[offTrust],
		length:    binary.BigEndian.Uint32(b[offLength:]),
		occurred:  rowInt(b, offOccurred),
		observed:  rowInt(b, offObserved),
		validFrom: rowInt(b, offValidFrom),
		validTo:   rowInt(b, offValidTo),
		expires:   rowInt(b, offExpires),
		updated:   binary.BigEndian.Uint64(b[offUpdated:]),
		seq:       binary.BigEndian.Uint64(b[offSeq:]),
		id:        string(r.token()),
		session:   string(r.token()),
		category:  string(r.token()),
		scope:     string(r.token()),
	}
	w.entities = r.tokens()
	w.labels = r.tokens()
	for range r.number(1) {
		w.models = append(w.models, modelRef{name: string(r.token()), seq: r.number(8)})
	}
	if r.bad || len(r.b) != 0 {
		return nil, fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	return w, nil
}
