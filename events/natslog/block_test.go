package natslog_test

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
)

// The blocks of the log, one of which is written anew for each deletion, are of half
// the size that they would have without the limit that is never reached.
func TestBlocksAreSmall(t *testing.T) {
	t.Parallel()
	const half = 4 << 20
	dir, streams, _ := inStore(t)
	content := make([]byte, 400<<10)
	for i := range 24 {
		c := events.Commit{
			ID: uuid.NewString(), Aggregate: events.Aggregate{Tenant: "t", Kind: events.KindEpisode, ID: strconv.Itoa(i)}, Time: time.Now(),
			Events: []events.Event{events.EpisodeCaptured{Subject: "s", Trust: events.TrustUser, OccurredAt: time.Now(), Content: content}},
		}
		if _, err := streams.Log().Append(t.Context(), c, events.ExpectNew); err != nil {
			t.Fatal(err)
		}
	}
	blocks := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.Contains(path, "EVENTS") || filepath.Ext(path) != ".blk" {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > half {
			t.Errorf("a block of %d bytes", info.Size())
		}
		blocks++
		return err
	})
	if err != nil || blocks < 2 {
		t.Errorf("control: %d blocks, %v", blocks, err)
	}
}

// A log that was made without that limit is taken as it is.
func TestLogWithoutLimit(t *testing.T) {
	t.Parallel()
	_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
	mustOpen(t, nc, natslog.Config{})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	before := stream.CachedInfo().Config
	if before.MaxMsgsPerSubject < 1<<40 {
		t.Errorf("a limit of %d could be reached", before.MaxMsgsPerSubject)
	}
	before.MaxMsgsPerSubject = -1
	if err := js.DeleteStream(t.Context(), "EVENTS"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if _, err := natslog.Open(t.Context(), nc, natslog.Config{}); err != nil {
		t.Error(err)
	}
}
