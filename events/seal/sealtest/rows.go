package sealtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events/seal"
)

// Rows runs the contract of [seal.Rows]. Each call of open must return an empty
// store that lives as long as the test it is given.
func Rows(t *testing.T, open func(t *testing.T) seal.Rows) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, seal.Rows){
		"create and get":                  testCreate,
		"create finds what exists":        testCreateExists,
		"create is all or none":           testCreateAtomic,
		"create takes a thousand":         testCreateMany,
		"create has one winner":           testCreateRace,
		"batches do not mix":              testCreateBatchRace,
		"get many":                        testGetMany,
		"put wants the revision":          testPut,
		"put never creates":               testPutAbsent,
		"put has one winner":              testPutRace,
		"replace is all or none":          testReplace,
		"replace takes a thousand":        testReplaceMany,
		"replace has one winner":          testReplaceRace,
		"discard":                         testDiscard,
		"destroy":                         testDestroy,
		"destroy at a revision":           testDestroyAt,
		"destroy takes nothing newer":     testDestroyAtRace,
		"revisions are not used again":    testRevisions,
		"list by whole tokens":            testList,
		"list while changing":             testListChange,
		"values are copies":               testCopies,
		"bad keys change nothing":         testBadKeys,
		"a cancelled context is an error": testCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

const racers = 16

func testCreate(t *testing.T, rows seal.Rows) {
	ctx := t.Context()
	if _, err := rows.Get(ctx, "k1.a"); !errors.Is(err, seal.ErrNoRow) {
		t.Fatalf("get before create: %v, want ErrNoRow", err)
	}
	value := []byte{0, 1, 255, '.', '*', '\n'}
	create(t, rows, seal.Row{Key: "k1.a", Value: value, Revision: 77})
	row := get(t, rows, "k1.a")
	if row.Key != "k1.a" || !slices.Equal(row.Value, value) || row.Revision == 0 {
		t.Fatalf("got key %q, %d bytes, revision %d", row.Key, len(row.Value), row.Revision)
	}
	create(t, rows)
}

func testCreateExists(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("first")})
	before := get(t, rows, "k1.a")
	wantExists(t, rows.Create(t.Context(), seal.Row{Key: "k1.a", Value: []byte("second")}), "k1.a")
	if diff := cmp.Diff(before, get(t, rows, "k1.a")); diff != "" {
		t.Fatalf("a refused create changed the row:\n%s", diff)
	}
}

func testCreateAtomic(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k3.t.3", Value: []byte("old")})
	batch := make([]seal.Row, 5)
	for i := range batch {
		batch[i] = seal.Row{Key: fmt.Sprintf("k3.t.%d", i), Value: []byte("new")}
	}
	wantExists(t, rows.Create(t.Context(), batch...), "k3.t.3")
	wantKeys(t, rows, "", "k3.t.3")
	if got := string(get(t, rows, "k3.t.3").Value); got != "old" {
		t.Fatalf("value is %q, want old", got)
	}
	twice := []seal.Row{{Key: "k1.a", Value: []byte("1")}, {Key: "k1.b", Value: []byte("2")}, {Key: "k1.a", Value: []byte("3")}}
	wantExists(t, rows.Create(t.Context(), twice...), "k1.a")
	wantKeys(t, rows, "", "k3.t.3")
	// Positive control: the same batch goes through where nothing is in its way.
	create(t, rows, slices.Delete(batch, 3, 4)...)
	wantKeys(t, rows, "", "k3.t.0", "k3.t.1", "k3.t.2", "k3.t.3", "k3.t.4")
}

