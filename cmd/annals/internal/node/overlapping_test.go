package node_test

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

// meeting is a log of which two passes read each tombstone at the same time: whoever
// comes first waits for the other.
type meeting struct {
	tombstones.Log

	mu   sync.Mutex
	came map[uint64]chan struct{}
	met  int
}

func (m *meeting) meet(ctx context.Context, position uint64) {
	m.mu.Lock()
	other, there := m.came[position]
	if there {
		m.met++
		close(other)
	} else {
		other = make(chan struct{})
		m.came[position] = other
	}
	m.mu.Unlock()
	select {
	case <-other:
	case <-ctx.Done():
	}
}

// Follow implements [tombstones.Log].
func (m *meeting) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for msg, err := range m.Log.Follow(ctx, after) {
			if err == nil && msg.Header.Has(map[string]bool{events.TypeEpisodeForgotten: true, events.TypeSubjectForgotten: true}) {
				m.meet(ctx, msg.Position)
			}
			if !yield(msg, err) {
				return
			}
		}
	}
}

// What prepares a rotation of the root right after a start reads the log while the pass
// that finishes what was cut off reads it too. Both take each tombstone on at the same
// time, each erasure gets to its end once, and the neighbours stay. What its account
// says to be shredded only after the preparation waits for the next rotation.
func TestRotationOverlapsTheFirstPass(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	var gone []string
	for _, text := range []string{"She swims.", "She sails.", "She paints."} {
		gone = append(gone, f.capture(token, "maria", text))
	}
	f.capture(token, "pedro", "He lives in Lagos.")
	kept := map[string]string{
		f.capture(token, "maria", "She lives in Porto."): "Porto", f.capture(token, "jonas", "He plays chess."): "chess",
	}
	f.settle()
	// What is cut off has its tombstones and its keys.
	cut, err := f.EraserWith(otherKeys(f, &failingRows{Rows: f.keyRows(), fail: true}))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range gone {
		if _, err := cut.ForgetRecord(t.Context(), asked("acme"), "", events.KindEpisode, id); err == nil {
			t.Fatal("control: it was not cut off")
		}
	}
	if _, err := cut.ForgetSubject(t.Context(), asked("acme"), "", "pedro", ""); err == nil {
		t.Fatal("control: it was not cut off")
	}
	log := &meeting{Log: f.Log(), came: map[uint64]chan struct{}{}}
	e, err := f.EraserOn(log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	if err := e.PrepareRoot(ctx); err != nil {
		t.Fatal(err)
	}
	if log.met != len(gone)+1 {
		t.Errorf("control: the passes met at %d tombstones", log.met)
	}
	rotate := func() {
		t.Helper()
		for _, step := range []func(context.Context) error{f.Keys().RotateRoot, f.Keys().FinishRoot} {
			if err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e.RootReplaced()
	}
	rotate()
	erasures := as[struct {
		Erasures []tombstones.Status `json:"erasures"`
	}](f.do(token, http.MethodGet, "/v1/erasures", nil, http.StatusOK)).Erasures
	if len(erasures) != len(gone)+1 {
		t.Errorf("there are %d erasures", len(erasures))
	}
	for _, s := range erasures {
		f.reaches(token, s.ErasureID, events.LevelPurged)
	}
	if err := e.PrepareRoot(ctx); err != nil {
		t.Fatal(err)
	}
	rotate()
	for _, s := range erasures {
		got := f.reaches(token, s.ErasureID, events.LevelBackupsDead)
		for _, store := range got.Stores {
			if store.Done != store.Planned || store.Failed > 0 {
				t.Errorf("store %+v", store)
			}
		}
		f.do(token, http.MethodGet, "/v1/erasures/"+s.ErasureID+"/receipt", nil, http.StatusOK)
	}
	for _, id := range gone {
		f.noKey("acme", id)
		f.do(token, http.MethodGet, "/v1/episodes/"+id, nil, http.StatusGone)
	}
	for id := range kept {
		f.do(token, http.MethodGet, "/v1/episodes/"+id, nil, http.StatusOK)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	f.settle()
	f.replaysAlike()
}
