package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events/seal"
)

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "likes tea")
	wantOpen(t, w.ring, it, "likes tea")
	if len(it.Sealed) != len("likes tea")+seal.Overhead {
		t.Errorf("sealed %d bytes into %d", len("likes tea"), len(it.Sealed))
	}
	if bytes.Contains(it.Sealed, []byte("tea")) != seal.PlaintextRig {
		t.Error("sealed bytes hold the text, or those of the rig do not")
	}
	// Sealing later, through the keyring, gives bytes that open the same.
	more, err := w.ring.Seal(t.Context(), w.scope, label("r1"), []byte("and cake"))
	if err != nil {
		t.Fatal(err)
	}
	wantOpen(t, w.ring, seal.Item{Scope: w.scope, Label: label("r1"), Sealed: more}, "and cake")
	// The empty text is a text.
	empty, err := w.ring.Seal(t.Context(), w.scope, label("r1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantOpen(t, w.ring, seal.Item{Scope: w.scope, Label: label("r1"), Sealed: empty}, "")
}

func TestSealWantsARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	put(t, w.ring, w.scope, "r1", "text")
	if _, err := w.ring.Seal(t.Context(), w.scope, label("r2"), nil); !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Errorf("seal without a record: %v, want ErrKeyDestroyed", err)
	}
	other := w.tenant.Scope(w.sid, "health")
	if _, err := w.ring.Seal(t.Context(), other, label("r1"), nil); !errors.Is(err, seal.ErrTampered) {
		t.Errorf("seal under another class than the record's: %v, want ErrTampered", err)
	}
	if _, err := w.ring.Seal(t.Context(), w.scope, label("r1"), nil); err != nil {
		t.Errorf("seal with a record: %v", err)
	}
}

// TestMovedBytesDoNotOpen moves sealed bytes along each axis, to a place that
// exists and opens its own.
func TestMovedBytesDoNotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")

	elsewhere := mustTenant(t, w.ring, "acme-corp")
	strange := elsewhere.Scope(mustSubject(t, elsewhere, "ada"), "preferences")
	bob := w.tenant.Scope(mustSubject(t, w.tenant, "bob"), "preferences")
	health := w.tenant.Scope(w.sid, "health")
	// Scopes that share all but one field with the item's, forged by hand.
	foreign := seal.Scope{Tenant: strange.Tenant, Subject: w.scope.Subject, Class: w.scope.Class}
	change := func(edit func(*seal.Item)) seal.Item {
		moved := it
		edit(&moved)
		return moved
	}
	moves := map[string]seal.Item{
		"tenant, same record": change(func(m *seal.Item) { m.Scope = strange }),
		"tenant only":         change(func(m *seal.Item) { m.Scope = foreign }),
		"subject":             change(func(m *seal.Item) { m.Scope = bob; m.Label = label("rb") }),
		"subject, same record": change(func(m *seal.Item) {
			m.Scope = bob
		}),
		"class":              change(func(m *seal.Item) { m.Scope = health; m.Label = label("rh") }),
		"class, same record": change(func(m *seal.Item) { m.Scope = health }),
		"record":             change(func(m *seal.Item) { m.Label.Record = "r2" }),
		"aggregate":          change(func(m *seal.Item) { m.Label.Aggregate = "fact" }),
		"type":               change(func(m *seal.Item) { m.Label.EventType = "annals.episode.captured.v2" }),
		"part":               change(func(m *seal.Item) { m.Label.Part = "text" }),
		"field border":       change(func(m *seal.Item) { m.Label.EventType += "x"; m.Label.Part = "" }),
	}
	for _, control := range []seal.Item{
		put(t, w.ring, strange, "r1", "control"), // the same record id at another tenant
		put(t, w.ring, foreign, "r7", "control"),
		put(t, w.ring, bob, "rb", "control"),
		put(t, w.ring, health, "rh", "control"),
		put(t, w.ring, w.scope, "r2", "control"),
	} {
		wantOpen(t, w.ring, control, "control")
	}
	for _, l := range []seal.Label{moves["aggregate"].Label, moves["type"].Label, moves["part"].Label} {
		sealed, err := w.ring.Seal(t.Context(), w.scope, l, []byte("control"))
		if err != nil {
			t.Fatal(err)
		}
		wantOpen(t, w.ring, seal.Item{Scope: w.scope, Label: l, Sealed: sealed}, "control")
	}
	// A cold cache and a warm one agree.
	for _, ring := range []*seal.Keyring{w.ring, newRing(t, w.rows, w.root, seal.Options{CacheSize: -1})} {
		for name, moved := range moves {
			if _, err := ring.Open(t.Context(), moved.Scope, moved.Label, moved.Sealed); !errors.Is(err, seal.ErrTampered) {
				t.Errorf("moved to another %s: %v, want ErrTampered", name, err)
			}
		}
		wantOpen(t, ring, it, "text")
	}
}

