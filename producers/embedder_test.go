package producers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/uselite"
)

// hashModel is a model for tests: a direction per text, deterministic.
type hashModel struct {
	batch int
	mu    sync.Mutex
	fails []error // of the next calls
	calls []int   // texts per call
}

func (m *hashModel) ID() embed.ModelID {
	return embed.ModelID{Provider: "test", Model: "hash", Revision: "1", Dim: 4}
}

func (m *hashModel) MaxBatch() int { return m.batch }

func (m *hashModel) Embed(_ context.Context, texts []string, _ embed.Kind) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, len(texts))
	if len(m.fails) > 0 {
		err := m.fails[0]
		m.fails = m.fails[1:]
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = direction(text)
	}
	return out, nil
}

// direction is nil for a text without a letter that the model knows.
func direction(text string) []float32 {
	if !strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") {
		return nil
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	v := make([]float32, 4)
	for i := range v {
		v[i] = float32(h.Sum64()>>(8*i)&0xff) + 1
	}
	embed.Normalize(v)
	return v
}

// memCheckpoint tells when a position has been stored.
type memCheckpoint struct {
	mu     sync.Mutex
	at     uint64
	moved  chan struct{}
	stores int
}

func newMemCheckpoint() *memCheckpoint { return &memCheckpoint{moved: make(chan struct{})} }

func (c *memCheckpoint) Load() (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at, nil
}

func (c *memCheckpoint) Store(p uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = p
	c.stores++
	close(c.moved)
	c.moved = make(chan struct{})
	return nil
}

func (c *memCheckpoint) wait(t *testing.T, position uint64) {
	t.Helper()
	for {
		c.mu.Lock()
		at, moved := c.at, c.moved
		c.mu.Unlock()
		if at >= position {
			return
		}
		select {
		case <-moved:
		case <-time.After(20 * time.Second):
			t.Fatalf("checkpoint at %d, want %d", at, position)
		}
	}
}

// embedding runs an embedder until the checkpoint has the position.
func (f *fixture) embedding(t *testing.T, model embed.Embedder, c *memCheckpoint, until uint64) (log string) {
	t.Helper()
	var out bytes.Buffer
	e, err := producers.NewEmbedder(producers.EmbedderConfig{
		Follower: f.log, Appender: f.log, Keys: f.keys, Model: model, Checkpoint: c, Now: start,
		Logger: slog.New(slog.NewTextHandler(&out, nil)), FirstRetry: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	c.wait(t, until)
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("Run = %v", err)
	}
	return out.String()
}

// vectors opens all vectors in the log, by record.
func (f *fixture) vectors(t *testing.T) map[string][][]float32 {
	t.Helper()
	found := map[string][][]float32{}
	last, err := f.log.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range f.log.Follow(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := events.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Events[0].(events.VectorEmbedded); ok {
			plain, err := f.keys.Open(t.Context(), seal.Scope{Tenant: r.Aggregate.Tenant, Subject: e.Subject, Class: e.Class},
				seal.Label{Aggregate: "vector", Record: e.Record, EventType: events.TypeVectorEmbedded}, e.Content)
			if err != nil {
				t.Fatal(err)
			}
			v := make([]float32, e.Dim)
			for i := range v {
				v[i] = math.Float32frombits(binary.LittleEndian.Uint32(plain[4*i:]))
			}
			found[e.Record] = append(found[e.Record], v)
		}
		if m.Position == last.Last {
			break
		}
	}
	return found
}

func TestEmbedder(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		want := map[string]string{}
		source := f.capture("maria", "hello there")
		want[source] = "hello there"
		r := episode("maria", "I moved")
		r.Actors = []events.Actor{{ID: "maria", Role: "user"}}
		c, err := f.Capture(t.Context(), user("acme"), "", r)
		if err != nil {
			t.Fatal(err)
		}
		want[c.ID] = "maria: I moved"
		gone := f.capture("maria", "forget me")
		f.forgetEpisode(gone)
		mute := f.capture("maria", "!?")
		promoted := f.propose(claim(`"rome"`, day(3), source))
		want[promoted.CandidateID] = "city rome"
		merged := f.propose(claim(`"rome"`, day(4), source))
		unsure := claim(`"oslo"`, day(5), source)
		unsure.Confidence = new(0.1)
		waiting := f.propose(unsure)
		want[waiting.CandidateID] = "city oslo"
		rejected := f.propose(claim(`"bonn"`, day(5)))

		model := &hashModel{batch: 3}
		checkpoint := newMemCheckpoint()
		log := f.embedding(t, model, checkpoint, rejected.Position-2)
		got := f.vectors(t)
		for id, text := range want {
			if len(got[id]) != 1 || fmt.Sprint(got[id][0]) != fmt.Sprint(direction(text)) {
				t.Errorf("%q: %v, want %v", text, got[id], direction(text))
			}
		}
		for name, id := range map[string]string{
			"forgotten": gone, "mute": mute, "merged": merged.CandidateID, "rejected": rejected.CandidateID,
		} {
			if len(got[id]) != 0 {
				t.Errorf("%s record has a vector", name)
			}
		}
		if log != "" {
			t.Errorf("logged %s", log)
		}
		for _, n := range model.calls {
			if n > 3 {
				t.Errorf("a batch of %d", n)
			}
		}

		// From the checkpoint it goes on, and what is repeated is one vector.
		late := f.capture("maria", "later on")
		f.embedding(t, model, checkpoint, f.last(events.KindEpisode, late).Position)
		f.embedding(t, model, newMemCheckpoint(), f.last(events.KindEpisode, late).Position)
		got = f.vectors(t)
		if len(got[late]) != 1 || len(got[source]) != 1 {
			t.Errorf("%d and %d vectors, want one each", len(got[late]), len(got[source]))
		}
	})
}

