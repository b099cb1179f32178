package backup_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// memory is a log with its keys, its ledger and its writers.
type memory struct {
	*producers.Gateway

	t       *testing.T
	dir     string
	root    string
	streams *natslog.Streams
	// connect opens the streams of the server, restorePart puts one back.
	connect     func(context.Context) (*natslog.Streams, error)
	restorePart target
	keys        *seal.Keyring
	ledger      *ledger.Ledger
}

// must is a short name of what nearly every line says.
var must = nodetest.Must

// server is a fresh server on a directory of its own.
func server(t *testing.T) *memory {
	t.Helper()
	m := &memory{t: t, dir: t.TempDir(), root: filepath.Join(t.TempDir(), "root")}
	srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: filepath.Join(m.dir, "log"), Durability: natslog.DurabilityProcess})
	must(t, err)
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	conn, err := srv.Connect(t.Context())
	must(t, err)
	t.Cleanup(conn.Close)
	m.connect = func(ctx context.Context) (*natslog.Streams, error) {
		return natslog.Open(ctx, conn, natslog.Config{CreateStreams: true})
	}
	m.restorePart = func(ctx context.Context, part string, r io.Reader) error {
		return natslog.Restore(ctx, conn, natslog.Config{}, part, r)
	}
	return m
}

// fresh is a memory that is empty.
func fresh(t *testing.T) *memory {
	t.Helper()
	m := server(t)
	m.open(true)
	m.openLedger()
	return m
}

func (m *memory) open(newRoot bool) {
	m.t.Helper()
	var err error
	m.streams, err = m.connect(m.t.Context())
	must(m.t, err)
	root, err := seal.OpenFileRoot(m.root, seal.FileRootOptions{Create: newRoot})
	must(m.t, err)
	m.keys, err = seal.New(m.streams.Keys(), root, seal.Options{Now: time.Now})
	must(m.t, err)
	m.Gateway, err = producers.New(producers.Config{
		Log: m.streams.Log(), Keys: m.keys, Quarantine: m.streams.Quarantine(), Now: time.Now, NewID: nodetest.NewID,
	})
	must(m.t, err)
}

func (m *memory) config() ledger.Config {
	return ledger.Config{
		Log: m.streams.Log(), Keys: m.streams.Keys(), Store: m.streams.Ledger(), Dir: m.dir, Patience: 3 * time.Second, Rand: rand.Reader,
	}
}

// openLedger holds the log against the ledger, as the start of a node does.
func (m *memory) openLedger() {
	m.t.Helper()
	var err error
	m.ledger, err = ledger.Open(m.t.Context(), m.config(), nil)
	must(m.t, err)
}

// take writes an artefact into a file.
func (m *memory) take(kind backup.Kind) string {
	m.t.Helper()
	f, err := os.Create(filepath.Join(m.t.TempDir(), string(kind)))
	must(m.t, err)
	_, err = backup.Take(m.t.Context(), backup.Config{
		Source: m.streams, Log: m.streams.Log(), Ledger: m.ledger, Dir: m.dir, Now: time.Now,
	}, kind, f)
	must(m.t, errors.Join(err, f.Close()))
	return f.Name()
}

// target is an empty server to put parts back on.
type target func(ctx context.Context, part string, r io.Reader) error

func (put target) Restore(ctx context.Context, part string, r io.Reader) error {
	return put(ctx, part, r)
}

// restore puts artefacts back on a server of its own.
func (m *memory) restore(data, keys, records string) (*memory, backup.Report) {
	m.t.Helper()
	ctx := m.t.Context()
	plan, err := backup.NewPlan(backup.Inputs{Data: data, Keys: keys, Ledger: records})
	must(m.t, err)
	to := server(m.t)
	to.root = m.root
	for _, name := range []string{"ledger.key", "ledger.pub"} {
		b, err := os.ReadFile(filepath.Join(m.dir, name))
		must(m.t, err)
		must(m.t, os.WriteFile(filepath.Join(to.dir, name), b, 0o600))
	}
	must(m.t, plan.PutBack(ctx, to.restorePart))
	to.open(false)
	r, err := plan.Apply(ctx, backup.Restored{
		Log: to.streams.Log(), Keys: to.keys, Eraser: to.streams.Eraser(), Ledger: to.config(), Now: time.Now, NewID: nodetest.NewID,
	}, nil)
	must(m.t, err)
	to.openLedger()
	return to, r
}

func (m *memory) tell(subject, text string) string {
	m.t.Helper()
	c, err := m.Capture(m.t.Context(), nodetest.User("acme"), "", nodetest.Episode(subject, text))
	must(m.t, err)
	return c.ID
}

// fact proposes one and returns its id.
func (m *memory) fact(subject, predicate string, sources ...string) string {
	m.t.Helper()
	p, err := m.Propose(m.t.Context(), nodetest.User("acme"), "", nodetest.Fact(subject, predicate, `"value"`, nodetest.Day(1), sources...))
	must(m.t, err)
	if p.Decision != events.DecisionPromote {
		m.t.Fatalf("decision %s", p.Decision)
	}
	return p.FactID
}

func (m *memory) tenant() *seal.Tenant {
	m.t.Helper()
	tn, err := m.keys.Tenant(m.t.Context(), "acme", false)
	must(m.t, err)
	return tn
}

func (m *memory) subject(name string) string {
	m.t.Helper()
	sid, err := m.tenant().SubjectID(m.t.Context(), name, false)
	must(m.t, err)
	return sid
}

// last is the last commit of an episode, subject or slot.
func (m *memory) last(kind events.Kind, id string) events.Recorded {
	m.t.Helper()
	r, err := m.streams.Log().Last(m.t.Context(), events.Aggregate{Tenant: m.tenant().Token(), Kind: kind, ID: id})
	must(m.t, err)
	return r
}

func (m *memory) head() uint64 {
	m.t.Helper()
	s, err := m.streams.Log().State(m.t.Context())
	must(m.t, err)
	return s.Last
}

// slots folds every slot of the log.
func (m *memory) slots() map[string]*events.SlotFact {
	m.t.Helper()
	all := map[string]*events.SlotFact{}
	byID := map[string]*events.Slot{}
	for p := uint64(1); p <= m.head(); p++ {
		msg, err := m.streams.Log().MessageAt(m.t.Context(), p)
		if errors.Is(err, events.ErrNoCommits) {
			continue
		}
		must(m.t, err)
		r, err := events.Decode(msg)
		must(m.t, err)
		if r.Aggregate.Kind != events.KindFact {
			continue
		}
		if byID[r.Aggregate.ID] == nil {
			byID[r.Aggregate.ID] = &events.Slot{}
		}
		byID[r.Aggregate.ID].Apply(r)
	}
	for _, s := range byID {
		for _, f := range s.Facts {
			all[f.Fact] = f
		}
	}
	return all
}

// hasKey says whether a record's key is there.
func (m *memory) hasKey(id string) bool {
	m.t.Helper()
	_, err := m.keys.Record(m.t.Context(), m.tenant().Token(), id)
	if err != nil && !errors.Is(err, seal.ErrKeyDestroyed) {
		m.t.Fatal(err)
	}
	return err == nil
}
