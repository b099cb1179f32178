package node_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/tombstones"
)

var (
	interleavings = flag.Int("interleavings", 30, "how many pairs of a forget and another call on the same subject are to run at the same time")
	worldSeed     = flag.Uint64("seed", 0, "live through the world of this seed alone; 0 is as many as are needed")
)

// Promise 4, R-13. Random histories of writes, reads and forgets by several
// callers at once, on a whole node that is rebuilt, restarted and embeds late.
// A model knows what was acknowledged as forgotten before each read began, and
// no read on any path of the router may hold it. What was not touched must be
// there at the end.
func TestInterleavings(t *testing.T) { //nolint:tparallel // One world at a time, until there are enough.
	t.Parallel()
	counts := map[string]int{}
	start, total, reads, worlds := time.Now(), 0, 0, uint64(0)
	for seed := cmp.Or(*worldSeed, 1); total < *interleavings; seed++ {
		worlds++
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			w.live()
			n, by := w.races()
			total += n
			for what, n := range by {
				counts[what] += n
			}
			reads += w.reads
		})
		if t.Failed() {
			t.Fatalf("repeat it with -run TestInterleavings -seed=%d", seed)
		}
		if *worldSeed != 0 {
			break
		}
	}
	t.Logf("%d interleavings in %d worlds, %d reads compared, %v", total, worlds, reads, time.Since(start).Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%7d with %s", counts[what], what)
	}
}

const (
	worldCallers = 4  // at once
	worldSteps   = 40 // of each caller
	worldDays    = 20
	worldBurst   = 10 // steps in a row that are most of them about one subject
)

// world is a node, those who call it, and what the model knows of both.
type world struct {
	*history

	f      *fixture
	seed   uint64
	model  *lateModel
	tokens map[string]string
	second *tombstones.Eraser
	// handler is the door of the node that runs now.
	handler http.Handler
	// focus counts what was begun: all are at the same subject most of the time.
	focus atomic.Uint64

	// gate is held for reading by every call and for writing by a restart,
	// which cancels ctx first.
	gate   sync.RWMutex
	ctx    context.Context // of the node that runs now
	cancel context.CancelFunc

	count struct {
		sync.Mutex

		canaries int
	}
	// reads counts the reads, shown the canaries in them that may be there; both
	// are guarded by history.mu.
	reads, shown int
	known        instants
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	m := &lateModel{Embedder: model(t), asked: map[string][][]float32{}}
	w := &world{history: newHistory(), seed: seed, model: m, tokens: map[string]string{}}
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	w.f = openWith(t, node.Options{Durability: "process", Model: m, Models: []embed.Embedder{renamed{m, secondModel}}, Logger: logger})
	t.Cleanup(func() { m.hold(false) })
	for _, tenant := range []string{"a", "a-b"} {
		w.tokens[tenant] = w.f.token(tenant)
	}
	w.started()
	return w
}

// started makes what belongs to a node that has just begun.
func (w *world) started() {
	w.f.t.Helper()
	w.ctx, w.cancel = context.WithCancel(w.f.t.Context())
	if err := w.f.CatchUp(w.ctx); err != nil {
		w.f.t.Fatal(err)
	}
	w.second, w.handler = secondEraser(w.f), w.f.Handler()
}

