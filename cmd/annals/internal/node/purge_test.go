package node_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
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
		s := f.erasure(token, id)
		if s.Level.AtLeast(level) {
			return s
		}
		select {
		case <-tick.C:
		case <-limit:
			f.t.Fatalf("it stays %+v", s)
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