func testCreateMany(t *testing.T, rows seal.Rows) {
	batch := make([]seal.Row, seal.MaxCreate+1)
	keys := make([]string, len(batch))
	for i := range batch {
		keys[i] = fmt.Sprintf("k3.t.%04d", i)
		batch[i] = seal.Row{Key: keys[i], Value: []byte(keys[i])}
	}
	if err := rows.Create(t.Context(), batch...); !errors.Is(err, seal.ErrTooMany) {
		t.Fatalf("create %d rows: %v, want ErrTooMany", len(batch), err)
	}
	wantKeys(t, rows, "")
	create(t, rows, batch[:seal.MaxCreate]...)
	create(t, rows, batch[seal.MaxCreate:]...)
	found, err := rows.GetMany(t.Context(), append(keys, "k3.t.absent", keys[0]))
	if err != nil {
		t.Fatalf("get many: %v", err)
	}
	if len(found) != len(keys) {
		t.Fatalf("get many found %d rows, want %d", len(found), len(keys))
	}
	for key, row := range found {
		if row.Key != key || string(row.Value) != key {
			t.Fatalf("row %q holds %q under %q", key, row.Value, row.Key)
		}
	}
	wantKeys(t, rows, "k3.t", keys...)
}

func testCreateRace(t *testing.T, rows seal.Rows) {
	var wins atomic.Int64
	var winner atomic.Value
	race(func(i int) {
		value := fmt.Sprintf("racer %d", i)
		err := rows.Create(t.Context(), seal.Row{Key: "k1.a", Value: []byte(value)})
		switch {
		case err == nil:
			wins.Add(1)
			winner.Store(value)
		case !errors.Is(err, seal.ErrRowExists):
			t.Errorf("create: %v", err)
		}
		// Whoever lost sees the winner's row at once.
		if _, err := rows.Get(t.Context(), "k1.a"); err != nil {
			t.Errorf("get after create: %v", err)
		}
	})
	if wins.Load() != 1 {
		t.Fatalf("%d creators won, want 1", wins.Load())
	}
	if got := string(get(t, rows, "k1.a").Value); got != winner.Load() {
		t.Fatalf("the row holds %q, want the winner's %q", got, winner.Load())
	}
}

func testCreateBatchRace(t *testing.T, rows seal.Rows) {
	var wins atomic.Int64
	race(func(i int) {
		// Every two batches share a key, so that one of them wins alone.
		own := fmt.Sprintf("k3.t.own-%d", i)
		err := rows.Create(t.Context(), seal.Row{Key: own, Value: []byte("x")}, seal.Row{Key: "k3.t.shared", Value: []byte(own)})
		switch {
		case err == nil:
			wins.Add(1)
		case !errors.Is(err, seal.ErrRowExists):
			t.Errorf("create: %v", err)
		}
	})
	if wins.Load() != 1 {
		t.Fatalf("%d batches won, want 1", wins.Load())
	}
	wantKeys(t, rows, "", "k3.t.shared", string(get(t, rows, "k3.t.shared").Value))
}

func testGetMany(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("a")}, seal.Row{Key: "k1.b", Value: []byte("b")})
	found, err := rows.GetMany(t.Context(), []string{"k1.b", "k1.absent", "k1", "k1.b"})
	if err != nil {
		t.Fatalf("get many: %v", err)
	}
	if diff := cmp.Diff(map[string]seal.Row{"k1.b": get(t, rows, "k1.b")}, found); diff != "" {
		t.Fatalf("get many (-want +got):\n%s", diff)
	}
	if none, err := rows.GetMany(t.Context(), nil); err != nil || len(none) != 0 {
		t.Fatalf("get many of no keys: %d rows, %v", len(none), err)
	}
}

func testPut(t *testing.T, rows seal.Rows) {
	ctx := t.Context()
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("1")}, seal.Row{Key: "k1.b", Value: []byte("b")})
	first := get(t, rows, "k1.a")
	second, err := rows.Put(ctx, seal.Row{Key: "k1.a", Value: []byte("2"), Revision: first.Revision})
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	if second <= first.Revision {
		t.Fatalf("revision went from %d to %d", first.Revision, second)
	}
	if got := get(t, rows, "k1.a"); string(got.Value) != "2" || got.Revision != second {
		t.Fatalf("row holds %q at %d, want 2 at %d", got.Value, got.Revision, second)
	}
	for _, stale := range []uint64{0, first.Revision, second + 1} {
		if _, err := rows.Put(ctx, seal.Row{Key: "k1.a", Value: []byte("3"), Revision: stale}); !errors.Is(err, seal.ErrRowConflict) {
			t.Fatalf("put at revision %d of %d: %v, want ErrRowConflict", stale, second, err)
		}
	}
	if got := string(get(t, rows, "k1.a").Value); got != "2" {
		t.Fatalf("a refused put left %q", got)
	}
	if got := string(get(t, rows, "k1.b").Value); got != "b" {
		t.Fatalf("a put changed the neighbour to %q", got)
	}
}

