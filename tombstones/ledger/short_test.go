package ledger_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// shortLog tells of fewer messages than there are, as often as it is told to: once
// is a replica that has yet to catch up, always is a log that was set back.
type shortLog struct {
	*natslog.Log

	left atomic.Int64
}

func (l *shortLog) State(ctx context.Context) (events.State, error) {
	state, err := l.Log.State(ctx)
	if l.left.Add(-1) >= 0 {
		state.Last--
	}
	return state, err
}

// TestSetBack sets a log back while its ledger is open. The positions that it lost
// are taken by other messages next, so that it must not go unnoticed until then.
func TestSetBack(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, *ledger.Ledger) error{
		"a checkpoint": func(ctx context.Context, l *ledger.Ledger) error { return l.Checkpoint(ctx) },
		"the scribe":   func(ctx context.Context, l *ledger.Ledger) error { return l.Run(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mustOpenLog(t, t.TempDir())
			w.capture(t, 5)
			log := &shortLog{Log: w.streams.Log()}
			c := w.config()
			c.Log, c.Patience = log, 300*time.Millisecond
			l, err := ledger.Open(t.Context(), c, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkpoint(t, l)
			log.left.Store(1)
			checkpoint(t, l)
			log.left.Store(1 << 40)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			wantDamage(t, run(ctx, l), ledger.KindLogShort)
		})
	}
}
