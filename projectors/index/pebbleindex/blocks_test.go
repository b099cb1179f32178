package pebbleindex

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/projectors/index"
)

func drawForward(t *rapid.T) *forwardBlock {
	b := new(forwardBlock)
	at := rapid.SliceOfNDistinct(rapid.IntRange(0, blockRows-1), 1, blockRows, rapid.ID[int]).Draw(t, "places")
	token := rapid.StringN(0, 8, 20)
	moment := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64())
	for _, place := range at {
		r := row{
			fixed: fixed{
				kind: index.Kind(rapid.IntRange(1, 3).Draw(t, "kind")), trust: rapid.Uint8().Draw(t, "trust"),
				length: rapid.Uint32().Draw(t, "length"), occurred: moment.Draw(t, "occurred"), observed: moment.Draw(t, "observed"),
				validFrom: moment.Draw(t, "from"), validTo: moment.Draw(t, "to"), expires: moment.Draw(t, "expires"),
				seq: rapid.Uint64().Draw(t, "seq"), updated: rapid.Uint64().Draw(t, "updated"),
			},
			id: "id", session: token.Draw(t, "session"), entities: rapid.SliceOfN(token, 0, 2).Draw(t, "entities"),
		}
		if rapid.Bool().Draw(t, "vector") {
			r.models = []modelRef{{name: "m", seq: 7}}
		}
		b[place] = &forwardRow{fixed: r.fixed, tail: appendTail(nil, &r)}
	}
	return b
}

func drawVectors(t *rapid.T) *vectorBlock {
	b := new(vectorBlock)
	at := rapid.SliceOfNDistinct(rapid.IntRange(0, vectorRows-1), 1, vectorRows, rapid.ID[int]).Draw(t, "places")
	dim := rapid.IntRange(1, 9).Draw(t, "dim")
	for _, place := range at {
		b[place] = roundRow(rapid.SliceOfN(rapid.Float32Range(-1, 1), dim, dim).Draw(t, "vector"))
	}
	return b
}

// damage cuts an encoded block, or flips one bit, or adds a byte.
func damage(t *rapid.T, value []byte) []byte {
	value = bytes.Clone(value)
	switch rapid.IntRange(0, 2).Draw(t, "damage") {
	case 0:
		return value[:rapid.IntRange(0, len(value)-1).Draw(t, "cut")]
	case 1:
		bit := rapid.IntRange(0, 8*len(value)-1).Draw(t, "bit")
		value[bit/8] ^= 1 << (bit % 8)
		return value
	default:
		return append(value, rapid.Byte().Draw(t, "byte"))
	}
}

func TestForwardBlockRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawForward(t)
		value := want.append(nil)
		var got forwardBlock
		if err := got.parse(value); err != nil {
			t.Fatalf("parse: %v", err)
		}
		if diff := cmp.Diff(want, &got, cmp.AllowUnexported(forwardRow{}, fixed{})); diff != "" {
			t.Fatalf("block differs (-want +got):\n%s", diff)
		}
		for place, r := range got {
			if r == nil {
				continue
			}
			if _, err := parseRow(r); err != nil {
				t.Fatalf("parse row: %v", err)
			}
			var v forwardView
			if err := v.parse(value); err != nil {
				t.Fatalf("parse view: %v", err)
			}
			rank := v.set.rank(uint32(place))
			if v.set.at(rank) != uint32(place) || v.fixed(rank) != r.fixed {
				t.Fatalf("place %d is not where its rank %d says", place, rank)
			}
		}
		if empty := new(forwardBlock).append(nil); len(empty) != 0 {
			t.Fatalf("an empty block takes %d bytes", len(empty))
		}
	})
}

func TestVectorBlockRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawVectors(t)
		var got vectorBlock
		if err := got.parse(want.append(nil)); err != nil {
			t.Fatalf("parse: %v", err)
		}
		if diff := cmp.Diff(want, &got, cmp.AllowUnexported(int8Row{})); diff != "" {
			t.Fatalf("block differs (-want +got):\n%s", diff)
		}
		if empty := new(vectorBlock).append(nil); len(empty) != 0 {
			t.Fatalf("an empty block takes %d bytes", len(empty))
		}
	})
}

// TestDamagedBlocks demands of a damaged block that it is refused or read in full, and never a panic. What is cut is always
// refused, as is what is too long.
func TestDamagedBlocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := drawForward(t).append(nil)
		value := damage(t, whole)
		if readForward(t, value) && len(value) != len(whole) {
			t.Fatalf("a forward block of %d bytes is read from %d", len(whole), len(value))
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		whole := drawVectors(t).append(nil)
		value := damage(t, whole)
		var v vectorView
		if err := v.parse(whole); err != nil {
			t.Fatalf("parse: %v", err)
		}
		dim := v.dim
		if readVectors(t, value) && len(value) != len(whole) {
			if err := v.parse(value); err != nil || v.dim == dim {
				t.Fatalf("a vector block of %d bytes is read from %d (%v)", len(whole), len(value), err)
			}
		}
	})
}

