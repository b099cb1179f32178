package producers_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
)

// start is what the clocks of the tests show.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// day is noon of a day of January 2026.
func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

func at(t time.Time) *events.Time {
	x := events.At(t)
	return &x
}

// store is everything that outlives a gateway.
type store struct {
	log        events.Log
	rows       seal.Rows
	quarantine producers.Quarantine
	root       seal.Root
}

// inMemory is the reference log with keys in memory.
func inMemory(tb testing.TB) store {
	tb.Helper()
	return store{
		log: memlog.New("test", start), rows: seal.NewMemRows(), root: newRoot(tb),
		quarantine: nodetest.NewQuarantine(start),
	}
}

// onNATS is an embedded server.
func onNATS(tb testing.TB) store {
	tb.Helper()
	srv, err := natslog.StartServer(tb.Context(), natslog.Options{Dir: tb.TempDir(), Durability: natslog.DurabilityProcess})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	nc, err := srv.Connect(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	s, err := natslog.Open(tb.Context(), nc, natslog.Config{CreateStreams: true})
	if err != nil {
		tb.Fatal(err)
	}
	return store{log: s.Log(), rows: s.Keys(), quarantine: s.Quarantine(), root: newRoot(tb)}
}

func stores() map[string]func(testing.TB) store {
	return map[string]func(testing.TB) store{"memory": inMemory, "nats": onNATS}
}

func newRoot(tb testing.TB) seal.Root {
	tb.Helper()
	root, err := seal.OpenFileRoot(tb.TempDir()+"/root", seal.FileRootOptions{Create: true})
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

// fixture is one gateway on a store, with keys of its own as another process
// has them.
type fixture struct {
	*producers.Gateway
	testing.TB
	store
	keys *seal.Keyring
}

func (s store) open(tb testing.TB) *fixture {
	tb.Helper()
	return s.openOn(tb, s.log, s.rows)
}

// openOn is a gateway that sees the store through a log and rows of its own.
func (s store) openOn(tb testing.TB, log producers.Log, rows seal.Rows) *fixture {
	tb.Helper()
	keys, err := seal.New(rows, s.root, seal.Options{Now: start})
	if err != nil {
		tb.Fatal(err)
	}
	f := &fixture{TB: tb, store: s, keys: keys}
	f.Gateway = f.gateway(func(c *producers.Config) { c.Log = log })
	return f
}

// gateway is another gateway of the same process, made differently.
func (f *fixture) gateway(change func(*producers.Config)) *producers.Gateway {
	f.Helper()
	c := producers.Config{Log: f.log, Keys: f.keys, Quarantine: f.quarantine, Now: start, NewID: newID}
	change(&c)
	g, err := producers.New(c)
	if err != nil {
		f.Fatal(err)
	}
	return g
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// user is an agent that speaks for a user of a tenant.
func user(tenant string) events.Caller {
	return events.Caller{Tenant: tenant, Principal: "bot", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustUser}
}

// warden decides on what waits in quarantine.
func warden(tenant string) events.Caller {
	return events.Caller{Tenant: tenant, Principal: "ada", Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser}
}

func withTrust(c events.Caller, t events.Trust) events.Caller {
	c.Trust = t
	return c
}

func episode(subject, text string) producers.CaptureRequest {
	return producers.CaptureRequest{Subject: subject, Text: text, Source: events.Source{Kind: "chat", Ref: "m1"}}
}

// claim is a proposal about maria's city, observed on a day.
func claim(value string, observed time.Time, sources ...string) producers.ProposeRequest {
	return producers.ProposeRequest{
		Subject: "maria", Predicate: "city", Value: jsontext.Value(value), Category: "profile",
		Confidence: new(1.0), ObservedAt: at(observed), SourceEpisodes: sources,
	}
}

func (f *fixture) capture(subject, text string) string {
	f.Helper()
	c, err := f.Capture(f.Context(), user("acme"), "", episode(subject, text))
	if err != nil {
		f.Fatal(err)
	}
	return c.ID
}

func (f *fixture) propose(r producers.ProposeRequest) producers.Proposed {
	f.Helper()
	p, err := f.Propose(f.Context(), user("acme"), "", r)
	if err != nil {
		f.Fatal(err)
	}
	return p
}

func (f *fixture) tenant() *seal.Tenant {
	f.Helper()
	t, err := f.keys.Tenant(f.Context(), "acme", true)
	if err != nil {
		f.Fatal(err)
	}
	return t
}

// slot folds maria's city from the log.
func (f *fixture) slot() *events.Slot {
	f.Helper()
	return f.slotOf("maria", "city")
}

func (f *fixture) slotOf(subject, predicate string) *events.Slot {
	f.Helper()
	return f.slotScoped(subject, predicate, "")
}

func (f *fixture) slotScoped(subject, predicate, scope string) *events.Slot {
	f.Helper()
	t := f.tenant()
	sid, err := t.SubjectID(f.Context(), subject, true)
	if err != nil {
		f.Fatal(err)
	}
	a := events.Aggregate{Tenant: t.Token(), Kind: events.KindFact, ID: t.Hash("slot", sid+"\x00"+predicate+"\x00"+scope)}
	var s events.Slot
	for r, err := range f.log.ReadAggregate(f.Context(), a, 0) {
		if err != nil {
			f.Fatal(err)
		}
		s.Apply(r)
	}
	return &s
}

// value opens a fact's value.
func (f *fixture) value(s *events.SlotFact) string {
	f.Helper()
	plain, err := f.keys.Open(f.Context(), seal.Scope{Tenant: f.tenant().Token(), Subject: s.Subject, Class: s.Class},
		seal.Label{Aggregate: "fact", Record: s.Fact, EventType: events.TypeFactProposed}, s.Content)
	if err != nil {
		f.Fatal(err)
	}
	var c events.FactContent
	if err := json.Unmarshal(plain, &c); err != nil {
		f.Fatal(err)
	}
	return string(c.Value)
}

// valueAt is the value that is true at t, "" for none.
func (f *fixture) valueAt(t time.Time) string {
	f.Helper()
	fact := f.slot().At(t)
	if fact == nil {
		return ""
	}
	return f.value(fact)
}

// commits are all commits of an aggregate.
func (f *fixture) commits(a events.Aggregate) []events.Recorded {
	f.Helper()
	var list []events.Recorded
	for r, err := range f.log.ReadAggregate(f.Context(), a, 0) {
		if err != nil {
			f.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// last is the last commit of an aggregate of the tenant acme.
func (f *fixture) last(kind events.Kind, id string) events.Recorded {
	f.Helper()
	r, err := f.log.Last(f.Context(), events.Aggregate{Tenant: f.tenant().Token(), Kind: kind, ID: id})
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// messages is how many messages the log holds.
func (f *fixture) messages() uint64 {
	f.Helper()
	s, err := f.log.State(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return s.Messages
}

// forgetEpisode does what the saga does to one episode: tombstone, then key.
func (f *fixture) forgetEpisode(id string) {
	f.Helper()
	last := f.last(events.KindEpisode, id)
	e, ok := last.Events[0].(events.EpisodeCaptured)
	if !ok {
		f.Fatalf("not an episode: %T", last.Events[0])
	}
	f.append(last.Aggregate, last.Position, events.EpisodeForgotten{Subject: e.Subject, Erasure: newID()})
	if err := f.keys.DestroyRecord(f.Context(), last.Aggregate.Tenant, id); err != nil {
		f.Fatal(err)
	}
}

// loseSource does what the saga does to maria's city when an episode is
// forgotten: it takes it from the facts, and those that have no other go.
func (f *fixture) loseSource(id string) {
	f.Helper()
	slot := f.slot()
	list := slot.Losses(
		func(*events.SlotFact) bool { return true },
		func(src events.SourceRef) (string, bool) { return someID, src.Episode == id },
	)
	if len(list) == 0 {
		f.Fatal("no fact has the source")
	}
	f.append(f.last(events.KindFact, slotOfMaria(f)).Aggregate, slot.Position, list...)
}

// forgetSubject does what the saga does to a subject: tombstone, keys, name.
func (f *fixture) forgetSubject(name string) {
	f.Helper()
	sid := f.tombSubject(name)
	t := f.tenant()
	err := errors.Join(f.keys.DestroySubject(f.Context(), t.Token(), sid), t.DropSubject(f.Context(), sid, t.SubjectHash(name)))
	if err != nil {
		f.Fatal(err)
	}
}

// tombSubject is only the first step of it.
func (f *fixture) tombSubject(name string) (sid string) {
	f.Helper()
	sid, err := f.tenant().SubjectID(f.Context(), name, false)
	if err != nil {
		f.Fatal(err)
	}
	last := f.last(events.KindSubject, sid)
	f.append(last.Aggregate, last.Position, events.SubjectForgotten{Erasure: newID()})
	return sid
}

func (f *fixture) append(a events.Aggregate, after uint64, list ...events.Event) {
	f.Helper()
	_, err := f.log.Append(f.Context(), events.Commit{ID: newID(), Aggregate: a, Time: start(), Events: list}, events.Expect(after))
	if err != nil {
		f.Fatal(err)
	}
}

// wantInput checks an input error.
func wantInput(tb testing.TB, err error, kind events.InputKind, code, field string) {
	tb.Helper()
	in, ok := errors.AsType[*events.InputError](err)
	if !ok {
		tb.Fatalf("error %v, want an input error %s at %s", err, code, field)
	}
	if in.Kind != kind || in.Code != code || in.Field != field || in.Rule == "" {
		tb.Fatalf("input error %+v, want kind %d, %s at %s", *in, kind, code, field)
	}
}
