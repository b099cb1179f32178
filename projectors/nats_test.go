package projectors

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// TestOnNATS folds a history from the real log, with a restart and a replay in it, into views that are equal to those from
// the reference log but for the times of record.
func TestOnNATS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	populate(t, w)
	w.forgetSubject(t, "acme", "cleo")
	log := serve(t)
	messages := make([]events.Message, w.head)
	for i := range messages {
		var err error
		if messages[i], err = w.log.MessageAt(t.Context(), uint64(i)+1); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, log, messages)
	cfg := w.config(vfs.Default)
	cfg.Dir, cfg.Log = t.TempDir(), log
	v := start(t, cfg)
	v.waitFor(t, w.head)
	v.close(t)
	v = start(t, cfg)
	defer v.close(t)
	v.waitFor(t, w.head)
	for _, name := range []string{Facts, Memories, Traces} {
		if res, err := v.Replay(t.Context(), name, nil); err != nil || res.Position != w.head {
			t.Errorf("replay: %+v %v", res, err)
		}
		if res, err := v.Verify(t.Context(), name, nil); err != nil || !res.OK {
			t.Errorf("verify: %+v %v", res, err)
		}
	}
	reference := start(t, w.config(vfs.NewMem()))
	defer reference.close(t)
	reference.waitFor(t, w.head)
	for _, st := range reference.Status(t.Context()) {
		got := statusOf(t, v.Views, st.Projection)
		if got.Records != st.Records || !got.Healthy || got.Lag != 0 {
			t.Errorf("%s: %+v, want %d records", st.Projection, got, st.Records)
		}
	}
	p := w.capture(t, "acme", "anna", "live")
	if ack, err := log.Append(t.Context(), events.Commit{
		ID: "live-1", Aggregate: events.Aggregate{Tenant: w.tenant(t, "acme").Token(), Kind: events.KindEpisode, ID: p.id},
		Time: epoch(), Events: []events.Event{p.event},
	}, events.ExpectNew); err != nil {
		t.Fatal(err)
	} else {
		v.waitFor(t, ack.Position)
	}
	with(t, v.Views, func(s *Snapshot) {
		if row, err := s.Episode(w.tenant(t, "acme").Token(), p.id); err != nil || row.Forgotten {
			t.Errorf("what was appended live: %v", err)
		}
	})
}