func testPutAbsent(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("1")})
	row := get(t, rows, "k1.a")
	destroy(t, rows, "k1.a")
	for _, revision := range []uint64{0, 1, row.Revision} {
		if _, err := rows.Put(t.Context(), seal.Row{Key: "k1.a", Value: []byte("2"), Revision: revision}); !errors.Is(err, seal.ErrRowConflict) {
			t.Fatalf("put of an absent row at %d: %v, want ErrRowConflict", revision, err)
		}
	}
	wantKeys(t, rows, "")
}

func testPutRace(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("0")})
	revision := get(t, rows, "k1.a").Revision
	var wins atomic.Int64
	race(func(i int) {
		_, err := rows.Put(t.Context(), seal.Row{Key: "k1.a", Value: fmt.Append(nil, i), Revision: revision})
		switch {
		case err == nil:
			wins.Add(1)
		case !errors.Is(err, seal.ErrRowConflict):
			t.Errorf("put: %v", err)
		}
	})
	if wins.Load() != 1 {
		t.Fatalf("%d writers won, want 1", wins.Load())
	}
}

func testReplace(t *testing.T, rows seal.Rows) {
	ctx := t.Context()
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("a")}, seal.Row{Key: "k1.b", Value: []byte("b")}, seal.Row{Key: "k1.c", Value: []byte("c")})
	a, b := get(t, rows, "k1.a"), get(t, rows, "k1.b")
	change := func(row seal.Row, by int) seal.Row {
		row.Value, row.Revision = []byte("new "+row.Key), row.Revision+uint64(by)
		return row
	}
	for name, batch := range map[string][]seal.Row{
		"a newer revision": {change(a, 0), change(b, 1)},
		"an older one":     {change(a, 0), change(b, -1)},
		"revision zero":    {change(a, 0), {Key: "k1.b", Value: []byte("x")}},
		"an absent row":    {change(a, 0), {Key: "k1.absent", Value: []byte("x"), Revision: b.Revision}},
		"an absent at 0":   {change(a, 0), {Key: "k1.absent", Value: []byte("x")}},
		"a row twice":      {change(a, 0), change(b, 0), change(a, 0)},
	} {
		if err := rows.Replace(ctx, batch...); !errors.Is(err, seal.ErrRowConflict) {
			t.Fatalf("replace with %s: %v, want ErrRowConflict", name, err)
		}
		if diff := cmp.Diff([]seal.Row{a, b}, []seal.Row{get(t, rows, "k1.a"), get(t, rows, "k1.b")}); diff != "" {
			t.Fatalf("replace with %s changed something:\n%s", name, diff)
		}
	}
	if err := rows.Replace(ctx); err != nil {
		t.Fatalf("replace of nothing: %v", err)
	}
	if err := rows.Replace(ctx, change(b, 0), change(a, 0)); err != nil {
		t.Fatalf("replace: %v", err)
	}
	for _, old := range []seal.Row{a, b} {
		if got := get(t, rows, old.Key); string(got.Value) != "new "+old.Key || got.Revision <= old.Revision {
			t.Fatalf("row holds %q at %d after %d", got.Value, got.Revision, old.Revision)
		}
		if _, err := rows.Put(ctx, old); !errors.Is(err, seal.ErrRowConflict) {
			t.Fatalf("put at a replaced revision: %v, want ErrRowConflict", err)
		}
	}
	if got := string(get(t, rows, "k1.c").Value); got != "c" {
		t.Fatalf("a replace changed the neighbour to %q", got)
	}
	wantKeys(t, rows, "", "k1.a", "k1.b", "k1.c")
	// What was replaced does not come back when its successor goes.
	destroy(t, rows, "k1.a")
	wantKeys(t, rows, "", "k1.b", "k1.c")
}

