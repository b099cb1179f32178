package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

// fate is what the traffic knows of one episode.
type fate struct {
	id        string
	acked     bool // its capture was acknowledged
	forgetAsk bool // a forget was sent
	forgot    bool // and acknowledged
}

// traffic is what was sent to a server that dies now and then, and what it
// acknowledged.
type traffic struct {
	mu    sync.Mutex // guards what follows
	all   map[string]*fate
	order []string
	acks  int
	facts []string // acknowledged promotions
	// refused is what a server that lives answered otherwise than it should.
	refused []error
}

// stop notes why a worker ends: the server is gone, or it answered with an
// error, which nothing that is sent deserves.
func (tr *traffic) stop(what string, err error) {
	if p, ok := errors.AsType[*client.ProblemError](err); ok {
		tr.mu.Lock()
		tr.refused = append(tr.refused, fmt.Errorf("%s: %w", what, p))
		tr.mu.Unlock()
	}
}

// run sends until the server is gone.
func (tr *traffic) run(ctx context.Context, c *client.Client, worker, round int, rng *rand.Rand) {
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("w%d-r%d-%d", worker, round, i)
		f := &fate{}
		tr.mu.Lock()
		tr.all[key] = f
		tr.order = append(tr.order, key)
		tr.mu.Unlock()
		id, err := captureKeyed(ctx, c, key)
		if err != nil {
			tr.stop("capture", err)
			return // it may or may not have happened: a retry must tell
		}
		tr.mu.Lock()
		f.id, f.acked = id, true
		tr.acks++
		tr.mu.Unlock()
		switch rng.IntN(4) {
		case 0:
			tr.mu.Lock()
			f.forgetAsk = true
			tr.mu.Unlock()
			if err := c.Do(ctx, client.Call{Method: http.MethodDelete, Path: "/v1/episodes/" + id}); err != nil {
				tr.stop("forget", err)
				return
			}
			tr.mu.Lock()
			f.forgot = true
			tr.mu.Unlock()
		case 1:
			var out struct {
				FactID   string `json:"fact_id"`
				Decision string `json:"decision"`
			}
			err := c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/facts", Key: "f-" + key, Out: &out, Body: map[string]any{
				"subject": "s" + key[:2], "predicate": "p" + strconv.Itoa(rng.IntN(5)), "value": key, "category": "general",
				"confidence": 1, "observed_at": time.Now().UTC().Format(time.RFC3339Nano), "source_episodes": []string{id},
			}})
			if err != nil {
				tr.stop("propose", err)
				return
			}
			if out.Decision == "promoted" {
				tr.mu.Lock()
				tr.facts = append(tr.facts, out.FactID)
				tr.mu.Unlock()
			}
		case 2:
			if err := c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/recall", Body: map[string]any{"query": "canary " + key}}); err != nil {
				tr.stop("recall", err)
				return
			}
		}
	}
}

// perRound is how many captures are acknowledged before a server may die, so
// that a slow machine tests as much as a quick one.
const perRound = 6

func (tr *traffic) count() (acks, facts int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.acks, len(tr.facts)
}

// outlast returns after d, and not before so many more captures are acknowledged,
// and in all that many facts; a server that takes none for ten seconds is not
// waited for.
func (tr *traffic) outlast(captures, facts int, d time.Duration) {
	enough := func() bool {
		acks, known := tr.count()
		return acks >= captures && known >= facts
	}
	acks, _ := tr.count()
	captures += acks
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	begun := time.Now()
	for now := range tick.C {
		if gone := now.Sub(begun); gone >= d && (enough() || gone > 10*time.Second) {
			return
		}
	}
}

func captureKeyed(ctx context.Context, c *client.Client, key string) (string, error) {
	var out struct {
		ID string `json:"id"`
	}
	err := c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/episodes", Key: key, Out: &out, Body: map[string]any{
		"subject": "s" + key[:2], "text": "canary " + key, "source": map[string]any{"kind": "test", "ref": key},
	}})
	return out.ID, err
}

// R-45, promises 2 and 4: the server is killed again and again during mixed
// traffic. Every acknowledged capture is there, every acknowledged forget is
// absent, a retry of what was in flight gets one record, and the views equal a
// fresh fold of the log. ANNALS_CRASH_ROUNDS asks for more rounds.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 20
	if s := os.Getenv("ANNALS_CRASH_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	data := t.TempDir()
	tr := &traffic{all: map[string]*fate{}}
	for round := range rounds {
		s := serve(t, data, "--durability", "process")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for w := range 4 {
			r := rand.New(rand.NewPCG(seed, uint64(round*4+w+1)))
			wg.Go(func() { tr.run(ctx, s.Client, w, round, r) })
		}
		tr.outlast(perRound, (round+1)/2, time.Duration(20+rng.IntN(400))*time.Millisecond)
		s.kill()
		cancel()
		wg.Wait()
	}
	s := serve(t, data, "--durability", "process")
	checkFates(t, s.Client, tr)
	s.stop()
	out, errs, code := annals(t, "verify", "--data", data)
	if code != 0 {
		t.Errorf("verify: exit %d: %s%s", code, out, errs)
	}
	t.Logf("%d rounds, %d acknowledged captures, %d facts\n%s", rounds, tr.acks, len(tr.facts), out)
	if len(tr.refused) > 0 {
		t.Errorf("%d answers of a server that lives: %v", len(tr.refused), errors.Join(tr.refused...))
	}
	if tr.acks < rounds || len(tr.facts) < rounds/2 {
		t.Errorf("only %d captures and %d facts were acknowledged: the test showed little", tr.acks, len(tr.facts))
	}
}

func checkFates(t *testing.T, c *client.Client, tr *traffic) {
	t.Helper()
	var kept, gone, retried int
	for _, key := range tr.order {
		f := tr.all[key]
		if !f.acked { // in flight when the server died: the retry must make it one record
			id, err := captureKeyed(t.Context(), c, key)
			if err != nil {
				t.Errorf("retry: %v", err)
				continue
			}
			again, err := captureKeyed(t.Context(), c, key)
			if err != nil || again != id {
				t.Errorf("a retry of a retry: %v, another record: %v", err, again != id)
			}
			retried++
			continue
		}
		var out struct {
			Text string `json:"text"`
		}
		err := c.Do(t.Context(), client.Call{Method: http.MethodGet, Path: "/v1/episodes/" + f.id, Out: &out})
		p, _ := errors.AsType[*client.ProblemError](err)
		switch {
		case f.forgot:
			gone++
			if p == nil || (p.Status != http.StatusGone && p.Status != http.StatusNotFound) {
				t.Errorf("a forgotten episode is readable: %v", err)
			}
		case f.forgetAsk: // either is right
		default:
			kept++
			if err != nil || out.Text != "canary "+key {
				t.Errorf("an acknowledged episode is lost: %v", err)
			}
		}
	}
	for _, id := range tr.facts {
		if err := c.Do(t.Context(), client.Call{Method: http.MethodGet, Path: "/v1/facts/" + id}); err != nil {
			t.Errorf("an acknowledged fact is lost: %v", err)
		}
	}
	t.Logf("%d kept, %d forgotten, %d retried", kept, gone, retried)
	if kept == 0 || gone == 0 {
		t.Errorf("%d kept and %d forgotten: the test showed little", kept, gone)
	}
}
