package natslog_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// A Replace or a Discard that ended between its steps leaves former messages.
// They are never seen, and do not come back when their row goes.
func TestInterruptedReplace(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*natslog.Keys, seal.Row) error{
		"destroy":    func(k *natslog.Keys, row seal.Row) error { return k.Destroy(t.Context(), row.Key) },
		"destroy at": func(k *natslog.Keys, row seal.Row) error { return k.DestroyAt(t.Context(), row) },
		"discard":    func(k *natslog.Keys, row seal.Row) error { return k.Discard(t.Context(), row) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, streams, js := inStore(t)
			keys := streams.Keys()
			if err := keys.Create(t.Context(), seal.Row{Key: "k3.t.a", Value: []byte("1")}); err != nil {
				t.Fatal(err)
			}
			for _, value := range []string{"2", "3"} {
				if _, err := js.Publish(t.Context(), "annals-keys.k3.t.a", []byte(value)); err != nil {
					t.Fatal(err)
				}
			}
			row, err := keys.Get(t.Context(), "k3.t.a")
			if err != nil {
				t.Fatal(err)
			}
			row.Value = []byte("4")
			if err := keys.Replace(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			if row, err = keys.Get(t.Context(), "k3.t.a"); err != nil || string(row.Value) != "4" {
				t.Fatalf("the replaced row holds %q, %v", row.Value, err)
			}
			if err := remove(keys, row); err != nil {
				t.Fatal(err)
			}
			if _, err := keys.Get(t.Context(), "k3.t.a"); !errors.Is(err, seal.ErrNoRow) {
				t.Fatalf("a former row came back: %v", err)
			}
			stream, err := js.Stream(t.Context(), "KEYS")
			if err != nil {
				t.Fatal(err)
			}
			info, err := stream.Info(t.Context())
			if err != nil || info.State.Msgs != 0 {
				t.Fatalf("%d messages left, %v", info.State.Msgs, err)
			}
		})
	}
}

// What a cheap rotation leaves in the files opens nothing once it is finished:
// the key that it is wrapped under is in no file. That of a record destroyed
// before is there until the server makes use of the space.
func TestRotationLeavesNoKey(t *testing.T) {
	t.Parallel()
	dir, ring, rows, scope := rotationOnDisk(t)
	value := func(key string) []byte {
		row, err := rows.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return row.Value
	}
	parent := "k2." + scope.Tenant + "." + scope.Subject + "." + scope.Class
	record, k2 := value("k3."+scope.Tenant+".r-1"), value(parent)
	wantOnDisk(t, dir, "a record's row", record, true)
	if err := ring.RotateSubject(t.Context(), scope.Tenant, scope.Subject); err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, dir, "its key before the rotation", k2, false)
	between := value(parent)
	wantOnDisk(t, dir, "both keys", between, true)
	if bytes.Equal(value("k3."+scope.Tenant+".r-1"), record) {
		t.Fatal("the record was not re-wrapped")
	}
	if err := ring.FinishSubject(t.Context(), scope.Tenant, scope.Subject); err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, dir, "both keys after the end", between, false)
	wantOnDisk(t, dir, "the new key", value(parent), true)
	wantOnDisk(t, dir, "the record's row", value("k3."+scope.Tenant+".r-1"), true)
}

// TestSweep removes what a forgotten subject leaves, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	const records = 2_500
	rows, ring, scope := manyRecords(t, natslog.DurabilityProcess, records)
	other := scope
	other.Class = scope.Tenant // any token will do
	kept := []string{"kept-1", "kept-2"}
	for _, record := range kept {
		if _, _, err := ring.CreateRecord(t.Context(), other, record, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := ring.Sweep(t.Context(), scope.Tenant, nil); n != 0 || err != nil {
		t.Fatalf("%d rows were swept where nothing is garbage, %v", n, err)
	}
	if err := ring.DestroyClass(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	// The same records under a new key are no garbage, whatever lies around.
	if _, _, err := ring.CreateRecord(t.Context(), scope, "kept-3", nil); err != nil {
		t.Fatal(err)
	}
	if n, err := ring.Sweep(t.Context(), scope.Tenant, nil); n != records || err != nil {
		t.Fatalf("%d rows were swept, %v, want %d", n, err, records)
	}
	var left []string
	for row, err := range rows.List(t.Context(), "k3") {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, row.Key[len("k3."+scope.Tenant)+1:])
	}
	if slices.Sort(left); !slices.Equal(left, append(kept, "kept-3")) {
		t.Fatalf("left are %v", left)
	}
}
