package producers_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/openai"
)

// pickyModel refuses batches that hold a word, and whatever it is told to.
type pickyModel struct {
	hashModel
	refuses string
	// all is how many calls fail first, whatever their texts.
	all int
	err error

	mu sync.Mutex
}

func (m *pickyModel) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all > 0 {
		m.all--
		return nil, m.err
	}
	if m.refuses != "" && strings.Contains(strings.Join(texts, " "), m.refuses) {
		return nil, m.err
	}
	return m.hashModel.Embed(ctx, texts, kind)
}

// A text that the model refuses for good costs nobody but itself its vector; a
// model that takes no text is asked until it does; a network that fails is no
// refusal.
func TestEmbedderOnRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model   *pickyModel
		vectors int
		skips   int
	}{
		"one text": {&pickyModel{refuses: "kanarienvogel", err: &openai.StatusError{Code: 400}}, 6, 1},
		"a batch that is too large": {
			&pickyModel{refuses: "text 2 text 3", err: &openai.StatusError{Code: 413}}, 7, 0,
		},
		"a wrong credential":    {&pickyModel{all: 40, err: &openai.StatusError{Code: 401}}, 7, 0},
		"a busy server":         {&pickyModel{all: 10, err: &openai.StatusError{Code: 503}}, 7, 0},
		"nothing is refused":    {&pickyModel{}, 7, 0},
		"the network gives out": {&pickyModel{all: 10, err: &url.Error{Op: "Post", Err: errors.New("refused")}}, 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t).open(t)
			list := items(6)
			last := ""
			for _, r := range list[:3] {
				f.capture(r.Subject, r.Text)
			}
			bad := f.capture("maria", "kanarienvogel")
			for _, r := range list[3:] {
				last = f.capture(r.Subject, r.Text)
			}
			tt.model.batch = 64
			log := f.embedding(t, tt.model, newMemCheckpoint(), f.last(events.KindEpisode, last).Position)
			got := f.vectors(t)
			if len(got) != tt.vectors || len(got[bad]) != 1-tt.skips {
				t.Errorf("%d records with vectors, want %d; the bad one has %d", len(got), tt.vectors, len(got[bad]))
			}
			if n := strings.Count(log, "embedder skips a record"); n != tt.skips || strings.Contains(log, "kanarienvogel") {
				t.Errorf("%d skips, want %d: %s", n, tt.skips, log)
			}
		})
	}
}

// damagingModel damages the key row of a record while its text is embedded.
type damagingModel struct {
	hashModel
	damage func()
}

func (m *damagingModel) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	m.damage()
	return m.hashModel.Embed(ctx, texts, kind)
}

// A record whose key cannot seal any more is skipped like one that cannot be
// opened.
func TestEmbedderOnADamagedKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	bad := f.capture("maria", "hello")
	good := f.capture("maria", "there")
	key := "k3." + f.tenant().Token() + "." + bad
	var once sync.Once
	model := &damagingModel{hashModel: hashModel{batch: 2}, damage: func() {
		once.Do(func() {
			row, err := f.rows.Get(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			value := append([]byte{}, row.Value...)
			value[len(value)-1] ^= 1
			row.Value = value
			if _, err := f.rows.Put(t.Context(), row); err != nil {
				t.Error(err)
			}
		})
	}}
	log := f.embedding(t, model, newMemCheckpoint(), f.last(events.KindEpisode, good).Position)
	if got := f.vectors(t); len(got[bad]) != 0 || len(got[good]) != 1 {
		t.Errorf("%d and %d vectors", len(got[bad]), len(got[good]))
	}
	if strings.Count(log, "embedder skips a record") != 1 {
		t.Errorf("log %s", log)
	}
}
