package natslog_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// messages are all messages of a log, position by position.
func messages(t *testing.T, l *natslog.Log) map[uint64]events.Message {
	t.Helper()
	state, err := l.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]events.Message{}
	for p := uint64(1); p <= state.Last; p++ {
		m, err := l.MessageAt(t.Context(), p)
		if errors.Is(err, events.ErrNoCommits) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all[p] = m
	}
	return all
}

func fillWith(ctx context.Context, l *natslog.Log, prefix string, n int) error {
	for i := range n {
		if _, err := l.Append(ctx, eventstest.Episode(prefix+strconv.Itoa(i)), events.ExpectNew); err != nil {
			return err
		}
	}
	return nil
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	from := fresh(t, natslog.DurabilityProcess)
	snapshots(t, from)
}

func TestSnapshotReplicated(t *testing.T) {
	t.Parallel()
	c := startCluster(t, natslog.DurabilityProcess)
	snapshots(t, c.open(t, 1))
}

// snapshots takes snapshots of all parts while the log is written, with holes in
// the middle and at the end, and puts them back on another server.
func snapshots(t *testing.T, from *natslog.Streams) {
	t.Helper()
	ctx := t.Context()
	const first = 60
	if err := fillWith(ctx, from.Log(), "e", first); err != nil {
		t.Fatal(err)
	}
	if err := from.Eraser().SecureDelete(ctx, 1, 7, 8, first); err != nil {
		t.Fatal(err)
	}
	want := messages(t, from.Log())
	if err := from.Keys().Create(ctx, seal.Row{Key: "k3.t.a", Value: []byte("one")}, seal.Row{Key: "k3.t.b", Value: []byte("two")}); err != nil {
		t.Fatal(err)
	}
	if err := from.Keys().Destroy(ctx, "k3.t.b"); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Ledger().Append(ctx, "tree", []byte("record"), events.ExpectNew); err != nil {
		t.Fatal(err)
	}
	traffic := make(chan error, 1)
	go func() { traffic <- fillWith(ctx, from.Log(), "later", 40) }()
	taken := map[string][]byte{}
	states := map[string]events.State{}
	for _, part := range []string{natslog.PartData, natslog.PartKeys, natslog.PartLedger} {
		var b bytes.Buffer
		state, err := from.Snapshot(ctx, part, &b)
		if err != nil {
			t.Fatal(err)
		}
		taken[part], states[part] = b.Bytes(), state
	}
	if err := <-traffic; err != nil {
		t.Fatal(err)
	}

	_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
	for part, b := range taken {
		if err := natslog.Restore(ctx, nc, natslog.Config{}, part, bytes.NewReader(b)); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
	}
	if err := natslog.Restore(ctx, nc, natslog.Config{}, natslog.PartData, bytes.NewReader(taken[natslog.PartData])); !errors.Is(err, natslog.ErrStreamSettings) {
		t.Errorf("over a log that is there: %v", err)
	}
	to, err := natslog.Open(ctx, nc, natslog.Config{CreateStreams: true})
	if err != nil {
		t.Fatal(err)
	}
	state, err := to.Log().State(ctx)
	if err != nil || state.Last != states[natslog.PartData].Last || state.Last < first || state.Identity == states[natslog.PartData].Identity {
		t.Errorf("put back is %+v, taken was %+v, %v", state, states[natslog.PartData], err)
	}
	got := messages(t, to.Log())
	for p := range got {
		if p > first {
			want[p], err = from.Log().MessageAt(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if row, err := to.Keys().Get(ctx, "k3.t.a"); err != nil || string(row.Value) != "one" || row.Revision != 1 {
		t.Errorf("row %v, %v", row, err)
	}
	if _, err := to.Keys().Get(ctx, "k3.t.b"); !errors.Is(err, seal.ErrNoRow) {
		t.Errorf("a destroyed row: %v", err)
	}
	for m, err := range to.Ledger().Read(ctx, "", 0) {
		if err != nil || string(m.Data) != "record" {
			t.Errorf("record %q, %v", m.Data, err)
		}
	}
	// It goes on where it was, and knows the last commit of an aggregate.
	ack, err := to.Log().Append(ctx, eventstest.Episode("e20"), events.ExpectNew)
	if err != nil || !ack.Duplicate {
		t.Errorf("a commit that is there: %+v, %v", ack, err)
	}
	ack, err = to.Log().Append(ctx, eventstest.Episode("new"), events.ExpectNew)
	if err != nil || ack.Position != state.Last+1 {
		t.Errorf("the next commit is at %d after %d, %v", ack.Position, state.Last, err)
	}
}

func TestSnapshotCutOff(t *testing.T) {
	t.Parallel()
	from := fresh(t, natslog.DurabilityProcess)
	if err := fillWith(t.Context(), from.Log(), "e", 20); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := from.Snapshot(t.Context(), natslog.PartData, &b); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 5, b.Len() / 2, b.Len() - 1} {
		_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
		if err := natslog.Restore(t.Context(), nc, natslog.Config{}, natslog.PartData, bytes.NewReader(b.Bytes()[:n])); !errors.Is(err, natslog.ErrIncomplete) {
			t.Errorf("%d of %d bytes: %v", n, b.Len(), err)
		}
	}
	if _, err := from.Snapshot(t.Context(), "quarantine", &b); !errors.Is(err, events.ErrBadToken) {
		t.Errorf("of what is no part: %v", err)
	}
}
