package uselite

import (
	"context"
	"crypto/sha256"
	_ "embed" // For the weights.
	"encoding/hex"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/annals-memory/annals/producers/embed"
)

//go:embed weights.bin
var weightsFile string

const (
	maxBatch = 256
	// prep changes whenever the same text could give another vector under the same weights.
	prep = "nfkc;max-32768-chars;windows-16x128-mean"
)

// Model is the encoder with its vocabulary. It is an embed.Embedder, safe for concurrent use.
type Model struct {
	id      embed.ModelID
	kernel  Kernel
	words   *tokenizer
	encoder *encoder
	// free holds one slot per pass that may run at once, nil until its memory is first needed. Whoever took a slot
	// puts one back.
	free chan *scratch
	// backlog has a place for each pass that documents may have at once: one
	// less than there are slots, so that a question never waits for a backlog
	// and whoever appends to the log finds a processor.
	backlog chan struct{}
}

var _ embed.Embedder = (*Model)(nil)

// New decodes the weights, which takes some 40 ms and 30 MB of memory; make one and share it. The only error of a
// sound build is ErrKernelUnavailable, and only with WithKernel.
func New(opts ...Option) (*Model, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}

	return load([]byte(weightsFile), o)
}

func load(blob []byte, o options) (*Model, error) {
	kernel, mul, err := choose(o.kernel)
	if err != nil {
		return nil, fmt.Errorf("choose kernel %s: %w", o.kernel, err)
	}

	w, err := openWeights(blob)
	if err != nil {
		return nil, err
	}

	enc := readEncoder(w, mul)
	if w.err != nil {
		return nil, w.err
	}

	sum := sha256.Sum256(blob)
	m := &Model{
		id: embed.ModelID{
			Provider: "builtin",
			Model:    "use-lite-en-i8",
			Revision: hex.EncodeToString(sum[:8]),
			Dim:      Dim,
			Prep:     prep,
		},
		kernel:  kernel,
		words:   newTokenizer(w.header.Words, w.header.Scores),
		encoder: enc,
		free:    make(chan *scratch, runtime.GOMAXPROCS(0)),
		backlog: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}

	for range cap(m.free) {
		m.free <- nil
	}

	return m, nil
}

// ID names the model; the revision is a hash of the weights.
func (m *Model) ID() embed.ModelID { return m.id }

// MaxBatch is 256.
func (m *Model) MaxBatch() int { return maxBatch }

// Kernel is the one in use, never KernelAuto.
func (m *Model) Kernel() Kernel { return m.kernel }

// Embed implements embed.Embedder. The model is symmetric: the kind makes no difference to a vector, only to who waits:
// documents leave one processor to questions. A cancelled context ends it
// after the windows that are being computed, within tens of milliseconds (hundreds with KernelGeneric). With sound
// weights its only errors are embed.ErrBatchTooLarge and the context's.
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
	ids := m.words.encode(text)
	if len(ids) == 0 {
		return nil
	}

	ids = ids[:min(len(ids), maxWindows*maxTokens)]
	sum := make([]float32, Dim)
	window := make([]float32, Dim)

	for len(ids) > 0 {
		n := min(len(ids), maxTokens)
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

	var s *scratch

	select {
	case s = <-m.free:
	case <-ctx.Done():
		return false
	}

	if s == nil {
		s = newScratch()
	}

	defer func() { m.free <- s }()

	m.encoder.forward(s, ids, out)

	return true
}
