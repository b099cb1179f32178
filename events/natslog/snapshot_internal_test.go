package natslog

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestSnapshotPieces sends pieces as the server does. One that is lost on the way
// must not go unnoticed: the rest would be signed as a backup.
func TestSnapshotPieces(t *testing.T) {
	t.Parallel()
	server, err := StartServer(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "log"), Durability: DurabilityProcess})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	nc, err := server.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	const piece = "some bytes"
	for name, c := range map[string]struct {
		pieces []string // the end of what each is answered to, "" for the last one
		whole  bool
	}{
		"all of them":       {[]string{".10.1", ".10.2", ".10.3", ""}, true},
		"none behind":       {[]string{".10.1", ".10.2"}, true},
		"the first is lost": {[]string{".10.2", ".10.3", ""}, false},
		"one is lost":       {[]string{".10.1", ".10.3", ""}, false},
		"one came twice":    {[]string{".10.1", ".10.1", ".10.2"}, false},
		"one was cut off":   {[]string{".10.1", ".11.2", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := nats.NewInbox()
			chunks, err := nc.SubscribeSync(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, end := range c.pieces {
				m := &nats.Msg{Subject: in, Data: []byte(piece)}
				if end != "" {
					m.Reply = "ack" + end
				}
				if err := nc.PublishMsg(m); err != nil {
					t.Fatal(err)
				}
			}
			if err := nc.PublishMsg(&nats.Msg{Subject: in, Header: nats.Header{"Status": {"204"}}}); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			err = copyChunks(t.Context(), chunks, &got)
			if c.whole && (err != nil || got.Len() != len(c.pieces)*len(piece)) {
				t.Fatalf("%d bytes, %v", got.Len(), err)
			}
			if !c.whole && !errors.Is(err, ErrIncomplete) {
				t.Fatalf("%d bytes, %v, want ErrIncomplete", got.Len(), err)
			}
		})
	}
}

// reconnecting loses its connection while it writes.
type reconnecting struct {
	nc   *nats.Conn
	once bool
}

// Write implements io.Writer.
func (r *reconnecting) Write(b []byte) (int, error) {
	if !r.once {
		r.once = true
		if err := r.nc.ForceReconnect(); err != nil {
			return 0, fmt.Errorf("reconnect: %w", err)
		}
		if err := r.nc.Flush(); err != nil {
			return 0, fmt.Errorf("reconnect: %w", err)
		}
	}
	return len(b), nil
}

// TestSnapshotReconnected: of what came while there was no connection nobody
// knows.
func TestSnapshotReconnected(t *testing.T) {
	t.Parallel()
	server, err := StartServer(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "log"), Durability: DurabilityProcess})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	nc, err := server.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	streams, err := Open(t.Context(), nc, Config{CreateStreams: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streams.Snapshot(t.Context(), PartLedger, &reconnecting{nc: nc}); err == nil {
		t.Fatal("a snapshot is whole although its connection was lost")
	}
	if _, err := streams.Snapshot(t.Context(), PartLedger, &bytes.Buffer{}); err != nil {
		t.Fatalf("the next one: %v", err)
	}
}
