package node_test

import (
	"net/http"
	"testing"

	"github.com/annals-memory/annals/events"
)

// Promise 4: not even when nothing of a forgotten subject is left in the log
// does a call that is made again, under its key, write what it wrote once more:
// neither a capture, nor an import, nor a proposal that rests on someone else's
// episode.
func TestForgottenDoesNotReenterOncePurged(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	source := f.capture(token, "pedro", "He knows where she lives.")
	captured := obj{"subject": "maria", "text": "She likes plumcake.", "source": obj{"kind": "chat", "ref": "r"}}
	batch := obj{"items": []obj{with(captured, "text", "She likes figs."), with(captured, "text", "She likes pears.")}}
	claimed := proposal("maria", "city", "Porto", source)
	calls := func(want, each int) {
		t.Helper()
		f.do(token, http.MethodPost, "/v1/episodes", captured, want, "Idempotency-Key", "capture")
		f.do(token, http.MethodPost, "/v1/facts", claimed, want, "Idempotency-Key", "claim")
		out := as[struct {
			Results []struct {
				ID    string `json:"id"`
				Error *struct {
					Status int `json:"status"`
				} `json:"error"`
			} `json:"results"`
		}](f.do(token, http.MethodPost, "/v1/episodes/batch", batch, http.StatusOK, "Idempotency-Key", "batch"))
		for _, r := range out.Results {
			if got := r.ID == "" && r.Error != nil && r.Error.Status == each; got != (each != 0) {
				t.Errorf("an item of a batch: %+v, want status %d", r, each)
			}
		}
	}
	calls(http.StatusCreated, 0)
	first := get[string](f.do(token, http.MethodPost, "/v1/episodes", captured, http.StatusCreated, "Idempotency-Key", "capture"), "id")
	f.settle()
	a := f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{"reason": "asked"}, http.StatusAccepted)
	calls(http.StatusGone, http.StatusGone)
	// To forget one of its records as well takes nothing of that away. What has
	// been purged meanwhile was never there.
	switch d := f.call(token, http.MethodDelete, "/v1/episodes/"+first, nil); d.status {
	case http.StatusAccepted:
	case http.StatusNotFound:
		f.reaches(token, get[string](a, "erasure_id"), events.LevelPurged)
	default:
		t.Fatalf("forget a record of a forgotten subject: %d %s", d.status, d.body)
	}
	calls(http.StatusGone, http.StatusGone)
	f.reaches(token, get[string](a, "erasure_id"), events.LevelPurged)
	if left := f.positions(events.KindEpisode, ""); len(left) != 1 {
		t.Fatalf("control: %d episodes are in the log, want that of the neighbour", len(left))
	}
	calls(http.StatusGone, http.StatusGone)
	// Somebody of that name can be told of anew.
	f.do(token, http.MethodPost, "/v1/episodes", captured, http.StatusCreated, "Idempotency-Key", "other")
}
