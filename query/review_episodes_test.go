package query_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/query"
)

// walked is a quarantine that says whether anybody has read all of it.
type walked struct {
	*nodetest.Quarantine

	lists int
}

func (w *walked) List(context.Context, string) iter.Seq2[events.Message, error] {
	w.lists++
	return func(func(events.Message, error) bool) {}
}

// Who asks for one episode in quarantine gets it without a walk through all that
// waits; what does not wait is not there.
func TestReviewOfOneEpisode(t *testing.T) {
	t.Parallel()
	clock := nodetest.NewClock()
	q := &walked{Quarantine: nodetest.NewQuarantine(clock.Now)}
	n := &node{nodetest.Start(t, nodetest.Options{Clock: clock, Quarantine: q.Quarantine})}
	s, err := query.New(query.Config{Keys: n.Keys, Log: n.Events, Views: n.Views, Now: clock.Now, Traces: silent{}, Quarantine: q})
	must(t, err)
	external := user("acme")
	external.Trust, external.Principal = events.TrustExternal, "mail"
	var ids []string
	for range 3 {
		c, err := n.Capture(t.Context(), external, "", episode("maria", "A mail."))
		must(t, err)
		ids = append(ids, c.ID)
	}
	a, err := s.Review(t.Context(), as(events.RoleReviewer), query.RecordRequest{ID: ids[1], WaitFor: n.End()})
	must(t, err)
	if a.ID != ids[1] || a.Episode == nil || a.Episode.Text != "A mail." || a.State != query.ReviewOpen {
		t.Errorf("%+v", a)
	}
	for _, id := range []string{newID(), n.Tell("maria", "hello")} {
		if _, err := s.Review(t.Context(), as(events.RoleReviewer), query.RecordRequest{ID: id, WaitFor: n.End()}); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("what does not wait: %v", err)
		}
	}
	if q.lists != 0 {
		t.Errorf("%d walks", q.lists)
	}
	// The control: a page is read from the list.
	if _, err := s.Reviews(t.Context(), as(events.RoleReviewer), query.ReviewsRequest{}); err != nil || q.lists != 1 {
		t.Errorf("%v, %d walks", err, q.lists)
	}
}

// silent keeps no traces: nothing is recalled.
type silent struct{}

func (silent) RecordRecall(context.Context, events.Caller, query.Recalled) (string, uint64, error) {
	return "", 0, nil
}
