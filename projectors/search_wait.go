package projectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// errIndexLost says that the search index outside is not there any more, or not as it was written. It is built anew.
var errIndexLost = errors.New("projectors: search index is lost")

// indexPause is how long a view waits before it asks a search index outside again that has just failed, beside what the
// client waits between its own attempts.
const indexPause = 500 * time.Millisecond

// indexWait is what a view has to do with a search index outside right now.
type indexWait struct {
	log *slog.Logger

	mu sync.Mutex
	// asking counts the requests under way.
	asking int
	// trouble is why the last one failed, "" if it did not.
	trouble string
	// lost is set while the index is built anew, because it is lost.
	lost bool
}

// persist tries something until the server has done it: a view that cannot write waits, as it does for the log, and says so. What
// is wrong with the server is for its operator to mend, be it that it is down, is full or refuses us; the log goes on meanwhile.
// An index that is not there any more, or not as it was, is errIndexLost.
func (w *indexWait) persist(ctx context.Context, do func() error) error {
	w.ask(1)
	defer w.ask(-1)
	for {
		err := do()
		if lost(err) {
			return fmt.Errorf("%w: %w", errIndexLost, err)
		}
		if !fails(err) {
			w.note("")
			return err
		}
		w.note(err.Error())
		t := time.NewTimer(indexPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("wait for search index: %w", ctx.Err())
		}
	}
}

// lost reports whether an error says that what was written is not there.
func lost(err error) bool {
	refused, is := errors.AsType[*qdrantindex.CallError](err)
	return (is && refused.Gone()) || errors.Is(err, qdrantindex.ErrSchema) || errors.Is(err, index.ErrCorrupt)
}

// fails reports whether an error is the server's.
func fails(err error) bool {
	_, refused := errors.AsType[*qdrantindex.CallError](err)
	return refused || errors.Is(err, qdrantindex.ErrUnavailable) || errors.Is(err, qdrantindex.ErrNotCompleted)
}

func (w *indexWait) ask(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking += n
}

// note keeps why the server does not do what it is asked. The reason has no words of the server.
func (w *indexWait) note(trouble string) {
	w.mu.Lock()
	was := w.trouble
	w.trouble = trouble
	w.mu.Unlock()
	switch {
	case was == trouble:
	case trouble == "":
		w.log.Info("search index answers again")
	default:
		w.log.Warn("search index is waited for", slog.String("reason", trouble))
	}
}

// setLost says whether the index is lost.
func (w *indexWait) setLost(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = is
}

func (w *indexWait) isLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// state is whether a request is under way, and what is wrong with the index, "" for nothing.
func (w *indexWait) state() (asking bool, trouble string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble == "" && w.lost {
		return w.asking > 0, "it was lost and is built anew"
	}
	return w.asking > 0, w.trouble
}

// Waiting says which views have asked a search index outside for something that is not done yet, and what is wrong with it if
// that is known; "" if none has. A view that gets no further meanwhile does not wait for the log.
func (v *Views) Waiting() string {
	for _, l := range v.lanes {
		asking, trouble := l.waits.state()
		switch {
		case trouble != "":
			return "search index of " + l.spec.name + ": " + trouble
		case asking:
			return "search index of " + l.spec.name
		}
	}
	return ""
}
