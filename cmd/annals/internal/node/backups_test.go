package node_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// What was erased opens with no older copy of the keys when the root has been
// rotated, neither by the root that there is nor with the keys that there are; what
// was kept does. The receipt is renewed.
func TestBackupsDead(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	p := plant(f, token, "maria", "xyzzymaria")
	kept := f.capture(token, "maria", "Maria swims.")
	whole := plant(f, token, "jonas", "plughjonas")
	f.settle()
	backup, values := f.rows(), map[string][]byte{}
	for _, id := range []string{p.episode, whole.episode, kept} {
		values[id] = f.sealed(id)
	}
	one := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+p.episode, nil, http.StatusAccepted))
	all := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/jonas/forget", obj{}, http.StatusAccepted))
	for _, out := range []tombstones.Erasure{one, all} {
		if s := f.reaches(token, out.ErasureID, events.LevelPurged); s.Level != events.LevelPurged {
			t.Errorf("before the rotation: %+v", s)
		}
	}
	opens := func(id string) bool { return f.opensWith(backup, id, values[id]) }
	if !opens(p.episode) || !opens(whole.episode) || !opens(kept) {
		t.Error("control: the copy does not open what it had")
	}
	f.do(f.LocalToken(), http.MethodPost, "/v1/keys/rotate", obj{}, http.StatusOK)
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []tombstones.Erasure{one, all} {
		s := f.reaches(token, out.ErasureID, events.LevelBackupsDead)
		for _, store := range s.Stores {
			if store.Planned != store.Done || store.PendingUntil != nil {
				t.Errorf("store %+v", store)
			}
		}
		r, err := tombstones.VerifyReceipt(f.do(token, http.MethodGet, "/v1/erasures/"+out.ErasureID+"/receipt", nil, http.StatusOK).body, public)
		if err != nil || len(r.Residues) != 0 || !r.Levels[3].Met {
			t.Errorf("receipt %+v %v", r, err)
		}
	}
	if opens(p.episode) || opens(whole.episode) {
		t.Error("the copy opens what is dead")
	}
	f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
	f.close()
	f.start()
	f.settle()
	f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
	if s := f.erasure(token, one.ErasureID); s.Level != events.LevelBackupsDead {
		t.Errorf("after a start: %+v", s)
	}
}

// A rotation whose process ended before the accounts were told is told at the next
// start; an erasure that was purged after the rotation is not.
func TestBackupsDeadAtTheNextStart(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	first, second := f.capture(token, "maria", "Maria swims."), f.capture(token, "maria", "Maria sails.")
	f.settle()
	out := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+first, nil, http.StatusAccepted))
	f.reaches(token, out.ErasureID, events.LevelPurged)
	if err := f.Eraser().PrepareRoot(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(context.Context) error{f.Keys().RotateRoot, f.Keys().FinishRoot} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	late := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+second, nil, http.StatusAccepted))
	f.reaches(token, late.ErasureID, events.LevelPurged)
	f.close()
	f.start()
	f.reaches(token, out.ErasureID, events.LevelBackupsDead)
	if s := f.erasure(token, late.ErasureID); s.Level != events.LevelPurged {
		t.Errorf("purged behind the rotation: %+v", s)
	}
}

// rows are a copy of the rows of the keys.
func (f *fixture) rows() map[string]seal.Row {
	f.t.Helper()
	rows := map[string]seal.Row{}
	streams, err := natslog.Open(f.t.Context(), f.Conn(), natslog.Config{})
	if err != nil {
		f.t.Fatal(err)
	}
	for row, err := range streams.Keys().List(f.t.Context(), "") {
		if err != nil {
			f.t.Fatal(err)
		}
		rows[row.Key] = row
	}
	return rows
}

// sealed is the sealed content of an episode, as the log has it.
func (f *fixture) sealed(id string) []byte {
	f.t.Helper()
	for _, position := range f.positions(events.KindEpisode, id) {
		m, err := f.Log().MessageAt(f.t.Context(), position)
		if err != nil {
			f.t.Fatal(err)
		}
		r, err := events.Decode(m)
		if err != nil {
			f.t.Fatal(err)
		}
		if e, ok := r.Events[0].(events.EpisodeCaptured); ok {
			return e.Content
		}
	}
	f.t.Fatal("it is not in the log")
	return nil
}

// opensWith says whether a record opens with the root that there is, and any mixture
// of the rows that there are and those of a copy.
func (f *fixture) opensWith(backup map[string]seal.Row, id string, content []byte) bool {
	f.t.Helper()
	root, err := seal.OpenFileRoot(filepath.Join(f.dir, "root.key"), seal.FileRootOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	live := f.rows()
	for mixture := range 8 {
		rows := map[string]seal.Row{}
		for level, kind := range []string{"k1", "k2", "k3"} {
			from := backup
			if mixture>>level&1 == 1 {
				from = live
			}
			for key, row := range from {
				if key[:2] == kind {
					rows[key] = row
				}
			}
		}
		for key, row := range live {
			if key[:1] != "k" {
				rows[key] = row
			}
		}
		ring, err := seal.New(fixedRows{rows: rows}, root, seal.Options{Now: time.Now})
		if err != nil {
			f.t.Fatal(err)
		}
		for key := range backup {
			if key[:2] != "k1" {
				continue
			}
			rec, err := ring.Record(f.t.Context(), key[3:], id)
			if err != nil {
				continue
			}
			if _, err := rec.Open(seal.Label{Aggregate: string(events.KindEpisode), Record: id, EventType: events.TypeEpisodeCaptured}, content); err == nil {
				return true
			}
		}
	}
	return false
}

var errFixed = errors.New("rows are fixed")

// fixedRows cannot be written.
type fixedRows struct {
	seal.Rows

	rows map[string]seal.Row
}

func (r fixedRows) Get(_ context.Context, key string) (seal.Row, error) {
	row, ok := r.rows[key]
	if !ok {
		return seal.Row{}, seal.ErrNoRow
	}
	return row, nil
}

func (r fixedRows) GetMany(_ context.Context, keys []string) (map[string]seal.Row, error) {
	found := map[string]seal.Row{}
	for _, key := range keys {
		if row, ok := r.rows[key]; ok {
			found[key] = row
		}
	}
	return found, nil
}

func (r fixedRows) List(context.Context, string) iter.Seq2[seal.Row, error] {
	return func(yield func(seal.Row, error) bool) { yield(seal.Row{}, errFixed) }
}