func testReplaceMany(t *testing.T, rows seal.Rows) {
	batch := make([]seal.Row, seal.MaxCreate+1)
	for i := range batch {
		batch[i] = seal.Row{Key: fmt.Sprintf("k3.t.%04d", i), Value: []byte("old")}
	}
	create(t, rows, batch[:seal.MaxCreate]...)
	create(t, rows, batch[seal.MaxCreate:]...)
	for i := range batch {
		batch[i] = get(t, rows, batch[i].Key)
		batch[i].Value = []byte("new")
	}
	if err := rows.Replace(t.Context(), batch...); !errors.Is(err, seal.ErrTooMany) {
		t.Fatalf("replace %d rows: %v, want ErrTooMany", len(batch), err)
	}
	if err := rows.Replace(t.Context(), batch[1:]...); err != nil {
		t.Fatalf("replace %d rows: %v", len(batch)-1, err)
	}
	replaced := 0
	for row, err := range rows.List(t.Context(), "k3.t") {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if string(row.Value) == "new" {
			replaced++
		}
	}
	if replaced != seal.MaxCreate {
		t.Fatalf("%d rows were replaced, want %d", replaced, seal.MaxCreate)
	}
	if err := rows.Discard(t.Context(), batch...); err != nil {
		t.Fatalf("discard %d rows: %v", len(batch), err)
	}
	if n := len(keysUnder(t, rows, "k3.t")); n != seal.MaxCreate {
		t.Fatalf("%d rows left after a discard at former revisions, want %d", n, seal.MaxCreate)
	}
	for i := range batch {
		batch[i] = get(t, rows, batch[max(i, 1)].Key)
	}
	if err := rows.Discard(t.Context(), batch...); err != nil {
		t.Fatalf("discard %d rows: %v", len(batch), err)
	}
	wantKeys(t, rows, "")
}

func testReplaceRace(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("0")}, seal.Row{Key: "k1.b", Value: []byte("0")})
	a, b := get(t, rows, "k1.a"), get(t, rows, "k1.b")
	var wins atomic.Int64
	race(func(i int) {
		a, b := a, b
		a.Value = fmt.Append(nil, i)
		b.Value = a.Value
		switch err := rows.Replace(t.Context(), a, b); {
		case err == nil:
			wins.Add(1)
		case !errors.Is(err, seal.ErrRowConflict):
			t.Errorf("replace: %v", err)
		}
	})
	if wins.Load() != 1 {
		t.Fatalf("%d writers won, want 1", wins.Load())
	}
	if a, b := get(t, rows, "k1.a"), get(t, rows, "k1.b"); !slices.Equal(a.Value, b.Value) {
		t.Fatalf("one writer wrote %q, another %q", a.Value, b.Value)
	}
}

func testDiscard(t *testing.T, rows seal.Rows) {
	ctx := t.Context()
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("a")}, seal.Row{Key: "k1.b", Value: []byte("b")}, seal.Row{Key: "k1.c", Value: []byte("c")})
	a, b := get(t, rows, "k1.a"), get(t, rows, "k1.b")
	revision, err := rows.Put(ctx, seal.Row{Key: "k1.a", Value: []byte("newer"), Revision: a.Revision})
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	for _, other := range []uint64{0, a.Revision, revision + 1} {
		if err := rows.Discard(ctx, seal.Row{Key: "k1.a", Revision: other}, seal.Row{Key: "k1.absent", Revision: 1}); err != nil {
			t.Fatalf("discard at another revision: %v", err)
		}
	}
	if got := string(get(t, rows, "k1.a").Value); got != "newer" {
		t.Fatalf("the row at another revision became %q", got)
	}
	if err := rows.Discard(ctx, b, seal.Row{Key: "k1.a", Revision: revision}, b); err != nil {
		t.Fatalf("discard: %v", err)
	}
	wantKeys(t, rows, "", "k1.c")
	if err := rows.Discard(ctx, b); err != nil {
		t.Fatalf("discard again: %v", err)
	}
	if err := rows.Discard(ctx); err != nil {
		t.Fatalf("discard of nothing: %v", err)
	}
	create(t, rows, seal.Row{Key: "k1.b", Value: []byte("again")})
	if err := rows.Discard(ctx, b); err != nil {
		t.Fatalf("discard of what was created anew: %v", err)
	}
	if again := get(t, rows, "k1.b"); string(again.Value) != "again" || again.Revision <= b.Revision {
		t.Fatalf("created again as %q at %d after %d", again.Value, again.Revision, b.Revision)
	}
}

