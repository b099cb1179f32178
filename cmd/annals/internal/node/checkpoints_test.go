package node_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// A checkpoint does not wait for its second once a thousand messages are new.
func TestCheckpointOfAThousand(t *testing.T) { //nolint:paralleltest // See inBubble.
	inBubble(t, false, func(f *fixture) {
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.Ledger().Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				f.t.Error(err)
			}
		}()
		token := f.token("acme")
		covered := func() bool { return f.Ledger().Covered() >= f.head() }
		tell := func(n int) {
			items := make([]obj, n)
			for i := range items {
				items[i] = obj{"subject": "maria", "text": "Note " + strconv.Itoa(i), "source": obj{"kind": "chat", "ref": "r"}}
			}
			f.do(token, http.MethodPost, "/v1/episodes/batch", obj{"items": items}, http.StatusOK)
		}
		const step = 50 * time.Millisecond
		rest := func() { // until a checkpoint has just been made
			for i := 0; !covered(); i++ {
				if pass(step); i > 100 {
					f.t.Fatal("there is no checkpoint")
				}
			}
		}
		tell(1)
		rest()
		tell(10)
		if pass(600 * time.Millisecond); covered() {
			f.t.Error("control: ten messages do not wait for the second")
		}
		rest()
		tell(1_000)
		if pass(600 * time.Millisecond); !covered() {
			f.t.Errorf("a thousand new messages wait: %d of %d are covered", f.Ledger().Covered(), f.head())
		}
	})
}
