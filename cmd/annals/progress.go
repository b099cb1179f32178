package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar shows long work: a bar on a terminal, a plain line now and then in a
// pipe, nothing beside JSON. A nil bar shows nothing.
type bar struct {
	live *progressbar.ProgressBar
	t    terminal
	what string
	done int
	next time.Time
}

const plainEvery = 5 * time.Second

func newBar(t terminal, quiet bool, what string) *bar {
	if quiet {
		return nil
	}
	b := &bar{t: t, what: what, next: time.Now().Add(plainEvery)}
	if f, ok := t.err.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.live = progressbar.NewOptions(-1, progressbar.OptionSetDescription(what),
				progressbar.OptionSetWriter(f), progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
		}
	}
	return b
}

func (b *bar) add(n int) { // a failed progress line is no failure of the work
	if b == nil {
		return
	}
	b.done += n
	if b.live != nil {
		_ = b.live.Add(n)
		return
	}
	if now := time.Now(); now.After(b.next) {
		b.next = now.Add(plainEvery)
		_, _ = fmt.Fprintf(b.t.err, "%s: %d\n", b.what, b.done)
	}
}

// set tells how far the work is.
func (b *bar) set(what string, done, total int) {
	if b == nil {
		return
	}
	if b.live != nil {
		if total > 0 && b.live.GetMax() != total {
			b.live.ChangeMax(total)
		}
		b.live.Describe(what)
		_ = b.live.Set(done)
		return
	}
	if now := time.Now(); now.After(b.next) {
		b.next = now.Add(plainEvery)
		_, _ = fmt.Fprintf(b.t.err, "%s: %d of %d\n", what, done, total)
	}
}

func (b *bar) finish() {
	if b != nil && b.live != nil {
		_ = b.live.Finish()
	}
}

// indented sets every write in.
type indented struct{ w io.Writer }

func (i indented) Write(p []byte) (int, error) {
	if _, err := i.w.Write(append([]byte("   "), p...)); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	return len(p), nil
}