func testDestroy(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("a")}, seal.Row{Key: "k1.b", Value: []byte("b")}, seal.Row{Key: "k1.c", Value: []byte("c")})
	destroy(t, rows, "k1.a", "k1.absent", "k1.c", "k1.a")
	if _, err := rows.Get(t.Context(), "k1.a"); !errors.Is(err, seal.ErrNoRow) {
		t.Fatalf("get after destroy: %v, want ErrNoRow", err)
	}
	found, err := rows.GetMany(t.Context(), []string{"k1.a", "k1.b", "k1.c"})
	if err != nil || len(found) != 1 {
		t.Fatalf("get many after destroy: %d rows, %v", len(found), err)
	}
	wantKeys(t, rows, "", "k1.b")
	destroy(t, rows)
	destroy(t, rows, "k1.a")
	wantKeys(t, rows, "", "k1.b")
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("again")})
	if got := string(get(t, rows, "k1.a").Value); got != "again" {
		t.Fatalf("created again as %q", got)
	}
}

func testDestroyAt(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("1")})
	first := get(t, rows, "k1.a")
	if err := rows.DestroyAt(t.Context(), seal.Row{Key: "k1.a", Revision: first.Revision + 1}); !errors.Is(err, seal.ErrRowConflict) {
		t.Fatalf("destroy at another revision: %v, want ErrRowConflict", err)
	}
	if err := rows.DestroyAt(t.Context(), seal.Row{Key: "k1.absent", Revision: 1}); err != nil {
		t.Fatalf("destroy of what is absent: %v", err)
	}
	revision, err := rows.Put(t.Context(), seal.Row{Key: "k1.a", Value: []byte("2"), Revision: first.Revision})
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.DestroyAt(t.Context(), first); !errors.Is(err, seal.ErrRowConflict) {
		t.Fatalf("destroy at a former revision: %v, want ErrRowConflict", err)
	}
	if err := rows.DestroyAt(t.Context(), seal.Row{Key: "k1.a", Revision: revision}); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, rows, "")
}

// What is created while a row is destroyed is another row.
func testDestroyAtRace(t *testing.T, rows seal.Rows) {
	for range 3 {
		create(t, rows, seal.Row{Key: "k1.a", Value: []byte("old")})
		old := get(t, rows, "k1.a")
		var made atomic.Int64
		race(func(i int) {
			if i%2 == 0 {
				if err := rows.DestroyAt(t.Context(), old); err != nil && !errors.Is(err, seal.ErrRowConflict) {
					t.Errorf("destroy: %v", err)
				}
				return
			}
			for made.Load() == 0 {
				err := rows.Create(t.Context(), seal.Row{Key: "k1.a", Value: []byte("new")})
				switch {
				case err == nil:
					made.Add(1)
				case !errors.Is(err, seal.ErrRowExists):
					t.Errorf("create: %v", err)
					return
				}
			}
		})
		if got := string(get(t, rows, "k1.a").Value); got != "new" || made.Load() != 1 {
			t.Fatalf("the row is %q after %d were created", got, made.Load())
		}
		destroy(t, rows, "k1.a")
	}
}

func testRevisions(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("1")})
	first := get(t, rows, "k1.a").Revision
	destroy(t, rows, "k1.a")
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("2")})
	if second := get(t, rows, "k1.a").Revision; second <= first {
		t.Fatalf("the row created anew has revision %d, the destroyed one had %d", second, first)
	}
	if _, err := rows.Put(t.Context(), seal.Row{Key: "k1.a", Value: []byte("3"), Revision: first}); !errors.Is(err, seal.ErrRowConflict) {
		t.Fatalf("put at the destroyed row's revision: %v, want ErrRowConflict", err)
	}
}

