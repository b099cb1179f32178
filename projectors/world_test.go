package projectors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/events/seal"
)

const testModel = "tiny-1"

func epoch() time.Time { return time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC) }

func day(n int) time.Time { return epoch().AddDate(0, 0, n) }

// fataler is what tests and rapid's have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a log with really sealed events, and what a writer knows.
type world struct {
	log     *memlog.Log
	keys    *seal.Keyring
	mu      sync.Mutex
	now     time.Time
	step    time.Duration
	n       int
	tenants map[string]*seal.Tenant
	// last is the position of each aggregate, and of the log.
	last map[events.Aggregate]uint64
	head uint64
	// sealed are the records that have or had a key, dead the subjects whose keys are destroyed.
	sealed, dead map[string]bool
}

var testRoot = sync.OnceValue(func() *seal.FileRoot {
	root, err := seal.OpenFileRoot(filepath.Join(tempDir(), "root.key"), seal.FileRootOptions{Create: true})
	if err != nil {
		panic(err)
	}
	return root
})

func newWorld(t fataler) *world {
	t.Helper()
	w := &world{now: epoch(), step: time.Second, tenants: map[string]*seal.Tenant{}, last: map[events.Aggregate]uint64{}}
	w.sealed, w.dead = map[string]bool{}, map[string]bool{}
	w.log = memlog.New("log-a", w.tick)
	keys, err := seal.New(seal.NewMemRows(), testRoot(), seal.Options{Now: epoch})
	if err != nil {
		t.Fatalf("make keyring: %v", err)
	}
	w.keys = keys
	return w
}

// tick is the log's clock: every append takes a step.
func (w *world) tick() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(w.step)
	return w.now
}

func (w *world) tenant(t fataler, name string) *seal.Tenant {
	t.Helper()
	if tn := w.tenants[name]; tn != nil {
		return tn
	}
	tn, err := w.keys.Tenant(context.Background(), name, true)
	if err != nil {
		t.Fatalf("make tenant: %v", err)
	}
	w.tenants[name] = tn
	return tn
}

func (w *world) sid(t fataler, tenant, subject string) string {
	t.Helper()
	sid, err := w.tenant(t, tenant).SubjectID(context.Background(), subject, true)
	if err != nil {
		t.Fatalf("make subject: %v", err)
	}
	return sid
}

func (w *world) id(prefix string) string {
	w.n++
	return fmt.Sprintf("%s-%d", prefix, w.n)
}

// append adds a commit where its aggregate is.
func (w *world) append(t fataler, tenant string, kind events.Kind, id string, list ...events.Event) uint64 {
	t.Helper()
	a := events.Aggregate{Tenant: w.tenant(t, tenant).Token(), Kind: kind, ID: id}
	c := events.Commit{ID: w.id("commit"), Aggregate: a, Time: epoch(), Principal: "principal-a", Events: list}
	expect := events.Expect(w.last[a])
	if id == events.SharedID {
		expect = events.ExpectAny
	}
	ack, err := w.log.Append(context.Background(), c, expect)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	w.last[a], w.head = ack.Position, ack.Position
	return ack.Position
}

// seal seals content under a record's key, which is made the first time only: late writers have none.
func (w *world) seal(t fataler, tenant, sid, class string, kind events.Kind, record, typ string, content any) []byte {
	t.Helper()
	scope := seal.Scope{Tenant: w.tenant(t, tenant).Token(), Subject: sid, Class: class}
	if w.dead[sid] {
		return []byte("late write, no key")
	}
	if !w.sealed[record] {
		w.sealed[record] = true
		if _, _, err := w.keys.CreateRecord(context.Background(), scope, record, nil); err != nil {
			t.Fatalf("create record: %v", err)
		}
	}
	plain, ok := content.([]byte)
	if !ok {
		var err error
		if plain, err = json.Marshal(content, json.Deterministic(true)); err != nil {
			t.Fatalf("encode content: %v", err)
		}
	}
	sealed, err := w.keys.Seal(context.Background(), scope, seal.Label{Aggregate: string(kind), Record: record, EventType: typ}, plain)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return []byte("late write, no key")
	}
	if err != nil {
		t.Fatalf("seal: %v", err)
	}
	return sealed
}

