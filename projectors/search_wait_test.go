package projectors

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// TestIndexWait has the search index fail in every way that is its server's own affair: the view waits and says so, and goes on
// when it does what it is asked. What is not there is lost, and what is ours is returned.
func TestIndexWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &indexWait{log: slog.New(slog.DiscardHandler)}
		answer := make(chan error)
		ask := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() { done <- w.persist(ctx, func() error { return <-answer }) }()
			synctest.Wait()
			return done
		}
		refused := func(c codes.Code) error { return &qdrantindex.CallError{Code: c} }
		state := func(asking bool, trouble error) {
			t.Helper()
			synctest.Wait()
			want := ""
			if trouble != nil {
				want = trouble.Error()
			}
			if a, got := w.state(); a != asking || got != want {
				t.Errorf("asking %t, %q; want %t, %q", a, got, asking, want)
			}
		}
		for _, fault := range []error{
			qdrantindex.ErrUnavailable, qdrantindex.ErrNotCompleted, refused(codes.Internal), refused(codes.Unknown),
			refused(codes.ResourceExhausted), refused(codes.Unauthenticated), refused(codes.InvalidArgument),
		} {
			done := ask(t.Context())
			state(true, nil)
			for range 3 {
				answer <- fault
				state(true, fault)
				<-time.After(indexPause)
			}
			answer <- nil
			if err := <-done; err != nil {
				t.Errorf("%v, after %v is over", err, fault)
			}
			state(false, nil)
		}
		for _, fault := range []error{refused(codes.NotFound), qdrantindex.ErrSchema, index.ErrCorrupt} {
			done := ask(t.Context())
			answer <- fault
			if err := <-done; !errors.Is(err, errIndexLost) || !errors.Is(err, fault) {
				t.Errorf("%v for %v", err, fault)
			}
		}
		done := ask(t.Context())
		answer <- index.ErrVectorDim
		if err := <-done; !errors.Is(err, index.ErrVectorDim) || errors.Is(err, errIndexLost) {
			t.Errorf("%v for a vector that does not fit", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done = ask(ctx)
		answer <- qdrantindex.ErrUnavailable
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v after the end", err)
		}
	})
}
