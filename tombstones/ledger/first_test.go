package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/tombstones/ledger"
)

var errCutOff = errors.New("the process ended")

// cutKeys answer once, and the process ends when they are asked again.
type cutKeys struct {
	*natslog.Keys

	asked int
}

func (k *cutKeys) State(ctx context.Context) (events.State, error) {
	if k.asked++; k.asked > 1 {
		return events.State{}, errCutOff
	}
	return k.Keys.State(ctx)
}

// TestFirstStartCutOff ends a first start beside a log that has messages, and on a
// ledger that others write, between its files. The next one goes on.
func TestFirstStartCutOff(t *testing.T) {
	t.Parallel()
	for name, join := range map[string]bool{"an older log": false, "a log of others": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mustOpenLog(t, t.TempDir())
			w.capture(t, 3)
			if join {
				checkpoint(t, w.mustOpen(t))
			}
			c := w.config()
			c.Dir, c.Join = t.TempDir(), join
			cut := c
			cut.Keys = &cutKeys{Keys: w.streams.Keys()}
			if _, err := ledger.Open(t.Context(), cut, nil); !errors.Is(err, errCutOff) {
				t.Fatalf("cut off before the anchor: %v", err)
			}
			l, err := ledger.Open(t.Context(), c, nil)
			if err != nil {
				t.Fatalf("after a first start that was cut off: %v", err)
			}
			checkpoint(t, l)
			// The anchor is in place, and the key not yet.
			key, next := filepath.Join(c.Dir, "ledger.key"), filepath.Join(c.Dir, "ledger.key.new")
			if err := os.Rename(key, next); err != nil {
				t.Fatal(err)
			}
			if _, err := ledger.Open(t.Context(), c, nil); err != nil {
				t.Fatalf("after a first start that was cut off behind the anchor: %v", err)
			}
			if _, err := os.Stat(next); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the key has its former name still: %v", err)
			}
			// The controls: a key that did not sign the anchor is none, and without an
			// anchor a key in place is damage.
			other := t.TempDir()
			o := mustOpenLog(t, other)
			o.mustOpen(t)
			foreign, err := os.ReadFile(filepath.Join(other, "ledger.key"))
			if err != nil {
				t.Fatal(err)
			}
			own, err := os.ReadFile(key)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Remove(key), os.WriteFile(next, foreign, 0o600)); err != nil {
				t.Fatal(err)
			}
			wantKind(t, c, ledger.KindKeyMissing)
			if err := errors.Join(os.Remove(next), os.WriteFile(key, own, 0o600), os.Remove(filepath.Join(c.Dir, "anchor"))); err != nil {
				t.Fatal(err)
			}
			wantKind(t, c, ledger.KindAnchorMissing)
		})
	}
}

func wantKind(t *testing.T, c ledger.Config, want ledger.Kind) {
	t.Helper()
	_, err := ledger.Open(t.Context(), c, nil)
	if d, is := ledger.AsDamage(err); !is || d.Kind != want {
		t.Fatalf("opened with %v, want %s", err, want)
	}
}

// TestPublicKeyLost: a key without its public half is not replaced.
func TestPublicKeyLost(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	w.mustOpen(t)
	key, err := os.ReadFile(filepath.Join(w.dir, "ledger.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(w.dir, "ledger.pub")), os.Remove(filepath.Join(w.dir, "anchor"))); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(t.Context(), w.config(), nil); !errors.Is(err, ledger.ErrBadKey) {
		t.Fatalf("without the public key: %v, want ErrBadKey", err)
	}
	if now, err := os.ReadFile(filepath.Join(w.dir, "ledger.key")); err != nil || string(now) != string(key) {
		t.Fatalf("the key was replaced, %v", err)
	}
}