// readForward reads all there is in an encoded block, and reports whether it could be read.
func readForward(t failer, value []byte) bool {
	t.Helper()
	var b forwardBlock
	err := b.parse(value)
	var v forwardView
	if viewErr := v.parse(value); viewErr == nil {
		judgeAll(t, &v)
	}
	if err != nil {
		if !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("parse forward block: %v", err)
		}
		return false
	}
	for _, r := range b {
		if r == nil {
			continue
		}
		if _, err := parseRow(r); err != nil && !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("parse row: %v", err)
		}
	}
	if !bytes.Equal(b.append(nil), value) {
		t.Fatalf("a block of %d bytes is not what is written for it", len(value))
	}
	return true
}

// judgeAll applies every condition to a block and reads every row as a hit.
func judgeAll(t failer, v *forwardView) {
	t.Helper()
	m := newMatcher(&index.Filter{
		Kinds: []index.Kind{index.Fact}, Sessions: []string{""}, Categories: []string{""}, Scopes: []string{""},
		EntitiesAny: []string{"a"}, Where: index.And{
			index.AllOf(index.FieldEntities, "a"), index.AllOf(index.FieldLabels, "a"), index.AtLeast(index.NumberTrust, 1),
		},
		OccurredFromUS: new(int64), OccurredToUS: new(int64), ValidAtUS: new(int64), Exclude: []string{"b"},
	})
	pass, err := m.judge(v)
	if err != nil && !errors.Is(err, index.ErrCorrupt) {
		t.Fatalf("judge: %v", err)
	}
	for i, w := range pass {
		if w&^v.set[i] != 0 {
			t.Fatalf("places pass that are free")
		}
	}
	for i := range v.n {
		if _, err := v.hit(i); err != nil && !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("read hit: %v", err)
		}
	}
}

// readVectors does for a block of int8 rows what readForward does.
func readVectors(t failer, value []byte) bool {
	t.Helper()
	var b vectorBlock
	if err := b.parse(value); err != nil {
		if !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("parse vector block: %v", err)
		}
		return false
	}
	if !bytes.Equal(b.append(nil), value) {
		t.Fatalf("a block of %d bytes is not what is written for it", len(value))
	}
	return true
}

func FuzzForwardBlock(f *testing.F) {
	b := new(forwardBlock)
	for _, place := range []int{0, 1, 70} {
		r := row{fixed: fixed{kind: index.Fact, validTo: math.MaxInt64}, id: "id", labels: []string{"l"}}
		b[place] = &forwardRow{fixed: r.fixed, tail: appendTail(nil, &r)}
	}
	f.Add(b.append(nil))
	f.Add(b.append(nil)[:50])
	f.Fuzz(func(t *testing.T, value []byte) { readForward(t, value) })
}

func FuzzVectorBlock(f *testing.F) {
	b := new(vectorBlock)
	b[0], b[63] = roundRow([]float32{0.6, 0.8}), roundRow([]float32{1, 0})
	f.Add(b.append(nil))
	f.Add(b.append(nil)[:20])
	f.Fuzz(func(t *testing.T, value []byte) { readVectors(t, value) })
}

func FuzzPostings(f *testing.F) {
	one, next := appendPosting(nil, 0, 3, 1)
	two, _ := appendPosting(one, next, postingSpan-1, 300)
	f.Add(two)
	f.Add(two[:len(two)-1])
	f.Fuzz(func(t *testing.T, value []byte) {
		r := postingReader{b: value}
		last := -1
		for {
			place, tf, ok := r.read()
			if !ok {
				break
			}
			if int(place) <= last || place >= postingSpan || tf == 0 {
				t.Fatalf("posting at %d with frequency %d after %d", place, tf, last)
			}
			last = int(place)
		}
		// A change far behind rewrites what was read, or finds it damaged.
		merged, err := mergePostings(nil, value, []change{{ordinal: 5, tf: 2}})
		if (err != nil) != r.bad {
			t.Fatalf("reader says bad %v, merge says %v", r.bad, err)
		}
		if err == nil && !slices.Contains(postingPlaces(merged), 5) {
			t.Fatal("the change is not there")
		}
	})
}

// postingPlaces returns the places of an encoded block of postings.
func postingPlaces(value []byte) (list []uint32) {
	r := postingReader{b: value}
	for place, _, ok := r.read(); ok; place, _, ok = r.read() {
		list = append(list, place)
	}
	return list
}
