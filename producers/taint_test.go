package producers_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/producers"
)

// recall records that a principal was answered with something of a trust.
func (f *fixture) recall(who events.Caller, lowest events.Trust) string {
	f.Helper()
	r := producers.Recall{Query: "q", Memories: []string{someID}, Lowest: lowest}
	if lowest == 0 {
		r.Memories = nil
	}
	id, _, err := f.RecordRecall(f.Context(), who, r)
	if err != nil {
		f.Fatal(err)
	}
	return id
}

func (f *fixture) captured(id string) events.EpisodeCaptured {
	f.Helper()
	e, ok := f.last(events.KindEpisode, id).Events[0].(events.EpisodeCaptured)
	if !ok {
		f.Fatal("not an episode")
	}
	return e
}

func (f *fixture) proposed(id string) *events.SlotFact {
	f.Helper()
	fact := f.slot().Find(id)
	if fact == nil {
		f.Fatal("no such candidate")
	}
	return fact
}

// What is made from recalled memories is trusted no more than they are, in the
// slot as in the log, and is not promoted where they would not be.
func TestTracesLowerTrust(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		e := f.capture("maria", "moved")
		tool, human := f.recall(user("acme"), events.TrustTool), f.recall(user("acme"), events.TrustHuman)
		nothing := f.recall(user("acme"), 0)
		theirs := f.recall(user("acme-corp"), events.TrustSystem)
		for name, tt := range map[string]struct {
			traces   []string
			origin   []events.Source
			trust    events.Trust
			recorded int
			capture  events.Trust
		}{
			"none named":       {nil, nil, events.TrustUser, 0, events.TrustUser},
			"there was none":   {[]string{}, nil, events.TrustUser, 0, events.TrustUser},
			"of a tool":        {[]string{tool}, nil, events.TrustTool, 1, events.TrustTool},
			"of a human":       {[]string{human}, nil, events.TrustUser, 1, events.TrustUser},
			"of both":          {[]string{human, tool}, nil, events.TrustTool, 2, events.TrustTool},
			"without answer":   {[]string{nothing}, nil, events.TrustUser, 1, events.TrustUser},
			"unknown":          {[]string{someID}, nil, events.TrustExternal, 1, events.TrustTool},
			"another tenant's": {[]string{theirs}, nil, events.TrustExternal, 1, events.TrustTool},
			"as a source":      {nil, []events.Source{{Kind: "trace", Ref: tool}}, events.TrustTool, 1, events.TrustTool},
			"in capitals":      {nil, []events.Source{{Kind: "Trace", Ref: tool}}, events.TrustTool, 1, events.TrustTool},
			"no id":            {nil, []events.Source{{Kind: "trace", Ref: "maria@example.org"}}, events.TrustExternal, 0, events.TrustTool},
			"twice":            {[]string{tool}, []events.Source{{Kind: "trace", Ref: tool}}, events.TrustTool, 1, events.TrustTool},
		} {
			r := claim(`"Rome"`, day(3), e)
			r.Scope, r.Traces, r.Provenance = name, tt.traces, tt.origin
			p := f.propose(r)
			slot := f.slotScoped("maria", "city", name)
			fact := slot.Find(p.CandidateID)
			if fact.Trust != tt.trust || len(fact.Traces) != tt.recorded {
				t.Errorf("%s: a fact of trust %s with %v", name, fact.Trust, fact.Traces)
			}
			if promoted := p.Decision == events.DecisionPromote; promoted != (tt.trust > events.TrustTool) {
				t.Errorf("%s: %s", name, p.Decision)
			}
			if got := fact.Decision.Basis.Context; got != 0 && got < fact.Trust {
				t.Errorf("%s: context %s is below the fact's trust %s", name, got, fact.Trust)
			}
			c := episode("maria", name)
			if c.Traces = tt.traces; tt.origin != nil {
				c.Source = tt.origin[0]
			}
			done, err := f.Capture(t.Context(), user("acme"), "", c)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.captured(done.ID); got.Trust != tt.capture || len(got.Traces) != tt.recorded {
				t.Errorf("%s: an episode of trust %s with %v", name, got.Trust, got.Traces)
			}
		}
	})
}