// TestMovedRowsDoNotOpen moves the key rows themselves.
func TestMovedRowsDoNotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")
	other := w.tenant.Scope(mustSubject(t, w.tenant, "bob"), "preferences")
	victim := put(t, w.ring, other, "r2", "secret")
	row := func(key string) seal.Row {
		r, err := w.rows.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	replace := func(key string, value []byte) {
		r := row(key)
		r.Value = value
		if _, err := w.rows.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	swap := func(a, b string, check func(ring *seal.Keyring)) {
		va, vb := row(a).Value, row(b).Value
		replace(a, vb)
		replace(b, va)
		check(newRing(t, w.rows, w.root, seal.Options{}))
		replace(a, va)
		replace(b, vb)
		wantOpen(t, newRing(t, w.rows, w.root, seal.Options{}), it, "text")
		wantOpen(t, newRing(t, w.rows, w.root, seal.Options{}), victim, "secret")
	}
	tampered := func(ring *seal.Keyring) {
		for i, result := range ring.OpenMany(t.Context(), []seal.Item{it, victim}) {
			if !errors.Is(result.Err, seal.ErrTampered) {
				t.Errorf("item %d with swapped rows: %v, want ErrTampered", i, result.Err)
			}
		}
	}
	k2 := func(s seal.Scope) string { return "k2." + s.Tenant + "." + s.Subject + "." + s.Class }
	swap(k2(w.scope), k2(other), tampered)
	swap("k3."+w.scope.Tenant+".r1", "k3."+w.scope.Tenant+".r2", tampered)
	names := func(n string) string { return "sid." + w.scope.Tenant + "." + w.tenant.SubjectHash(n) }
	swap(names("ada"), names("bob"), func(ring *seal.Keyring) {
		if _, err := mustTenant(t, ring, "acme").SubjectID(t.Context(), "ada", true); !errors.Is(err, seal.ErrTampered) {
			t.Errorf("subject id of swapped rows: %v, want ErrTampered", err)
		}
	})
	strange := mustTenant(t, w.ring, "globex")
	swap("k1."+w.scope.Tenant, "k1."+strange.Token(), tampered)
}

func TestFlippedBitsDoNotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")
	for i := range len(it.Sealed) * 8 {
		flipped := it
		flipped.Sealed = bytes.Clone(it.Sealed)
		flipped.Sealed[i/8] ^= 1 << (i % 8)
		if _, err := w.ring.Open(t.Context(), flipped.Scope, flipped.Label, flipped.Sealed); !errors.Is(err, seal.ErrTampered) {
			t.Fatalf("bit %d flipped: %v, want ErrTampered", i, err)
		}
	}
	for n := range len(it.Sealed) {
		if _, err := w.ring.Open(t.Context(), it.Scope, it.Label, it.Sealed[:n]); !errors.Is(err, seal.ErrTampered) {
			t.Fatalf("cut to %d bytes: %v, want ErrTampered", n, err)
		}
	}
	wantOpen(t, w.ring, it, "text")
}