func (w *world) class(t fataler, tenant, category string) string {
	t.Helper()
	return w.tenant(t, tenant).Hash("category", category)
}

type captured struct {
	tenant, sid, id, class string
	event                  events.EpisodeCaptured
	at                     uint64
}

// episode builds the event that captures a text.
func (w *world) episode(t fataler, tenant, subject, id, text string) (events.EpisodeCaptured, captured) {
	t.Helper()
	sid, class := w.sid(t, tenant, subject), w.class(t, tenant, "general")
	content := events.EpisodeContent{Subject: subject, Text: text, Source: events.Source{Kind: "chat", Ref: "r"}}
	e := events.EpisodeCaptured{
		Subject: sid, Class: class, OccurredAt: day(w.n % 30), Trust: events.TrustUser,
		Session: w.tenant(t, tenant).Hash("session", "s"),
		Content: w.seal(t, tenant, sid, class, events.KindEpisode, id, events.TypeEpisodeCaptured, content),
	}
	return e, captured{tenant: tenant, sid: sid, id: id, class: class, event: e}
}

func (w *world) capture(t fataler, tenant, subject, text string) captured {
	t.Helper()
	e, c := w.episode(t, tenant, subject, w.id("episode"), text)
	c.at = w.append(t, tenant, events.KindEpisode, c.id, e)
	return c
}

// captureOf captures an episode that a revision of a source says, empty if it does not name it.
func (w *world) captureOf(t fataler, tenant, subject, text, source, revision string) captured {
	t.Helper()
	e, c := w.episode(t, tenant, subject, w.id("episode"), text)
	e.Source, e.Revision = source, revision
	c.event, c.at = e, w.append(t, tenant, events.KindEpisode, c.id, e)
	return c
}

// revise makes a revision of a source the current one.
func (w *world) revise(t fataler, tenant, source, revision string, effective time.Time) uint64 {
	t.Helper()
	return w.append(t, tenant, events.KindSource, source, events.SourceRevised{Revision: revision, EffectiveAt: effective})
}

// ref is how a fact names the episode that it was taken from.
func (c captured) ref() events.SourceRef {
	return events.SourceRef{Episode: c.id, Subject: c.sid, Source: c.event.Source, Revision: c.event.Revision, At: c.at}
}

func (w *world) forgetEpisode(t fataler, c captured) uint64 {
	t.Helper()
	return w.append(t, c.tenant, events.KindEpisode, c.id, events.EpisodeForgotten{Subject: c.sid, Erasure: w.id("erasure")})
}

func (w *world) forgetSubject(t fataler, tenant, subject string) uint64 {
	t.Helper()
	return w.append(t, tenant, events.KindSubject, w.sid(t, tenant, subject), events.SubjectForgotten{Erasure: w.id("erasure")})
}

func (w *world) slot(t fataler, tenant, sid, predicate string) string {
	t.Helper()
	return w.tenant(t, tenant).Hash("slot", sid+"\x00"+predicate+"\x00")
}

// proposal builds the event that proposes a fact.
func (w *world) proposal(t fataler, tenant, subject, predicate, value string, from time.Time, sources ...captured) events.FactProposed {
	t.Helper()
	sid, class := w.sid(t, tenant, subject), w.class(t, tenant, "profile")
	id := w.id("fact")
	quoted, err := jsontext.AppendQuote(nil, value)
	if err != nil {
		t.Fatalf("quote: %v", err)
	}
	content := events.FactContent{Subject: subject, Predicate: predicate, Value: quoted, Category: "profile"}
	e := events.FactProposed{
		Fact: id, Subject: sid, Class: class, Predicate: w.tenant(t, tenant).Hash("predicate", predicate),
		Category: class, Confidence: 0.97, Trust: events.TrustUser, ObservedAt: from,
		Content: w.seal(t, tenant, sid, class, events.KindFact, id, events.TypeFactProposed, content),
	}
	for _, s := range sources {
		e.Sources = append(e.Sources, s.ref())
	}
	return e
}

