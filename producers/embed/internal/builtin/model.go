package builtin

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/annals-memory/annals/producers/embed"
)

const maxBatch = 256

// Config is what a model is made of. All of it is required.
type Config struct {
	ID      embed.ModelID
	Network Network
	// Windows is how many windows of a text are read, Tokens how many tokens one window has at most.
	Windows, Tokens int
}

// Model is an embed.Embedder, safe for concurrent use.
type Model struct {
	id              embed.ModelID
	network         Network
	windows, tokens int
	// free holds one slot per pass that may run at once, nil until its memory is first needed. Whoever took a slot
	// puts one back.
	free chan Pass
	// backlog has a place for each pass that documents may have at once: one less than there are slots, so that a
	// question never waits for a backlog and whoever appends to the log finds a processor.
	backlog chan struct{}
}

var _ embed.Embedder = (*Model)(nil)

// New makes a model that computes at most GOMAXPROCS windows at once, over all calls.
func New(c Config) *Model {
	m := &Model{
		id: c.ID, network: c.Network, windows: c.Windows, tokens: c.Tokens,
		free:    make(chan Pass, runtime.GOMAXPROCS(0)),
		backlog: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}

	for range cap(m.free) {
		m.free <- nil
	}

	return m
}

// ID names the model.
func (m *Model) ID() embed.ModelID { return m.id }

// MaxBatch is 256.
func (m *Model) MaxBatch() int { return maxBatch }

// Embed implements embed.Embedder. The models are symmetric: the kind makes no difference to a vector, only to who waits,
// since documents leave one processor to questions. A cancelled context ends it after the windows that are being
// computed. With sound weights its only errors are embed.ErrBatchTooLarge and the context's.
func (m *Model) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	if len(texts) > maxBatch {
		return nil, embed.ErrBatchTooLarge
	}

	vectors := make([][]float32, len(texts))

	var (
		group sync.WaitGroup
		taken atomic.Int64
	)

	work := func() {
		for {
			i := int(taken.Add(1)) - 1
			if i >= len(texts) || ctx.Err() != nil {
				return
			}

			vectors[i] = m.embed(ctx, texts[i], kind)
		}
	}

	for range min(len(texts), cap(m.free)) - 1 {
		group.Go(work)
	}

	work() // The caller's goroutine is one of the workers: a single text starts none.
	group.Wait()

	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embed texts: %w", err)
	}

	if err := embed.Check(m.id, len(texts), vectors); err != nil {
		return nil, fmt.Errorf("check vectors: %w", err)
	}

	return vectors, nil
}

// embed returns the vector of one text, nil when it has no known token or the context ended.
func (m *Model) embed(ctx context.Context, text string, kind embed.Kind) []float32 {
	ids := m.network.Encode(text)
	if len(ids) == 0 {
		return nil
	}

	ids = ids[:min(len(ids), m.windows*m.tokens)]
	sum := make([]float32, m.id.Dim)
	window := make([]float32, m.id.Dim)

	for len(ids) > 0 {
		n := min(len(ids), m.tokens)
		if !m.forward(ctx, ids[:n], window, kind) {
			return nil
		}

		embed.Normalize(window)

		for i, v := range window {
			sum[i] += v * float32(n)
		}

		ids = ids[n:]
	}

	embed.Normalize(sum)

	return sum
}

// forward runs one window as soon as a slot is free. Slots are taken per window and served in order of arrival, so
// that a short question waits for windows, not for the whole batch before it.
func (m *Model) forward(ctx context.Context, ids []int32, out []float32, kind embed.Kind) bool {
	if kind == embed.Document {
		select {
		case m.backlog <- struct{}{}:
		case <-ctx.Done():
			return false
		}

		defer func() { <-m.backlog }()
	}

	var pass Pass

	select {
	case pass = <-m.free:
	case <-ctx.Done():
		return false
	}

	if pass == nil {
		pass = m.network.NewPass()
	}

	defer func() { m.free <- pass }()

	pass.Forward(ids, out)

	return true
}