// TestFlippedRowsDoNotOpen flips every bit of every row.
func TestFlippedRowsDoNotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")
	var all []seal.Row
	for row, err := range w.rows.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if len(all) != 5 {
		t.Fatalf("%d rows, want one of each kind", len(all))
	}
	for _, row := range all {
		revision := row.Revision
		for i := range len(row.Value) * 8 {
			bad := seal.Row{Key: row.Key, Value: bytes.Clone(row.Value), Revision: revision}
			bad.Value[i/8] ^= 1 << (i % 8)
			var err error
			if revision, err = w.rows.Put(t.Context(), bad); err != nil {
				t.Fatal(err)
			}
			ring := newRing(t, w.rows, w.root, seal.Options{})
			_, openErr := ring.Open(t.Context(), it.Scope, it.Label, it.Sealed)
			tenant, nameErr := ring.Tenant(t.Context(), "acme", false)
			if nameErr == nil {
				_, nameErr = tenant.SubjectID(t.Context(), "ada", false)
			}
			err = errors.Join(openErr, nameErr)
			if !errors.Is(err, seal.ErrTampered) && !errors.Is(err, seal.ErrOtherRoot) {
				t.Fatalf("row %s, bit %d flipped: %v, want ErrTampered", row.Key[:3], i, err)
			}
		}
		if _, err := w.rows.Put(t.Context(), seal.Row{Key: row.Key, Value: row.Value, Revision: revision}); err != nil {
			t.Fatal(err)
		}
		wantOpen(t, newRing(t, w.rows, w.root, seal.Options{}), it, "text")
	}
}

func TestOpenManyFailsItemByItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	rows := &countRows{Rows: w.rows}
	ring := newRing(t, rows, w.root, seal.Options{})
	bob := w.tenant.Scope(mustSubject(t, w.tenant, "bob"), "preferences")
	good := put(t, w.ring, w.scope, "r1", "one")
	twice := good
	gone := put(t, w.ring, w.scope, "r2", "two")
	lost := put(t, w.ring, bob, "r3", "three")
	broken := put(t, w.ring, w.scope, "r4", "four")
	broken.Sealed = broken.Sealed[1:]
	named := good
	named.Scope.Subject = "ada"
	elsewhere := good
	elsewhere.Scope.Tenant = seal.Nobody
	odd := good
	odd.Label.Record = "r.1"
	last := put(t, w.ring, w.tenant.Scope(w.sid, "health"), "r5", "five")
	if err := w.ring.DestroyRecord(t.Context(), w.scope.Tenant, "r2"); err != nil {
		t.Fatal(err)
	}
	if err := w.ring.DestroySubject(t.Context(), bob.Tenant, bob.Subject); err != nil {
		t.Fatal(err)
	}
	results := ring.OpenMany(t.Context(), []seal.Item{good, gone, lost, broken, named, elsewhere, odd, twice, last})
	if rows.many.Load() != 1 || rows.gets.Load() != 0 {
		t.Errorf("%d bulk and %d single reads, want 1 and 0", rows.many.Load(), rows.gets.Load())
	}
	wants := []any{
		"one", seal.LevelRecord, seal.LevelSubject, seal.ErrTampered, seal.ErrBadToken, seal.LevelTenant, seal.ErrBadToken, "one", "five",
	}
	for i, want := range wants {
		var destroyed *seal.KeyDestroyedError
		ok := false
		switch want := want.(type) {
		case string:
			ok = results[i].Err == nil && string(results[i].Plaintext) == want
		case seal.Level:
			ok = errors.As(results[i].Err, &destroyed) && destroyed.Level == want && results[i].Plaintext == nil
		case error:
			ok = errors.Is(results[i].Err, want) && results[i].Plaintext == nil
		}
		if !ok {
			t.Errorf("item %d: %q, %v, want %v", i, results[i].Plaintext, results[i].Err, want)
		}
	}
	if got := ring.OpenMany(t.Context(), nil); len(got) != 0 {
		t.Errorf("opening nothing gives %d results", len(got))
	}
}

func TestErrorsTellNoNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	const name = "zaphod beeblebrox"
	scope := w.scope
	scope.Subject = name
	_, openErr := w.ring.Open(t.Context(), scope, label(name), []byte(name))
	_, unknownErr := w.tenant.SubjectID(t.Context(), name, false)
	_, tenantErr := w.ring.Tenant(t.Context(), name, false)
	_, _, createErr := w.ring.CreateRecord(t.Context(), w.scope, name, nil)
	for call, err := range map[string]error{"open": openErr, "subject": unknownErr, "tenant": tenantErr, "create": createErr} {
		if err == nil || strings.Contains(err.Error(), "zaphod") {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestRandIsUsed shows that a given random source decides everything.
func TestRandIsUsed(t *testing.T) {
	t.Parallel()
	start := func(seed byte) (string, []byte) {
		random := rand.NewChaCha8([32]byte{seed})
		root, err := seal.OpenFileRoot(t.TempDir()+"/root", seal.FileRootOptions{Create: true, Rand: random})
		if err != nil {
			t.Fatal(err)
		}
		ring := newRing(t, seal.NewMemRows(), root, seal.Options{Rand: random})
		tenant := mustTenant(t, ring, "acme")
		sid := mustSubject(t, tenant, "ada")
		it := put(t, ring, tenant.Scope(sid, "preferences"), "r1", "text")
		wantOpen(t, ring, it, "text")
		return sid, it.Sealed
	}
	sid1, sealed1 := start(1)
	sid2, sealed2 := start(1)
	sid3, sealed3 := start(2)
	if sid1 != sid2 || !bytes.Equal(sealed1, sealed2) {
		t.Error("the same random source gives different ids or bytes")
	}
	if sid1 == sid3 || bytes.Equal(sealed1, sealed3) {
		t.Error("different random sources give the same ids or bytes")
	}
}

// TestRandFormsAgree opens what the other form of nonce sealed.
func TestRandFormsAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	given := newRing(t, w.rows, w.root, seal.Options{Rand: rand.NewChaCha8([32]byte{})})
	wantOpen(t, given, put(t, w.ring, w.scope, "r1", "own"), "own")
	wantOpen(t, w.ring, put(t, given, w.scope, "r2", "given"), "given")
}

func TestRandFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	dry := newRing(t, w.rows, w.root, seal.Options{Rand: strings.NewReader("not much")})
	if _, _, err := dry.CreateRecord(t.Context(), w.scope, "r1", nil); err == nil {
		t.Error("a record was made without randomness")
	}
	if _, err := w.ring.Record(t.Context(), w.scope.Tenant, "r1"); !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Errorf("after a failed creation: %v, want no record", err)
	}
}

// TestLabelsNeverAlias seals under one random label and opens under another.
func TestLabelsNeverAlias(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	rec, _, err := w.ring.CreateRecord(t.Context(), w.scope, "r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	// A small alphabet, with the separators that naive joining would trip over.
	field := rapid.StringMatching(`[a.|/\x00\x01\x02]{0,3}`)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) seal.Label {
			return seal.Label{
				Aggregate: field.Draw(rt, name+" aggregate"), Record: "r1",
				EventType: field.Draw(rt, name+" type"), Part: field.Draw(rt, name+" part"),
			}
		}
		a, b := draw("a"), draw("b")
		sealed, err := rec.Seal(a, []byte("text"))
		if err != nil {
			rt.Fatal(err)
		}
		got, err := rec.Open(b, sealed)
		if opened := err == nil; opened != (a == b) {
			rt.Fatalf("sealed under %+v, opened under %+v: %q, %v", a, b, got, err)
		}
		if got, err := rec.Open(a, sealed); err != nil || string(got) != "text" {
			rt.Fatalf("opened where it was sealed: %q, %v", got, err)
		}
	})
}

