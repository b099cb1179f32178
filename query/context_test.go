package query_test

import (
	"slices"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// said captures an episode of a session.
func (n *node) said(session, text string, more ...func(*producers.CaptureRequest)) string {
	n.Helper()
	r := episode("maria", text)
	r.Session = session
	for _, do := range more {
		do(&r)
	}
	return n.TellIn("acme", r)
}

// A turn beside one that answers stands above an equal one of another session, for as long as that neighbour may be shown.
func TestTurnsLendContext(t *testing.T) {
	t.Parallel()
	const asked, answer = "the spare key, Anna? where do you keep the spare key", "in the blue tin, with that key of the shed"
	ask := query.RecallRequest{Query: "where is the spare key kept?", Subject: "maria", Explain: true}
	first := func(n *node, r query.RecallRequest, a, b string) string {
		ids := resultIDs(n.ask(r))
		i, j := slices.Index(ids, a), slices.Index(ids, b)
		if i < 0 || j < 0 {
			n.Fatalf("recall gave %v", ids)
		}
		if i < j {
			return a
		}
		return b
	}
	// Other memories make a key something rare.
	started := func(t *testing.T) *node {
		t.Helper()
		n := inMemory(t)
		for i := range 12 {
			n.said("", "the bees of roof "+name(i)+" are well")
		}
		return n
	}
	// The decoy comes later, so that it wins where nothing is lent.
	setup := func(t *testing.T) (n *node, question, reply, decoy string) {
		t.Helper()
		n = started(t)
		reply = n.said("kitchen", answer)
		question = n.said("kitchen", asked, func(r *producers.CaptureRequest) { r.Category = "question" })
		decoy = n.said("garden", answer)
		return n, question, reply, decoy
	}
	t.Run("lent", func(t *testing.T) {
		t.Parallel()
		n, _, reply, decoy := setup(t)
		if got := first(n, ask, reply, decoy); got != reply {
			t.Error("the neighbour of the question lent nothing")
		}
		for _, r := range n.ask(ask).Results {
			if c := r.Components.Context; (r.ID != decoy) != (c != nil && *c > 0) || r.Score > 1 {
				t.Errorf("components of %q are %+v", r.Text, *r.Components)
			}
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		t.Parallel()
		n, question, reply, decoy := setup(t)
		_, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, question)
		must(t, err)
		if got := first(n, ask, reply, decoy); got != decoy {
			t.Error("a forgotten turn lends")
		}
	})
	t.Run("filtered out", func(t *testing.T) {
		t.Parallel()
		n, _, reply, decoy := setup(t)
		r := ask
		r.Categories = []string{"general"}
		if got := first(n, r, reply, decoy); got != decoy {
			t.Error("a turn that the filter leaves out lends")
		}
	})
	t.Run("not known yet", func(t *testing.T) {
		t.Parallel()
		n := started(t)
		reply, decoy := n.said("kitchen", answer), n.said("garden", answer)
		known := at(n.Clock.Now())
		later := n.said("kitchen", asked)
		if got := first(n, ask, reply, decoy); got != reply {
			t.Fatal("the control lends nothing")
		}
		r := ask
		r.KnownAt = known
		if got := first(n, r, reply, decoy); got != decoy {
			t.Error("what came later lends to what was known then")
		}
		if slices.Contains(resultIDs(n.ask(r)), later) {
			t.Error("what came later is shown")
		}
	})
}
