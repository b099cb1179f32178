package pebbleindex

import (
	"encoding/binary"
	"fmt"

	"github.com/annals-memory/annals/projectors/index"
)

const maxModels = 255

// row is a forward row in memory.
type row struct {
	fixed

	id       string
	session  string
	category string
	scope    string
	entities []string
	labels   []string
	origins  []index.Origin
	models   []modelRef
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

// appendTail appends the part of a row that differs in size: the id, session, category and scope as lp, the origins as a
// two-byte count and two lp with eight bytes of Seq each, entities and labels as a two-byte count and lp each, and the models
// as a one-byte count and lp with eight bytes of Seq each.
func appendTail(b []byte, w *row) []byte {
	for _, s := range [...]string{w.id, w.session, w.category, w.scope} {
		b = appendLP(b, s)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(w.origins))) //nolint:gosec // validated to be at most MaxList
	for _, o := range w.origins {
		b = binary.BigEndian.AppendUint64(appendLP(appendLP(b, o.Source), o.Revision), o.Seq)
	}
	b = appendTokens(b, w.entities)
	b = appendTokens(b, w.labels)
	b = append(b, byte(len(w.models))) //nolint:gosec // validated to be at most 255
	for _, m := range w.models {
		b = binary.BigEndian.AppendUint64(appendLP(b, m.name), m.seq)
	}
	return b
}

// rowReader walks over the tail of a row. After a failure all reads return nothing and bad is set.
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

// parseRow decodes the tail of r; nil is no row.
func parseRow(r *forwardRow) (*row, error) {
	if r == nil {
		return nil, fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	t := rowReader{b: r.tail}
	w := &row{
		fixed: r.fixed, id: string(t.token()), session: string(t.token()), category: string(t.token()), scope: string(t.token()),
	}
	for range t.number(2) {
		w.origins = append(w.origins, index.Origin{Source: string(t.token()), Revision: string(t.token()), Seq: t.number(8)})
	}
	w.entities = t.tokens()
	w.labels = t.tokens()
	for range t.number(1) {
		w.models = append(w.models, modelRef{name: string(t.token()), seq: t.number(8)})
	}
	if t.bad || len(t.b) != 0 {
		return nil, fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	return w, nil
}