// Whatever an agent says, it wrote from all that it recalled in the last 15 minutes;
// also if this process has not seen the recall, or its clock is ahead.
func TestRecalledLately(t *testing.T) {
	t.Parallel()
	var offset atomic.Int64
	clock := func() time.Time { return start().Add(time.Duration(offset.Load())) }
	s := inMemory(t)
	s.log = memlog.New("test", clock)
	f := s.open(t)
	open := func() *fixture {
		g := s.open(t)
		g.Gateway = g.gateway(func(c *producers.Config) { c.Now = clock })
		return g
	}
	here, there := open(), open()
	bot := withTrust(user("acme"), events.TrustAgent)
	other := bot
	other.Principal = "another bot"
	write := func(g *fixture, who events.Caller, traces []string) events.EpisodeCaptured {
		r := episode("maria", "hello")
		r.Traces = traces
		done, err := g.Capture(t.Context(), who, "", r)
		if err != nil {
			t.Fatal(err)
		}
		return f.captured(done.ID)
	}
	want := func(name string, e events.EpisodeCaptured, trust events.Trust, traces ...string) {
		t.Helper()
		if e.Trust != trust || !cmp.Equal(append([]string{}, traces...), append([]string{}, e.Traces...)) {
			t.Errorf("%s: %s from %v, want %s from %v", name, e.Trust, e.Traces, trust, traces)
		}
	}
	for range 40 { // so that there is something to search
		write(here, user("acme"), nil)
	}
	want("before", write(here, bot, nil), events.TrustAgent)
	tool := here.recall(bot, events.TrustTool)
	want("here", write(here, bot, nil), events.TrustTool, tool)
	want("elsewhere", write(there, bot, nil), events.TrustTool, tool)
	want("after a restart", write(open(), bot, nil), events.TrustTool, tool)
	want("who says no", write(here, bot, []string{}), events.TrustTool, tool)
	want("who names another", write(here, bot, []string{someID}), events.TrustTool, someID, tool)
	ahead := open()
	ahead.Gateway = ahead.gateway(func(c *producers.Config) {
		c.Now = func() time.Time { return clock().Add(20 * time.Minute) }
	})
	for range 2 { // the second time the recall is known already
		want("by a clock that is ahead", write(ahead, bot, nil), events.TrustTool, tool)
	}
	want("another agent", write(here, other, nil), events.TrustAgent)
	want("a user's channel", write(here, user("acme"), nil), events.TrustUser)
	offset.Store(int64(10 * time.Minute))
	later := there.recall(bot, events.TrustUser)
	want("both", write(here, bot, nil), events.TrustTool, tool, later)
	if p, err := here.Propose(t.Context(), bot, "", claim(`"Rome"`, day(3), f.capture("maria", "moved"))); err != nil ||
		p.Decision != events.DecisionReview {
		t.Errorf("%+v, %v", p, err)
	}
	offset.Store(int64(producers.RecallWindow + time.Second))
	want("nothing was recorded since", write(here, bot, nil), events.TrustTool, tool, later)
	want("the first is over", write(here, bot, nil), events.TrustAgent, later)
	want("after a restart", write(open(), bot, nil), events.TrustAgent, later)
	again := there.recall(bot, events.TrustTool)
	want("what a later one covers is not kept", write(here, bot, nil), events.TrustTool, again)
	offset.Store(int64(time.Hour))
	write(here, user("acme"), nil)
	want("all are over", write(here, bot, nil), events.TrustAgent)
	b, err := here.CaptureBatch(t.Context(), bot, "", producers.CaptureBatchRequest{Items: items(3)})
	if err != nil || b.Results[0].Status != producers.StatusCaptured {
		t.Fatal(err)
	}
	tool = here.recall(bot, events.TrustTool)
	if b, err = here.CaptureBatch(t.Context(), bot, "", producers.CaptureBatchRequest{Items: items(3)}); err != nil {
		t.Fatal(err)
	}
	for _, res := range b.Results {
		want("batch", f.captured(res.ID), events.TrustTool, tool)
	}
}

// Messages that were removed from the log do not hide a recall.
func TestRecalledBehindHoles(t *testing.T) {
	t.Parallel()
	s := onNATS(t)
	f := s.open(t)
	g := f.gateway(func(c *producers.Config) { c.Now = time.Now })
	f.Gateway = g
	bot := withTrust(user("acme"), events.TrustAgent)
	first := f.captured(f.capture("maria", "one"))
	if first.Trust != events.TrustUser {
		t.Fatal("control")
	}
	tool := f.recall(bot, events.TrustTool)
	for range 20 {
		f.capture("maria", "more")
	}
	fresh := s.open(t)
	fresh.Gateway = fresh.gateway(func(c *producers.Config) { c.Now, c.Log = time.Now, holed{f.log} })
	done, err := fresh.Capture(t.Context(), bot, "", episode("maria", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if e := f.captured(done.ID); e.Trust != events.TrustTool || !cmp.Equal(e.Traces, []string{tool}) {
		t.Errorf("%s from %v", e.Trust, e.Traces)
	}
}

// The principals that support a candidate are those who captured its sources,
// however many those are.
func TestPrincipalsOfSources(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	other := user("acme")
	other.Principal = "another bot"
	theirs, err := f.Capture(t.Context(), other, "", episode("maria", "she moved"))
	if err != nil {
		t.Fatal(err)
	}
	p := f.propose(claim(`"Rome"`, day(3), f.capture("maria", "I moved"), f.capture("maria", "again"), theirs.ID))
	who := map[string]bool{}
	for _, e := range f.proposed(p.CandidateID).Decision.Basis.Evidence {
		who[e.Principal] = true
	}
	if len(who) != 2 || who[""] {
		t.Errorf("captured by %v", who)
	}
}