func testList(t *testing.T, rows seal.Rows) {
	for _, key := range []string{"names", "k2.t.s", "k2.t.s.a", "k2.t.s.b", "k2.t.s2.a", "k2.t2.s.a", "k3.t.s", "k22.t.s.a"} {
		create(t, rows, seal.Row{Key: key, Value: []byte(key)})
	}
	wantKeys(t, rows, "k2.t.s", "k2.t.s", "k2.t.s.a", "k2.t.s.b")
	wantKeys(t, rows, "k2.t", "k2.t.s", "k2.t.s.a", "k2.t.s.b", "k2.t.s2.a")
	wantKeys(t, rows, "k2", "k2.t.s", "k2.t.s.a", "k2.t.s.b", "k2.t.s2.a", "k2.t2.s.a")
	wantKeys(t, rows, "k2.t.s.a", "k2.t.s.a")
	wantKeys(t, rows, "names", "names")
	wantKeys(t, rows, "k9")
	wantKeys(t, rows, "", "names", "k2.t.s", "k2.t.s.a", "k2.t.s.b", "k2.t.s2.a", "k2.t2.s.a", "k3.t.s", "k22.t.s.a")
	seen := 0
	for row, err := range rows.List(t.Context(), "k2") {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if string(row.Value) != row.Key || row.Revision == 0 {
			t.Fatalf("row %q holds %q at %d", row.Key, row.Value, row.Revision)
		}
		if seen++; seen == 2 {
			break
		}
	}
	// The store is usable after a listing was left early.
	wantKeys(t, rows, "k3", "k3.t.s")
}

func testListChange(t *testing.T, rows seal.Rows) {
	for i := range 20 {
		create(t, rows, seal.Row{Key: fmt.Sprintf("k3.t.%02d", i), Value: []byte("old")})
	}
	seen := make(map[string]int)
	for row, err := range rows.List(t.Context(), "k3.t") {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		seen[row.Key]++
		if strings.HasSuffix(row.Key, "5") {
			destroy(t, rows, row.Key)
			continue
		}
		row.Value = []byte("new")
		if _, err := rows.Put(t.Context(), row); err != nil {
			t.Fatalf("put while listing: %v", err)
		}
	}
	for i := range 20 {
		if n := seen[fmt.Sprintf("k3.t.%02d", i)]; n == 0 {
			t.Errorf("row %d was not listed", i)
		}
	}
	for row, err := range rows.List(t.Context(), "k3.t") {
		if err != nil || string(row.Value) != "new" {
			t.Fatalf("row %q holds %q, %v", row.Key, row.Value, err)
		}
	}
	if n := len(keysUnder(t, rows, "k3.t")); n != 18 {
		t.Fatalf("%d rows left, want 18", n)
	}
}

func testCopies(t *testing.T, rows seal.Rows) {
	value := []byte("value")
	create(t, rows, seal.Row{Key: "k1.a", Value: value})
	clear(value)
	clear(get(t, rows, "k1.a").Value)
	many, err := rows.GetMany(t.Context(), []string{"k1.a"})
	if err != nil {
		t.Fatalf("get many: %v", err)
	}
	clear(many["k1.a"].Value)
	for row, err := range rows.List(t.Context(), "k1") {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		clear(row.Value)
	}
	row := get(t, rows, "k1.a")
	if string(row.Value) != "value" {
		t.Fatalf("the stored value became %q", row.Value)
	}
	row.Value = []byte("other")
	if _, err := rows.Put(t.Context(), row); err != nil {
		t.Fatalf("put: %v", err)
	}
	clear(row.Value)
	if got := string(get(t, rows, "k1.a").Value); got != "other" {
		t.Fatalf("the stored value became %q", got)
	}
}

