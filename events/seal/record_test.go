package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

func TestRecordsKeepTheirNote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	note := []byte("fingerprint of the command")
	rec, existed, err := w.ring.CreateRecord(t.Context(), w.scope, "r1", note)
	if err != nil || existed {
		t.Fatalf("create: existed %v, %v", existed, err)
	}
	sealed, err := rec.Seal(label("r1"), []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkRecord(rec, w.scope, note); err != nil {
		t.Fatal(err)
	}
	clear(rec.Note())
	// The same id again gives what is stored, whatever is asked for.
	other := w.tenant.Scope(mustSubject(t, w.tenant, "bob"), "health")
	for _, ring := range []*seal.Keyring{w.ring, newRing(t, w.rows, w.root, seal.Options{})} {
		for _, scope := range []seal.Scope{w.scope, other} {
			again, existed, err := ring.CreateRecord(t.Context(), scope, "r1", []byte("another"))
			if err != nil || !existed {
				t.Fatalf("create again: existed %v, %v", existed, err)
			}
			if err := checkRecord(again, w.scope, note); err != nil {
				t.Fatal(err)
			}
			if text, err := again.Open(label("r1"), sealed); err != nil || string(text) != "text" {
				t.Fatalf("open by the record created again: %q, %v", text, err)
			}
		}
	}
	for row, err := range w.rows.List(t.Context(), "") {
		if err != nil || bytes.Contains(row.Value, []byte("fingerprint")) {
			t.Fatalf("row %s holds the note in clear, %v", row.Key, err)
		}
	}
	// Another tenant's record of the same id is another record.
	strange := mustTenant(t, w.ring, "globex").Scope(seal.Nobody, "procedures")
	if _, existed, err := w.ring.CreateRecord(t.Context(), strange, "r1", nil); err != nil || existed {
		t.Fatalf("create at another tenant: existed %v, %v", existed, err)
	}
}

func checkRecord(rec *seal.Record, scope seal.Scope, note []byte) error {
	if rec.Scope() != scope || rec.ID() != "r1" || !bytes.Equal(rec.Note(), note) {
		return fmt.Errorf("record %s of scope %v has a note of %d bytes", rec.ID(), rec.Scope(), len(rec.Note()))
	}
	return nil
}

func TestRecordWantsItsOwnLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	rec, _, err := w.ring.CreateRecord(t.Context(), w.scope, "r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Seal(label("r2"), nil); !errors.Is(err, seal.ErrBadToken) {
		t.Errorf("seal for another record: %v, want ErrBadToken", err)
	}
	sealed, err := rec.Seal(label("r1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Open(label("r2"), sealed); !errors.Is(err, seal.ErrTampered) {
		t.Errorf("open for another record: %v, want ErrTampered", err)
	}
	if _, err := rec.Open(label("r1"), sealed); err != nil {
		t.Errorf("open: %v", err)
	}
}

func TestNewRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	scopes := []seal.Scope{w.scope, w.tenant.Scope(w.sid, "health"), w.tenant.Scope(seal.Nobody, "health")}
	news := make([]seal.NewRecord, seal.MaxCreate)
	for i := range news {
		news[i] = seal.NewRecord{Scope: scopes[i%3], Record: fmt.Sprintf("r%d", i), Note: fmt.Append(nil, i)}
	}
	recs, err := w.ring.NewRecords(t.Context(), news)
	if err != nil {
		t.Fatal(err)
	}
	items := make([]seal.Item, len(recs))
	for i, rec := range recs {
		if rec.Scope() != news[i].Scope || rec.ID() != news[i].Record || !bytes.Equal(rec.Note(), news[i].Note) {
			t.Fatalf("record %d is out of order", i)
		}
		sealed, err := rec.Seal(label(rec.ID()), rec.Note())
		if err != nil {
			t.Fatal(err)
		}
		items[i] = seal.Item{Scope: rec.Scope(), Label: label(rec.ID()), Sealed: sealed}
	}
	for i, result := range newRing(t, w.rows, w.root, seal.Options{}).OpenMany(t.Context(), items) {
		if result.Err != nil || !bytes.Equal(result.Plaintext, news[i].Note) {
			t.Fatalf("open %d: %v", i, result.Err)
		}
	}

	if _, err := w.ring.NewRecords(t.Context(), append(news, seal.NewRecord{Scope: w.scope, Record: "more"})); !errors.Is(err, seal.ErrTooMany) {
		t.Errorf("too many: %v, want ErrTooMany", err)
	}
	var exists *seal.RowExistsError
	fresh := seal.NewRecord{Scope: w.scope, Record: "fresh"}
	if _, err := w.ring.NewRecords(t.Context(), []seal.NewRecord{fresh, news[5]}); !errors.As(err, &exists) || exists.Key != "k3."+w.scope.Tenant+".r5" {
		t.Errorf("one exists: %v, want a RowExistsError", err)
	}
	if _, err := w.ring.NewRecords(t.Context(), []seal.NewRecord{fresh, fresh}); !errors.Is(err, seal.ErrRowExists) {
		t.Errorf("one twice: %v, want ErrRowExists", err)
	}
	if _, err := w.ring.Record(t.Context(), w.scope.Tenant, "fresh"); !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Errorf("after refused batches: %v, want no record", err)
	}
	if _, err := w.ring.NewRecords(t.Context(), []seal.NewRecord{fresh}); err != nil {
		t.Errorf("alone: %v", err)
	}
}

func TestRecordsRefuseBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	before := w.tenant.Scope(w.sid, "never used")
	with := func(edit func(*seal.NewRecord)) seal.NewRecord {
		n := seal.NewRecord{Scope: before, Record: "r1"}
		edit(&n)
		return n
	}
	for name, bad := range map[string]struct {
		n    seal.NewRecord
		want error
	}{
		"tenant name":  {with(func(n *seal.NewRecord) { n.Scope.Tenant = "acme" }), seal.ErrBadToken},
		"subject name": {with(func(n *seal.NewRecord) { n.Scope.Subject = "ada" }), seal.ErrBadToken},
		"class name":   {with(func(n *seal.NewRecord) { n.Scope.Class = "preferences" }), seal.ErrBadToken},
		"no record":    {with(func(n *seal.NewRecord) { n.Record = "" }), seal.ErrBadToken},
		"wildcard":     {with(func(n *seal.NewRecord) { n.Record = "*" }), seal.ErrBadToken},
		"two tokens":   {with(func(n *seal.NewRecord) { n.Record = "a.b" }), seal.ErrBadToken},
		"long note":    {with(func(n *seal.NewRecord) { n.Note = make([]byte, seal.MaxNote+1) }), seal.ErrNoteTooLong},
	} {
		if _, err := w.ring.NewRecords(t.Context(), []seal.NewRecord{bad.n}); !errors.Is(err, bad.want) {
			t.Errorf("%s: %v, want %v", name, err, bad.want)
		}
	}
	for row, err := range w.rows.List(t.Context(), "k2") {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("refused input left the row %s", row.Key)
	}
	good := with(func(n *seal.NewRecord) { n.Note = make([]byte, seal.MaxNote) })
	if _, err := w.ring.NewRecords(t.Context(), []seal.NewRecord{good}); err != nil {
		t.Errorf("good input: %v", err)
	}
}
