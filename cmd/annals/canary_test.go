package main

import (
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/residue"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
	"github.com/annals-memory/annals/tombstones/scan"
)

// tell has an episode, a fact and a recall about a subject, each with a word.
func tell(t *testing.T, c *client.Client, subject, word string) (episode string) {
	t.Helper()
	do := func(method, path string, body, out any) {
		t.Helper()
		if err := c.Do(t.Context(), client.Call{Method: method, Path: path, Body: body, Out: out}); err != nil {
			t.Fatal(err)
		}
	}
	var captured struct {
		ID       string `json:"id"`
		Position uint64 `json:"position"`
	}
	do(http.MethodPost, "/v1/episodes", map[string]any{
		"subject": subject, "text": "The word is " + word + "text.", "source": map[string]any{"kind": "test", "ref": word + "ref"},
	}, &captured)
	do(http.MethodPost, "/v1/facts", map[string]any{
		"subject": subject, "predicate": word + "predicate", "value": word + "value", "category": "general", "confidence": 1,
		"observed_at": time.Now().UTC().Format(time.RFC3339Nano), "source_episodes": []string{captured.ID},
	}, nil)
	do(http.MethodPost, "/v1/recall", map[string]any{"query": "what is " + word + "question", "subject": subject, "wait_for": captured.Position}, nil)
	return captured.ID
}

// scanned counts what a scan of a directory finds of a word.
func scanned(t *testing.T, dir, word string) int {
	t.Helper()
	s, err := scan.New(scan.Options{Words: []string{word}, Formats: []scan.Format{residue.Tables{}}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unread) > 0 || !r.Settled {
		t.Errorf("not all was searched: %+v", r)
	}
	if r.Found > 0 {
		t.Logf("of the %d hits the first is %+v", r.Found, r.Hits[0])
	}
	return r.Found
}

// Promise 5: a server that is killed again and again, while it forgets and between
// its answer and the receipt, purges all the same. Nothing of what was forgotten is
// in any file then, and the neighbour is left.
func TestKillWhileForgetting(t *testing.T) {
	t.Parallel()
	const rounds = 6
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := mrand.New(mrand.NewPCG(seed, 0))
	var more []string
	if seal.PlaintextRig {
		more = []string{"--plaintext-rig"}
	}
	data := t.TempDir()
	more = append(more, "--durability", "process")
	var erasures []string
	kept := map[string]string{}
	for round := range rounds {
		s := serve(t, data, more...)
		gone, neighbour := fmt.Sprintf("xqgone%d", round), fmt.Sprintf("xqkept%d", round)
		tell(t, s.Client, gone, gone)
		kept[tell(t, s.Client, neighbour, neighbour)] = neighbour
		answer := make(chan string, 1)
		go func() {
			var out tombstones.Erasure
			// An error says that the server was gone before it could answer.
			_ = s.Do(t.Context(), client.Call{Method: http.MethodPost, Path: "/v1/subjects/" + gone + "/forget", Key: gone, Body: map[string]any{}, Out: &out})
			answer <- out.ErasureID
		}()
		id := ""
		if round%2 == 1 { // between the answer and the receipt
			id = <-answer
		}
		timer := time.NewTimer(time.Duration(rng.IntN(150)) * time.Millisecond)
		<-timer.C
		s.kill()
		if round%2 == 0 {
			id = <-answer
		}
		if id == "" { // it was killed before its answer: it is asked again
			s = serve(t, data, more...)
			var out tombstones.Erasure
			if err := s.Do(t.Context(), client.Call{Method: http.MethodPost, Path: "/v1/subjects/" + gone + "/forget", Key: gone, Body: map[string]any{}, Out: &out}); err != nil {
				t.Fatal(err)
			}
			id = out.ErasureID
			s.kill()
		}
		erasures = append(erasures, id)
	}
	s := serve(t, data, more...)
	public, err := ledger.LoadVerifier(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.DeleteFunc(erasures, func(id string) bool { return id == "" }) {
		awaitPurged(t, s.Client, id)
		var r rawReceipt
		if err := s.Do(t.Context(), client.Call{Method: http.MethodGet, Path: "/v1/erasures/" + id + "/receipt", Out: &r}); err != nil {
			t.Fatal(err)
		}
		if _, err := tombstones.VerifyReceipt(r, public); err != nil {
			t.Error(err)
		}
	}
	for id, word := range kept {
		var out struct {
			Text string `json:"text"`
		}
		if err := s.Do(t.Context(), client.Call{Method: http.MethodGet, Path: "/v1/episodes/" + id, Out: &out}); err != nil || out.Text != "The word is "+word+"text." {
			t.Errorf("a neighbour: %q %v", out.Text, err)
		}
	}
	s.stop()
	if n := scanned(t, data, "xqgone"); n > 0 {
		t.Errorf("%d times in the files", n)
	}
	if n := scanned(t, data, "xqkept"); (n > 0) != seal.PlaintextRig {
		t.Errorf("control: a neighbour is %d times in the files", n)
	}
	if out, errs, code := annals(t, "verify", "--data", data); code != 0 {
		t.Errorf("verify: exit %d: %s%s", code, out, errs)
	}
}

// rawReceipt keeps the bytes of an answer.
type rawReceipt []byte

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawReceipt) UnmarshalJSON(b []byte) error {
	*r = append(rawReceipt(nil), b...)
	return nil
}

// awaitPurged waits until an erasure is purged.
func awaitPurged(t *testing.T, c *client.Client, id string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(2 * time.Minute)
	for {
		var s tombstones.Status
		if err := c.Do(t.Context(), client.Call{Method: http.MethodGet, Path: "/v1/erasures/" + id, Out: &s}); err != nil {
			t.Fatal(err)
		}
		if s.Level.AtLeast(events.LevelPurged) {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("it stays %+v", s)
		}
	}
}