// promote proposes and promotes a fact in one commit, with further events after.
func (w *world) promote(t fataler, tenant, predicate string, p events.FactProposed, valid []events.Interval, more ...events.Event) uint64 {
	t.Helper()
	list := append([]events.Event{
		p,
		events.FactDecided{Fact: p.Fact, Decision: events.DecisionPromote, Into: p.Fact},
		events.FactPromoted{Fact: p.Fact, Valid: valid},
	}, more...)
	return w.append(t, tenant, events.KindFact, w.slot(t, tenant, p.Subject, predicate), list...)
}

func since(from time.Time) []events.Interval { return []events.Interval{{From: from}} }

func between(from, to time.Time) []events.Interval { return []events.Interval{{From: from, To: to}} }

// embed appends a vector for a record.
func (w *world) embed(t fataler, tenant, sid, class, record string, of events.Kind, vector []float32) uint64 {
	t.Helper()
	return w.embedBy(t, testModel, tenant, sid, class, record, of, vector)
}

// embedBy appends a vector that a model made.
func (w *world) embedBy(t fataler, model, tenant, sid, class, record string, of events.Kind, vector []float32) uint64 {
	t.Helper()
	return w.append(t, tenant, events.KindVector, events.SharedID, w.vector(t, model, tenant, sid, class, record, of, vector))
}

func (w *world) vector(
	t fataler, model, tenant, sid, class, record string, of events.Kind, vector []float32,
) events.VectorEmbedded {
	t.Helper()
	raw := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return events.VectorEmbedded{
		Record: record, Subject: sid, Class: class, Of: of, Source: 1, Model: model, Dim: len(vector),
		Content: w.seal(t, tenant, sid, class, events.KindVector, record, events.TypeVectorEmbedded, raw),
	}
}

func unit(seed uint64, dim int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v, sum := make([]float32, dim), 0.0
	for i := range v {
		x := r.NormFloat64()
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// config is that of views on a file system.
func (w *world) config(fs vfs.FS) Config {
	return Config{Dir: "views", FS: fs, Log: w.log, Keys: w.keys, Model: testModel, Now: epoch, CacheBytes: 1 << 20, Node: "n1"}
}

// running is views that follow the log.
type running struct {
	*Views
	cancel context.CancelFunc
	done   chan error
}

func start(t fataler, cfg Config) *running {
	t.Helper()
	v, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return follow(v)
}

func follow(v *Views) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Views: v, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- v.Run(ctx) }()
	return r
}

func (r *running) waitFor(t fataler, position uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.WaitFor(ctx, position); err != nil {
		select {
		case runErr := <-r.done:
			r.done <- runErr // for stop, which waits for it
			t.Fatalf("wait for %d: %v; run ended: %v", position, err, runErr)
		default:
		}
		t.Fatalf("wait for %d: %v", position, err)
	}
	clearAll(t, r.Views)
}

// clearAll clears what is left of forgotten subjects, beside the views that do so themselves.
func clearAll(t fataler, v *Views) {
	t.Helper()
	for _, l := range v.lanes {
		if err := l.clear(context.Background()); err != nil {
			t.Fatalf("clear: %v", err)
		}
	}
}

// stop ends Run and leaves the views open.
func (r *running) stop(t fataler) {
	t.Helper()
	r.cancel()
	if err := <-r.done; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("run: %v", err)
	}
}

func (r *running) close(t fataler) {
	t.Helper()
	r.stop(t)
	if err := r.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func snapshot(t fataler, v *Views) *Snapshot {
	t.Helper()
	s, err := v.Snapshot(context.Background())
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	return s
}

func closeSnapshot(t fataler, s *Snapshot) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close snapshot: %v", err)
	}
}

func with(t *testing.T, v *Views, use func(s *Snapshot)) {
	t.Helper()
	s := snapshot(t, v)
	defer closeSnapshot(t, s)
	use(s)
}
