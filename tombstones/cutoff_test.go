package tombstones_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/tombstones"
)

var errStuck = errors.New("rows are stuck")

// stuckRows do not let go of the rows under a prefix.
type stuckRows struct {
	seal.Rows

	mu     sync.Mutex
	prefix string
}

func (r *stuckRows) stick(prefix string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prefix = prefix
}

func (r *stuckRows) Destroy(ctx context.Context, keys ...string) error {
	if r.stuck(keys...) {
		return errStuck
	}
	return r.Rows.Destroy(ctx, keys...)
}

func (r *stuckRows) DestroyAt(ctx context.Context, row seal.Row) error {
	if r.stuck(row.Key) {
		return errStuck
	}
	return r.Rows.DestroyAt(ctx, row)
}

func (r *stuckRows) stuck(keys ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		if r.prefix != "" && strings.HasPrefix(key, r.prefix) {
			return true
		}
	}
	return false
}

// A forget of a subject that failed at any of its rows is not over for the same
// call, nor for the next start, before all of them are gone.
func TestForgetSubjectCutOffAtItsKeys(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"k2.", "sid.", "k3."} {
		for how, again := range map[string]func(*node) error{
			"the same call": func(n *node) error {
				out, err := n.ForgetSubject(n.Context(), user("acme"), "", "maria", "")
				if out.Level != tombstones.LevelShredded {
					n.Errorf("level %q", out.Level)
				}
				return err
			},
			"the next start": func(n *node) error { return n.Finish(n.Context()) },
		} {
			t.Run(prefix+" "+how, func(t *testing.T) {
				t.Parallel()
				c, rows := nodetest.NewClock(), &stuckRows{Rows: seal.NewMemRows()}
				n := start(t, nodetest.Options{Clock: c, Rows: rows})
				id, other := n.Tell("maria", "Maria plays the cello."), n.Tell("jonas", "Jonas swims.")
				sid, err := n.sid("maria")
				must(t, err)
				rows.stick(prefix)
				if _, err := n.ForgetSubject(t.Context(), user("acme"), "", "maria", ""); !errors.Is(err, errStuck) {
					t.Fatalf("error is %v", err)
				}
				rows.stick("")
				must(t, again(n))
				if !n.keyless(id) || n.keyless(other) {
					t.Error("not exactly the keys of the subject are gone")
				}
				if _, err := n.sid("maria"); !errors.Is(err, seal.ErrUnknownSubject) {
					t.Errorf("the name of the subject: %v", err)
				}
				if _, err := n.sid("jonas"); err != nil {
					t.Errorf("the name of another: %v", err)
				}
				for row, err := range rows.List(t.Context(), "") {
					must(t, err)
					if strings.HasPrefix(row.Key, "k2.") && strings.Contains(row.Key, sid) {
						t.Error("a class key is left")
					}
				}
			})
		}
	}
}

// A repetition under a key does not reach what came after a first call that
// found nothing.
func TestIdempotencyKeysOfNothing(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	n.Tell("jonas", "Jonas swims.")
	byFilter := tombstones.ForgetRequest{Filter: &tombstones.Filter{Entities: []string{"cello"}}}
	first := n.forget("k", byFilter)
	subject, err := n.ForgetSubject(t.Context(), user("acme"), "k", "maria", "")
	must(t, err)

	e := episode("maria", "Maria plays the cello.")
	e.Entities = []string{"cello"}
	id := n.TellIn("acme", e)
	if diff := cmp.Diff(first, n.forget("k", byFilter)); diff != "" || first.Matched != 0 {
		t.Errorf("filter: %s", diff)
	}
	again, err := n.ForgetSubject(t.Context(), user("acme"), "k", "maria", "")
	must(t, err)
	if diff := cmp.Diff(subject, again); diff != "" || subject.Matched != 0 {
		t.Errorf("subject: %s", diff)
	}
	if !n.lives(id) {
		t.Error("a repetition reached what came later")
	}
	if out := n.forget("another", byFilter); out.Matched != 1 || n.lives(id) {
		t.Errorf("another key: %+v", out)
	}
}

// Of those who forget one subject together, one that gives up fails alone.
func TestForgetSubjectTogetherWithOneThatGivesUp(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id := n.Tell("maria", "Maria plays the cello.")
	e, g := n.gated()
	ctx, cancel := context.WithCancel(t.Context())
	var group, begun sync.WaitGroup
	group.Go(func() {
		if _, err := e.ForgetSubject(ctx, user("acme"), "", "maria", ""); err == nil {
			t.Error("the one that gave up has an answer")
		}
	})
	<-g.entered
	for range 8 {
		begun.Add(1)
		group.Go(func() {
			begun.Done()
			if _, err := e.ForgetSubject(t.Context(), user("acme"), "", "maria", ""); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	cancel()
	close(g.open)
	group.Wait()
	if !n.keyless(id) {
		t.Error("the subject was not forgotten")
	}
}

// A fact that came into the log after the forget of its source was over, from a
// process that ended there, loses its key at the next start.
func TestFinishFindsFactsThatCameLate(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id, other := n.Tell("maria", "Maria plays the cello."), n.Tell("maria", "Maria swims.")
	late := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), id))
	kept := n.Promoted(fact("maria", "sport", `"swimming"`, day(2), other))
	// What the saga does when the fact is not there yet: tombstone and key.
	agg := events.Aggregate{Tenant: n.token(), Kind: events.KindEpisode, ID: id}
	last, err := n.Events.Last(t.Context(), agg)
	must(t, err)
	sid, err := n.sid("maria")
	must(t, err)
	_, err = n.Events.Append(t.Context(), events.Commit{
		ID: newID(), Aggregate: agg, Time: n.Clock.Now(),
		Events: []events.Event{events.EpisodeForgotten{Subject: sid, Erasure: newID()}},
	}, events.Expect(last.Position))
	must(t, err)
	must(t, n.Keys.DestroyRecord(t.Context(), n.token(), id))
	must(t, n.Finish(t.Context()))
	if !n.keyless(late) || n.keyless(kept) || n.keyless(other) {
		t.Error("not exactly the late fact is shredded")
	}
}