// secondEraser forgets on the same log with keys and caches of its own.
func secondEraser(f *fixture) *tombstones.Eraser {
	f.t.Helper()
	e, err := f.EraserWith(otherKeys(f, f.keyRows()))
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

// live lets everyone do what they do, and looks at what is left.
func (w *world) live() {
	t := w.f.t
	kept := map[string]planted{}
	for tenant, token := range w.tokens {
		kept[tenant] = plant(w.f, token, "neighbour", "plugh"+tenant)
	}
	var g sync.WaitGroup
	for i := range worldCallers {
		g.Go(func() {
			c := &caller{world: w, rng: rand.New(rand.NewPCG(w.seed, uint64(i))), n: i}
			for range worldSteps {
				if t.Failed() {
					return
				}
				c.step()
			}
		})
	}
	g.Wait()
	w.model.hold(false)
	if t.Failed() {
		return
	}
	w.check(kept)
}

// check looks at everything when nothing moves any more, twice: the second time
// after a restart that finds no views.
func (w *world) check(kept map[string]planted) {
	t := w.f.t
	t.Helper()
	for _, when := range []string{"at the end", "from rebuilt views"} {
		w.f.settle()
		for tenant := range w.tokens {
			for _, subject := range []string{"s0", "s1", "s2", "neighbour"} {
				w.look(when, tenant, subject, nil)
			}
			if _, no := kept[tenant].holds(kept[tenant].reads()); len(no) > 0 {
				t.Errorf("seed %d: %s: the neighbour is missing from %q", w.seed, when, no)
			}
		}
		episodes, claims := w.alive()
		for _, p := range episodes {
			a := w.f.call(w.tokens[p.tenant], http.MethodGet, "/v1/episodes/"+p.id, nil)
			if !bytes.Contains(a.body, []byte(p.canary)) {
				t.Errorf("seed %d: %s: an episode that nobody forgot is gone: %+v: %d %s", w.seed, when, p, a.status, a.body)
			}
		}
		for _, c := range claims {
			a := w.f.call(w.tokens[c.tenant], http.MethodGet, "/v1/facts/"+c.fact+"/history", nil)
			if !bytes.Contains(a.body, []byte(c.canary)) {
				t.Errorf("seed %d: %s: a fact that nobody forgot is gone: %+v: %d %s", w.seed, when, c, a.status, a.body)
			}
		}
		if w.shown < 100 {
			t.Errorf("seed %d: control: only %d times something was shown", w.seed, w.shown)
		}
		w.f.close()
		if err := os.RemoveAll(filepath.Join(w.f.dir, "views")); err != nil {
			t.Fatal(err)
		}
		w.f.start()
		w.handler = w.f.Handler()
	}
}

// restart ends every call, and the node, and opens it again.
func (w *world) restart(withoutViews bool) {
	w.cancel()
	w.gate.Lock()
	defer w.gate.Unlock()
	if w.f.t.Failed() {
		return
	}
	w.f.close()
	if withoutViews {
		if err := os.RemoveAll(filepath.Join(w.f.dir, "views")); err != nil {
			w.f.t.Error(err)
		}
	}
	n, err := node.Open(context.Background(), w.f.options)
	if err != nil {
		w.f.t.Error(err)
		return
	}
	w.f.Node, w.f.stop = n, n.Start(context.Background())
	w.started()
}

// call makes one request. It may end early, as a caller who hangs up.
func (w *world) call(ctx context.Context, tenant, method, path string, body obj, header ...string) answer {
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			w.f.t.Error(err)
		}
	}
	r := httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(b))
	r.Header.Set("Authorization", "Bearer "+w.tokens[tenant])
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	if rec.Code >= 500 && rec.Code != http.StatusServiceUnavailable {
		w.f.t.Errorf("seed %d: %s %s: %d: %s", w.seed, method, path, rec.Code, rec.Body)
	}
	return answer{w.f.t, rec.Code, rec.Body.Bytes()}
}

// look asks every read path about a subject, or about some records of it, and
// compares what comes back with the model.
func (w *world) look(when, tenant, subject string, ids []string) {
	of := about{subject: subject, session: subject + "-0", predicate: "p0", query: "the word is kept here", valid: day(worldDays / 2)}
	w.mu.Lock()
	for _, p := range w.episodes {
		if p.tenant == tenant && p.subject == subject && p.id != "" && (ids == nil || slices.Contains(ids, p.id)) {
			of.episodes = append(of.episodes, p.id)
		}
	}
	for _, c := range w.claims {
		if c.tenant != tenant || c.subject != subject {
			continue
		}
		for _, id := range []string{c.fact, c.candidate} {
			if id != "" && (ids == nil || slices.Contains(ids, id)) && !slices.Contains(of.facts, id) {
				of.facts = append(of.facts, id)
			}
		}
	}
	for _, n := range w.notes {
		if n.tenant == tenant && n.subject == subject && n.trace != "" && ids == nil {
			of.traces = append(of.traces, n.trace)
		}
	}
	w.mu.Unlock()
	of.known = w.known.of(tenant + subject)
	for _, r := range w.f.Routes() {
		list, _ := asks(r, of) // TestEveryRouteReadsOrIsSilent sees to those that are not known
		for _, q := range list {
			w.read(when, tenant, q)
		}
	}
}

// read asks once and compares.
func (w *world) read(when, tenant string, q ask) answer {
	at := w.now()
	a := w.call(w.ctx, tenant, q.method, q.path, q.body)
	leaks, shown := w.leaks(a.body, at)
	w.mu.Lock()
	w.reads++
	w.shown += shown
	w.mu.Unlock()
	if len(leaks) > 0 {
		w.f.t.Errorf("seed %d: %s: %s holds what was forgotten before it was asked: %s\n%s",
			w.seed, when, q.name(), w.tell(leaks), a.body)
	}
	return a
}

// lateModel embeds when it is let.
type lateModel struct {
	embed.Embedder

	mu    sync.Mutex
	held  chan struct{} // nil while it is let
	asked map[string][][]float32
}

// hold stops documents from being embedded, or lets them.
func (m *lateModel) hold(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case on && m.held == nil:
		m.held = make(chan struct{})
	case !on && m.held != nil:
		close(m.held)
		m.held = nil
	}
}

// Embed implements [embed.Embedder].
func (m *lateModel) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	m.mu.Lock()
	vectors, known := m.asked[texts[0]]
	m.mu.Unlock()
	if kind == embed.Query && known {
		return [][]float32{slices.Clone(vectors[0])}, nil
	}
	vectors, err := m.Embedder.Embed(ctx, texts, kind) // of what is not forgotten yet
	m.mu.Lock()
	held := m.held
	if kind == embed.Query && err == nil {
		m.asked[texts[0]] = [][]float32{slices.Clone(vectors[0])}
	}
	m.mu.Unlock()
	if kind == embed.Document && held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return vectors, err
}

func day(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }

// asked is who calls the second eraser.
func asked(tenant string) events.Caller {
	return events.Caller{Tenant: tenant, Principal: "p", Roles: auth.Roles(), Trust: events.TrustUser}
}