func testBadKeys(t *testing.T, rows seal.Rows) {
	ctx := t.Context()
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("a")})
	bad := []string{
		".", "k1.", ".a", "k1..a", "k1.*", "k1.>", ">", "*", "k1.A", "k1.ä", "k1.a b", "k1.a\n", "k1/a", "k1.a_b",
		strings.Repeat("a", 65), strings.Repeat("a.", 150) + "a",
	}
	for _, key := range bad {
		wantBadPrefix(t, rows, key)
	}
	for _, key := range append(bad, "") {
		_, getErr := rows.Get(ctx, key)
		_, manyErr := rows.GetMany(ctx, []string{"k1.a", key})
		_, putErr := rows.Put(ctx, seal.Row{Key: key, Value: []byte("x"), Revision: 1})
		good := get(t, rows, "k1.a")
		for call, err := range map[string]error{
			"get":      getErr,
			"get many": manyErr,
			"put":      putErr,
			"create":   rows.Create(ctx, seal.Row{Key: "k1.b", Value: []byte("x")}, seal.Row{Key: key, Value: []byte("x")}),
			"replace":  rows.Replace(ctx, good, seal.Row{Key: key, Value: []byte("x"), Revision: 1}),
			"destroy":  rows.Destroy(ctx, "k1.a", key),
			"discard":  rows.Discard(ctx, good, seal.Row{Key: key, Revision: 1}),
		} {
			if !errors.Is(err, seal.ErrBadKey) {
				t.Errorf("%s of %q: %v, want ErrBadKey", call, key, err)
			}
		}
	}
	wantKeys(t, rows, "", "k1.a")
}

func testCancelled(t *testing.T, rows seal.Rows) {
	create(t, rows, seal.Row{Key: "k1.a", Value: []byte("a")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rows.Get(ctx, "k1.a"); !errors.Is(err, context.Canceled) {
		t.Errorf("get: %v, want context.Canceled", err)
	}
	if _, err := rows.GetMany(ctx, []string{"k1.a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("get many: %v, want context.Canceled", err)
	}
	var listErr error
	for _, err := range rows.List(ctx, "k1") {
		listErr = err
	}
	if !errors.Is(listErr, context.Canceled) {
		t.Errorf("list: %v, want context.Canceled", listErr)
	}
	wantKeys(t, rows, "", "k1.a")
}

func race(run func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		wg.Go(func() {
			<-start
			run(i)
		})
	}
	close(start)
	wg.Wait()
}

func create(t *testing.T, rows seal.Rows, batch ...seal.Row) {
	t.Helper()
	if err := rows.Create(t.Context(), batch...); err != nil {
		t.Fatalf("create %d rows: %v", len(batch), err)
	}
}

func get(t *testing.T, rows seal.Rows, key string) seal.Row {
	t.Helper()
	row, err := rows.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return row
}

func destroy(t *testing.T, rows seal.Rows, keys ...string) {
	t.Helper()
	if err := rows.Destroy(t.Context(), keys...); err != nil {
		t.Fatalf("destroy %d rows: %v", len(keys), err)
	}
}

func keysUnder(t *testing.T, rows seal.Rows, prefix string) []string {
	t.Helper()
	seen := make(map[string]struct{})
	for row, err := range rows.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("list %q: %v", prefix, err)
		}
		if _, twice := seen[row.Key]; twice {
			t.Fatalf("list %q yields %s twice", prefix, row.Key)
		}
		seen[row.Key] = struct{}{}
	}
	return slices.Sorted(maps.Keys(seen))
}

func wantKeys(t *testing.T, rows seal.Rows, prefix string, keys ...string) {
	t.Helper()
	slices.Sort(keys)
	if got := keysUnder(t, rows, prefix); !slices.Equal(keys, got) {
		t.Fatalf("list %q (-want +got):\n%s", prefix, cmp.Diff(keys, got))
	}
}

func wantExists(t *testing.T, err error, key string) {
	t.Helper()
	var exists *seal.RowExistsError
	if !errors.Is(err, seal.ErrRowExists) || !errors.As(err, &exists) || exists.Key != key {
		t.Fatalf("create: %v, want a RowExistsError of %s", err, key)
	}
}

func wantBadPrefix(t *testing.T, rows seal.Rows, prefix string) {
	t.Helper()
	for _, err := range rows.List(t.Context(), prefix) {
		if !errors.Is(err, seal.ErrBadKey) {
			t.Errorf("list %q: %v, want ErrBadKey", prefix, err)
		}
		return
	}
	t.Errorf("list %q yields nothing, want ErrBadKey", prefix)
}