// A model that fails is asked again until it does not; nothing is skipped and
// no text is logged.
func TestEmbedderRetries(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	id := f.capture("maria", "kanarienvogel")
	model := &hashModel{batch: 64, fails: []error{
		errors.New("model is down"), backoff.Permanent(errors.New("final, it says")), embed.ErrBatchTooLarge,
	}}
	log := f.embedding(t, model, newMemCheckpoint(), f.last(events.KindEpisode, id).Position)
	if got := f.vectors(t); len(got[id]) != 1 {
		t.Fatalf("%d vectors", len(got[id]))
	}
	if len(model.calls) != 4 || strings.Count(log, "embedder retries") != 3 || strings.Contains(log, "kanarienvogel") {
		t.Errorf("%d calls, log %s", len(model.calls), log)
	}
}

// A log that fails is asked again too.
func TestEmbedderRetriesTheLog(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	f := s.open(t)
	id := f.capture("maria", "hello")
	f.log = &faultyLog{Log: s.log, kind: events.KindVector, before: unavailable}
	f.embedding(t, &hashModel{batch: 1}, newMemCheckpoint(), f.last(events.KindEpisode, id).Position)
	if got := f.vectors(t); len(got[id]) != 1 {
		t.Fatalf("%d vectors", len(got[id]))
	}
}

// A vector is forgotten with its record.
func TestVectorIsForgotten(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	id := f.capture("maria", "hello")
	f.embedding(t, &hashModel{batch: 1}, newMemCheckpoint(), f.last(events.KindEpisode, id).Position)
	e, ok := f.last(events.KindVector, events.SharedID).Events[0].(events.VectorEmbedded)
	if !ok {
		t.Fatal("no vector")
	}
	f.forgetEpisode(id)
	_, err := f.keys.Open(t.Context(), seal.Scope{Tenant: f.tenant().Token(), Subject: e.Subject, Class: e.Class},
		seal.Label{Aggregate: "vector", Record: id, EventType: events.TypeVectorEmbedded}, e.Content)
	if !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Fatalf("still opens: %v", err)
	}
}

func TestEmbedderWithTheBuiltInModel(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	id := f.capture("maria", "I moved to Rome last week.")
	model, err := uselite.New()
	if err != nil {
		t.Fatal(err)
	}
	f.embedding(t, model, newMemCheckpoint(), f.last(events.KindEpisode, id).Position)
	want, err := model.Embed(t.Context(), []string{"I moved to Rome last week."}, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.vectors(t)[id]; len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want[0]) {
		t.Error("another vector than the model's")
	}
}

// A log that ends before the checkpoint, as after a power cut, has lost vectors:
// all records get theirs again. One that does not is read on from there.
func TestEmbedderOnALogThatLostItsEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ ahead, vectors uint64 }{"lost": {100, 1}, "whole": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t).open(t)
			id := f.capture("maria", "hello")
			c := newMemCheckpoint()
			c.at = f.messages() + tt.ahead
			e, err := producers.NewEmbedder(producers.EmbedderConfig{
				Follower: f.log, Appender: f.log, Keys: f.keys, Model: &hashModel{batch: 1}, Checkpoint: c, Now: start,
				Logger: slog.New(slog.DiscardHandler), FirstRetry: time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			if err := e.WaitFor(ctx, f.messages()); err != nil {
				t.Fatal(err)
			}
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("Run = %v", err)
			}
			if got := f.vectors(t)[id]; uint64(len(got)) != tt.vectors {
				t.Errorf("%d vectors, want %d", len(got), tt.vectors)
			}
		})
	}
}

func TestFileCheckpoint(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "embed")
	c := producers.FileCheckpoint(dir, "log", "model/1")
	if p, err := c.Load(); err != nil || p != 0 {
		t.Fatalf("%d, %v", p, err)
	}
	for _, want := range []uint64{7, 1 << 63} {
		if err := c.Store(want); err != nil {
			t.Fatal(err)
		}
		if p, err := producers.FileCheckpoint(dir, "log", "model/1").Load(); err != nil || p != want {
			t.Fatalf("%d, %v, want %d", p, err, want)
		}
	}
	if p, err := producers.FileCheckpoint(dir, "log", "model/2").Load(); err != nil || p != 0 {
		t.Fatalf("another model's: %d, %v", p, err)
	}
	if p, err := producers.FileCheckpoint(dir, "another", "model/1").Load(); err != nil || p != 0 {
		t.Fatalf("another log's: %d, %v", p, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, content := range []string{"", "7", "x\n", "-1\n", "7\n7\n"} {
		if err := os.WriteFile(filepath.Join(dir, files[0].Name()), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Load(); !errors.Is(err, producers.ErrCheckpoint) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestConfigs(t *testing.T) {
	t.Parallel()
	if _, err := producers.New(producers.Config{}); !errors.Is(err, producers.ErrConfig) {
		t.Error(err)
	}
	if _, err := producers.NewEmbedder(producers.EmbedderConfig{}); !errors.Is(err, producers.ErrConfig) {
		t.Error(err)
	}
}
