package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// as decodes an answer.
func as[T any](a answer) T {
	a.t.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("%s: %v", a.body, err)
	}
	return v
}

func (f *fixture) erasure(token, id string) tombstones.Status {
	f.t.Helper()
	return as[tombstones.Status](f.do(token, http.MethodGet, "/v1/erasures/"+id, nil, http.StatusOK))
}

// reaches waits until an erasure has a level.
func (f *fixture) reaches(token, id string, level events.Level) tombstones.Status {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for {
		a := f.call(token, http.MethodGet, "/v1/erasures/"+id, nil)
		if a.status == http.StatusOK && as[tombstones.Status](a).Level.AtLeast(level) {
			return as[tombstones.Status](a)
		}
		select {
		case <-tick.C:
		case <-limit:
			f.t.Fatalf("it stays %s", a.body)
		}
	}
}

// positions are those of all messages that hold something of an aggregate.
func (f *fixture) positions(kind events.Kind, contains string) []uint64 {
	f.t.Helper()
	var list []uint64
	for m, err := range f.Log().Follow(f.t.Context(), 0) {
		if err != nil {
			f.t.Fatal(err)
		}
		a, err := events.ParseSubject(m.Subject)
		if err != nil {
			f.t.Fatal(err)
		}
		if a.Kind == kind && (contains == "" || a.ID == contains) {
			list = append(list, m.Position)
		}
		if m.Pending == 0 {
			return list
		}
	}
	return list
}

// replays holds that every view, built anew from the log as it is, equals the one
// that serves.
func (f *fixture) replaysAlike() {
	f.t.Helper()
	for _, s := range f.Views().Status(f.t.Context()) {
		r, err := f.Views().Replay(f.t.Context(), s.Projection, nil)
		if err != nil || r.Old != r.New {
			f.t.Errorf("%s: %+v %v", s.Projection, r, err)
		}
	}
}

// A purged record has left the log, its neighbours have not, and what is built
// from the log anew is what was there before, at every start.
func TestPurge(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	gone, kept := plant(f, token, "maria", "xyzzymaria"), plant(f, token, "jonas", "plughjonas")
	other := plant(f, f.token("other"), "maria", "frotzmaria")
	a := f.do(token, http.MethodDelete, "/v1/episodes/"+gone.episode, nil, http.StatusAccepted)
	out := as[tombstones.Erasure](a)
	s := f.reaches(token, out.ErasureID, events.LevelPurged)
	for _, store := range s.Stores {
		if store.Store != "backups" && (store.Planned != store.Done || store.Failed != 0) {
			t.Errorf("store %+v", store)
		}
		if store.Store == "log" && store.Done < 3 { // episode, fact, vectors
			t.Errorf("the log: %+v", store)
		}
	}
	if got := f.positions(events.KindEpisode, gone.episode); len(got) != 1 { // the tombstone
		t.Errorf("the episode is left at %v", got)
	}
	for _, p := range []planted{kept, other} {
		if got := f.positions(events.KindEpisode, p.episode); len(got) != 1 {
			t.Errorf("control: a neighbour is at %v", got)
		}
	}
	if again := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+gone.episode, nil, http.StatusAccepted)); !again.Level.AtLeast(events.LevelPurged) || again.ErasureID != out.ErasureID {
		t.Errorf("again: %+v", again)
	}

	whole := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/jonas/forget", obj{}, http.StatusAccepted))
	f.reaches(token, whole.ErasureID, events.LevelPurged)
	if got := f.positions(events.KindEpisode, kept.episode); len(got) != 0 {
		t.Errorf("the subject's episode is left at %v", got)
	}
	f.replaysAlike()
	if err := f.Ledger().Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
	f.close()
	f.start() // which compares the log with its ledger
	f.settle()
	f.replaysAlike()
	if f.do(f.token("other"), http.MethodGet, "/v1/episodes/"+other.episode, nil, http.StatusOK); f.Damage() != nil {
		t.Error(f.Damage())
	}
	if _, err := f.Log().MessageAt(t.Context(), 1); errors.Is(err, events.ErrUnavailable) {
		t.Error(err)
	}
}

