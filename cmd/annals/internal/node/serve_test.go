package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events/natslog"
)

// TestNoReadBeforeTheViewsHaveCaughtUp holds that a server which starts on views that are behind the log refuses reads
// until they are not: what was acknowledged before the start is in the first answer.
func TestNoReadBeforeTheViewsHaveCaughtUp(t *testing.T) {
	t.Parallel()
	f := open(t)
	// Nothing is folded while the node is closed, and nothing embedded: the views of the next one begin far behind.
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	f.stop = func() error { return nil }
	const batch = 1_000
	for range 3 {
		items := make([]obj, batch)
		for i := range items {
			items[i] = obj{"subject": "maria", "text": fmt.Sprintf("entry %d", i), "source": obj{"kind": "chat", "ref": "r"}}
		}
		f.do(f.LocalToken(), http.MethodPost, "/v1/episodes/batch", obj{"items": items}, http.StatusOK)
	}
	head := f.head()
	f.close()

	n, err := node.Open(t.Context(), node.Options{Data: f.dir, Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	accepting, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- n.Serve(ctx, l, func() { close(accepting) }) }()

	refused := 0
	for {
		status, body := read(ctx, t, l.Addr().String(), n.LocalToken())
		if status == http.StatusOK {
			var got struct {
				Position uint64 `json:"position"`
			}
			if err := json.Unmarshal(body, &got); err != nil || got.Position < head {
				t.Errorf("answered at %d of %d: %v", got.Position, head, err)
			}
			break
		}
		if status != http.StatusServiceUnavailable {
			t.Fatalf("%d: %s", status, body)
		}
		refused++
	}
	if refused == 0 {
		t.Error("the views were never behind")
	}
	<-accepting
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func read(ctx context.Context, t *testing.T, addr, token string) (status int, body []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v1/episodes?subject=maria&limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was only read.
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

// TestWaitingEndsWithTheNode holds that nobody waits for views that nothing folds any more.
func TestWaitingEndsWithTheNode(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.settle() // it can be waited for while it runs
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	f.stop = func() error { return nil }
	f.capture(f.LocalToken(), "maria", "nobody folds this")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, wait := range map[string]func(context.Context) error{"settle": f.Settle, "catch up": f.CatchUp} {
		if err := wait(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOneDirectoryOneLog holds that a directory which was used with an external log is not opened with one inside, nor the
// other way round: what was written there would be in a history that nobody looks for.
func TestOneDirectoryOneLog(t *testing.T) {
	t.Parallel()
	server, err := natslog.StartServer(t.Context(), natslog.Options{
		Dir: t.TempDir(), Durability: natslog.DurabilityProcess, Listen: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	for first, second := range map[string]string{server.URL(): "", "": server.URL()} {
		dir := t.TempDir()
		for _, use := range []struct {
			nats string
			want error
		}{{first, nil}, {second, node.ErrOtherLog}, {first, nil}} {
			n, err := node.Open(t.Context(), node.Options{Data: dir, Durability: "process", NATS: use.nats})
			if !errors.Is(err, use.want) {
				t.Fatalf("first with %q, then with %q: %v", first, use.nats, err)
			}
			if err != nil {
				continue
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
