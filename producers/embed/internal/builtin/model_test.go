package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/annals-memory/annals/producers/embed"
)

// letters is a network: a window's vector is how often it has each letter.
type letters struct{}

func (letters) Encode(text string) []int32 {
	var ids []int32

	for _, r := range text {
		if r >= 'a' && r <= 'z' {
			ids = append(ids, r-'a')
		}
	}

	return ids
}

func (letters) NewPass() Pass { return letters{} }

func (letters) Forward(ids []int32, out []float32) {
	clear(out)

	for _, id := range ids {
		out[id]++
	}
}

func model() *Model {
	id := embed.ModelID{Provider: "builtin", Model: "letters", Revision: "1", Dim: 26, Prep: "none"}

	return New(Config{ID: id, Network: letters{}, Windows: 2, Tokens: 4})
}

// TestWindows averages two windows of other directions, and does not look behind the last one.
func TestWindows(t *testing.T) {
	t.Parallel()

	v, err := model().Embed(t.Context(), []string{"aaaabb", "aaaabbbbcccc", "", "aaaa"}, embed.Document)
	if err != nil {
		t.Fatal(err)
	}

	const long, short, even = 0.8944272, 0.4472136, 0.7071068 // Four to two, and four to four.

	for _, c := range []struct {
		text, component int
		want            float32
	}{{0, 0, long}, {0, 1, short}, {1, 0, even}, {1, 1, even}, {1, 2, 0}, {3, 0, 1}} {
		if got := v[c.text][c.component]; got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("component %d of text %d is %g, want %g", c.component, c.text, got, c.want)
		}
	}

	if v[2] != nil {
		t.Error("a text without a token has a vector")
	}
}

func TestEmbedRefuses(t *testing.T) {
	t.Parallel()

	m := model()

	if _, err := m.Embed(t.Context(), make([]string, m.MaxBatch()+1), embed.Document); !errors.Is(err, embed.ErrBatchTooLarge) {
		t.Errorf("oversized batch: %v", err)
	}

	v, err := embed.All(t.Context(), m, make([]string, m.MaxBatch()+1), embed.Document)
	if err != nil || len(v) != m.MaxBatch()+1 {
		t.Errorf("All: %d vectors, %v", len(v), err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if v, err := m.Embed(ctx, []string{"secret plan"}, embed.Document); !errors.Is(err, context.Canceled) || v != nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("cancelled: %v, %v", v, err)
	}

	if v, err := m.Embed(t.Context(), nil, embed.Document); err != nil || len(v) != 0 {
		t.Errorf("no texts: %v, %v", v, err)
	}
}

// TestSlotsComeBack would block for ever if a cancelled call kept a slot.
func TestSlotsComeBack(t *testing.T) {
	t.Parallel()

	m := model()

	slots := make([]Pass, cap(m.free))
	for i := range slots {
		slots[i] = <-m.free
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)

	go func() {
		_, err := m.Embed(ctx, []string{"waits for a slot"}, embed.Document)
		done <- err
	}()
	cancel()

	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Embed = %v while all slots are taken", err)
	}

	for _, s := range slots {
		m.free <- s
	}

	if _, err := m.Embed(t.Context(), []string{"now", "they", "are", "free"}, embed.Document); err != nil {
		t.Error(err)
	}
}

// A question is answered while documents have taken all that they may.
func TestQuestionsPassDocuments(t *testing.T) {
	t.Parallel()

	m := model()

	for range cap(m.backlog) {
		m.backlog <- struct{}{}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := m.Embed(ctx, []string{"a document waits"}, embed.Document); !errors.Is(err, context.Canceled) {
		t.Errorf("control: a document was embedded: %v", err)
	}

	v, err := m.Embed(t.Context(), []string{"a question does not"}, embed.Query)
	if err != nil || len(v[0]) != 26 {
		t.Errorf("a question: %v", err)
	}

	if cap(m.backlog) >= cap(m.free) && cap(m.free) > 1 {
		t.Errorf("documents may take %d of %d slots", cap(m.backlog), cap(m.free))
	}
}