func FuzzOpen(f *testing.F) {
	w := newWorld(f, seal.Options{})
	it := put(f, w.ring, w.scope, "r1", "text")
	f.Add(it.Sealed)
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add(bytes.Repeat([]byte{1}, seal.Overhead))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		got, err := w.ring.Open(t.Context(), it.Scope, it.Label, sealed)
		switch {
		case err == nil && (!bytes.Equal(sealed, it.Sealed) || string(got) != "text"):
			t.Fatalf("%x opened", sealed)
		case err != nil && !errors.Is(err, seal.ErrTampered):
			t.Fatalf("open: %v, want ErrTampered", err)
		}
	})
}

func FuzzRecordRow(f *testing.F) {
	w := newWorld(f, seal.Options{})
	it := put(f, w.ring, w.scope, "r1", "text")
	key := "k3." + w.scope.Tenant + ".r1"
	good, err := w.rows.Get(f.Context(), key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Value)
	f.Add([]byte{1})
	f.Add(good.Value[:60])
	f.Fuzz(func(t *testing.T, value []byte) {
		rows := seal.NewMemRows()
		for _, k := range []string{"k1." + w.scope.Tenant, "k2." + w.scope.Tenant + "." + w.scope.Subject + "." + w.scope.Class} {
			row, err := w.rows.Get(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			if err := rows.Create(t.Context(), row); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Create(t.Context(), seal.Row{Key: key, Value: value}); err != nil {
			t.Fatal(err)
		}
		ring := newRing(t, rows, w.root, seal.Options{})
		_, openErr := ring.Open(t.Context(), it.Scope, it.Label, it.Sealed)
		_, recErr := ring.Record(t.Context(), w.scope.Tenant, "r1")
		if bytes.Equal(value, good.Value) {
			if err := errors.Join(openErr, recErr); err != nil {
				t.Fatal(err)
			}
			return
		}
		if !errors.Is(openErr, seal.ErrTampered) {
			t.Fatalf("open: %v, want ErrTampered", openErr)
		}
		// The row may name another scope, which has no keys, or another K2.
		if !errors.Is(recErr, seal.ErrTampered) && !errors.Is(recErr, seal.ErrKeyDestroyed) {
			t.Fatalf("record: %v", recErr)
		}
	})
}

func BenchmarkCreateRecordAndSeal512(b *testing.B) {
	w := newWorld(b, seal.Options{})
	text := bytes.Repeat([]byte("x"), 512)
	note := bytes.Repeat([]byte("n"), 48)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		record := fmt.Sprintf("r%d", n)
		n++
		rec, _, err := w.ring.CreateRecord(b.Context(), w.scope, record, note)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := rec.Seal(label(record), text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen512(b *testing.B) {
	w := newWorld(b, seal.Options{})
	it := put(b, w.ring, w.scope, "r1", strings.Repeat("x", 512))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.ring.Open(b.Context(), it.Scope, it.Label, it.Sealed); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenMany1000(b *testing.B) {
	w := newWorld(b, seal.Options{})
	items := make([]seal.Item, 1000)
	for i := range items {
		items[i] = put(b, w.ring, w.scope, fmt.Sprintf("0192f0c1-7d3e-7000-8000-%012d", i), strings.Repeat("x", 512))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, result := range w.ring.OpenMany(b.Context(), items) {
			if result.Err != nil {
				b.Fatal(result.Err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/item")
}

// BenchmarkFetch1000 is the part of BenchmarkOpenMany1000 that the store takes.
func BenchmarkFetch1000(b *testing.B) {
	w := newWorld(b, seal.Options{})
	keys := make([]string, 1000)
	for i := range keys {
		record := fmt.Sprintf("0192f0c1-7d3e-7000-8000-%012d", i)
		put(b, w.ring, w.scope, record, "x")
		keys[i] = "k3." + w.scope.Tenant + "." + record
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.rows.GetMany(b.Context(), keys); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/item")
}