// A node that ends anywhere in between goes on at its next start.
func TestPurgeCutOff(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 5 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			f := open(t)
			token := f.token("acme")
			gone, kept := plant(f, token, "maria", "xyzzymaria"), plant(f, token, "jonas", "plughjonas")
			for range 40 {
				f.capture(token, "maria", "More of xyzzymaria.")
			}
			f.settle()
			out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/forget", obj{"filter": obj{"subject": "maria"}}, http.StatusAccepted))
			timer := time.NewTimer(after)
			defer timer.Stop()
			<-timer.C
			f.close()
			f.start()
			s := f.reaches(token, out.ErasureID, events.LevelPurged)
			if s.Matched != 42 {
				t.Errorf("matched %d", s.Matched)
			}
			if got := f.positions(events.KindEpisode, gone.episode); len(got) != 1 {
				t.Errorf("the episode is left at %v", got)
			}
			if got := f.positions(events.KindEpisode, kept.episode); len(got) != 1 {
				t.Errorf("control: a neighbour is at %v", got)
			}
			f.settle()
			f.replaysAlike()
		})
	}
}

// A receipt says what was cleaned, verifies offline, and nothing in it can be
// changed.
func TestReceipt(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	p := plant(f, token, "maria", "xyzzymaria")
	f.do(token, http.MethodGet, "/v1/subjects/maria/export", nil, http.StatusOK)
	one := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/facts/"+p.fact, nil, http.StatusAccepted))
	whole := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted))
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []tombstones.Erasure{one, whole} {
		path := "/v1/erasures/" + out.ErasureID + "/receipt"
		if a := f.call(token, http.MethodGet, path, nil); a.status != http.StatusOK &&
			(a.status != http.StatusConflict || get[string](a, "code") != "erasure_incomplete") {
			t.Errorf("before: %d %s", a.status, a.body)
		}
		f.reaches(token, out.ErasureID, events.LevelPurged)
		a := f.do(token, http.MethodGet, path, nil, http.StatusOK)
		r, err := tombstones.VerifyReceipt(a.body, public)
		if err != nil {
			t.Fatal(err)
		}
		if r.ErasureID != out.ErasureID || r.Tombstone.Position != out.Position || r.Matched != out.Matched || len(r.Levels) != 4 {
			t.Errorf("receipt %s", a.body)
		}
		for _, l := range r.Levels[:3] {
			if !l.Met {
				t.Errorf("level %+v", l)
			}
		}
		if len(r.Residues) != 1 || r.Residues[0].Kind != "backups" || r.Residues[0].Until != nil || r.Residues[0].Why == "" {
			t.Errorf("residues %+v", r.Residues)
		}
		if exports := len(r.Recipients); (out.ErasureID == whole.ErasureID) != (exports == 1) {
			t.Errorf("recipients %+v", r.Recipients)
		}
		if bytes.Contains(a.body, []byte("maria")) {
			t.Errorf("a value is in it: %s", a.body)
		}
		if again := f.do(token, http.MethodGet, path, nil, http.StatusOK); !bytes.Equal(again.body, a.body) {
			t.Error("it is another one the second time")
		}
		f.tampered(a.body, public)
		if other := f.call(f.token("other"), http.MethodGet, path, nil); other.status != http.StatusNotFound {
			t.Errorf("another tenant: %d", other.status)
		}
	}
}

// tampered changes every number and every letter of a receipt.
func (f *fixture) tampered(receipt []byte, public note.Verifier) {
	f.t.Helper()
	receipt = bytes.TrimSpace(receipt)
	other, err := ledger.LoadVerifier(open(f.t).dir)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := tombstones.VerifyReceipt(receipt, other); !errors.Is(err, tombstones.ErrReceiptAltered) {
		f.t.Errorf("another key: %v", err)
	}
	for i, c := range receipt {
		b := bytes.Clone(receipt)
		switch {
		case c >= '0' && c <= '8' || c >= 'a' && c <= 'y':
			b[i]++
		case c == '9', c == 'z':
			b[i]--
		default:
			continue
		}
		if _, err := tombstones.VerifyReceipt(b, public); !errors.Is(err, tombstones.ErrReceiptAltered) {
			f.t.Errorf("changed at %d of %s: %v", i, receipt, err)
			return
		}
	}
}
