package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

// caller is one of those who call at the same time.
type caller struct {
	*world

	rng *rand.Rand
	n   int
	// tenant and subject are those of the step.
	tenant, subject string
}

// action is what a caller can do, with how often it does.
type action struct {
	name string
	of   int
	do   func(*caller)
	// forgets says that it ends something: neighbours are spared.
	forgets bool
}

func actions() []action {
	return []action{
		{"capture", 20, (*caller).capture, false},
		{"captures again", 6, (*caller).again, false},
		{"import", 6, (*caller).importMany, false},
		{"propose", 16, (*caller).propose, false},
		{"corroborate", 6, (*caller).corroborate, false},
		{"retract", 4, (*caller).retract, false},
		{"recall", 6, (*caller).recall, false},
		{"read everything", 4, (*caller).lookAround, false},
		{"replay", 3, (*caller).replay, false},
		{"embed later", 4, (*caller).embedLater, false},
		{"change the model", 4, (*caller).changeModel, false},
		{"restart", 1, (*caller).restartNode, false},
		{"forget an episode", 6, (*caller).forgetEpisode, true},
		{"forget a fact", 5, (*caller).forgetFact, true},
		{"forget some", 3, (*caller).forgetSome, true},
		{"forget by filter", 3, (*caller).forgetFiltered, true},
		{"forget the subject", 6, (*caller).forgetSubject, true},
		{"forget with a second eraser", 4, (*caller).forgetElsewhere, true},
	}
}

// step does one thing.
func (c *caller) step() {
	n := c.focus.Add(1) / worldBurst
	if c.rng.IntN(5) == 0 {
		n = c.rng.Uint64()
	}
	at := rand.New(rand.NewPCG(c.seed, n))
	c.tenant = []string{"a", "a-b"}[at.IntN(4)/3]
	c.subject = "s" + strconv.Itoa(at.IntN(3))
	all := actions()
	sum := 0
	for _, a := range all {
		sum += a.of
	}
	draw := c.rng.IntN(sum)
	for _, a := range all {
		if draw -= a.of; draw >= 0 {
			continue
		}
		if !a.forgets && c.rng.IntN(12) == 0 {
			c.subject = "neighbour"
		}
		if a.name == "restart" {
			a.do(c)
			return
		}
		c.gate.RLock()
		defer c.gate.RUnlock()
		if c.f.t.Failed() {
			return
		}
		s := span{what: a.name, tenant: c.tenant, subject: c.subject, begun: c.now(), forget: a.forgets}
		a.do(c)
		s.ended = c.now()
		c.mu.Lock()
		c.calls = append(c.calls, s)
		c.mu.Unlock()
		return
	}
}

// canary is a word that nothing else has.
func (c *caller) canary() string {
	c.count.Lock()
	defer c.count.Unlock()
	c.count.canaries++
	return fmt.Sprintf("zq%dx%dqz", c.seed, c.count.canaries)
}

// context is that of one call: now and then the caller hangs up.
func (c *caller) context() (context.Context, func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	if c.rng.IntN(10) > 0 {
		return ctx, cancel
	}
	timer := time.AfterFunc(time.Duration(c.rng.IntN(20_000))*time.Microsecond, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

func (c *caller) begin(canary string) written {
	return written{canary: canary, tenant: c.tenant, subject: c.subject, begun: c.now()}
}

// end notes how it went; a 4xx wrote nothing.
func (h *history) end(w *written, a answer, success int) {
	w.acked = a.status == success
	if w.acked {
		w.position = position(a.body)
	}
	w.ended = h.now()
}

func position(body []byte) uint64 {
	var p struct {
		Position uint64 `json:"position"`
	}
	if json.Unmarshal(body, &p) != nil {
		return 0
	}
	return p.Position
}

func text(body []byte, name string) string {
	m := map[string]any{}
	if json.Unmarshal(body, &m) != nil {
		return ""
	}
	s, ok := m[name].(string)
	if !ok {
		return ""
	}
	return s
}

// newEpisode is one that is going to be captured.
func (c *caller) newEpisode() (*episode, obj) {
	w := c.canary()
	p := &episode{written: c.begin(w), session: c.subject + "-" + strconv.Itoa(c.rng.IntN(2))}
	body := obj{
		"subject": p.subject, "text": "The word that is kept here is " + w + ".", "source": obj{"kind": "chat", "ref": "ref-" + w},
		"session": p.session, "entities": []string{"entity-" + w}, "action": "action-" + w, "outcome": "outcome-" + w,
		"actors": []obj{{"id": "actor-" + w, "role": "user"}}, "metadata": obj{"m": "meta-" + w},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.episodes = append(c.episodes, p)
	c.by[w] = append(c.by[w], p)
	return p, body
}

func (c *caller) capture() {
	p, body := c.newEpisode()
	if c.rng.IntN(2) == 0 {
		c.send(&again{path: "/v1/episodes", body: body, all: []*episode{p}})
		return
	}
	a := &again{path: "/v1/episodes", body: body, key: p.canary, all: []*episode{p}}
	c.send(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.again = a
}

func (c *caller) importMany() {
	a := &again{path: "/v1/episodes/batch"}
	var items []obj
	for range 3 {
		p, body := c.newEpisode()
		a.all, items = append(a.all, p), append(items, body)
	}
	a.key, a.body = a.all[0].canary, obj{"items": items}
	c.send(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range a.all {
		p.again = a
	}
}

// again makes a call that was made under a key again, whatever has become of
// what it wrote.
func (c *caller) again() {
	if p := c.pick(func(p *episode) bool { return p.again != nil }); p != nil {
		c.send(p.again)
	}
}

// send writes episodes, for the first time or again. What was acknowledged once
// must not be written once more.
func (c *caller) send(a *again) {
	ctx, cancel := c.context()
	defer cancel()
	c.mu.Lock()
	for _, p := range a.all {
		if p.trying++; !p.acked {
			p.ended = 0
		}
	}
	c.mu.Unlock()
	var header []string
	if a.key != "" {
		header = []string{"Idempotency-Key", a.key}
	}
	got := c.call(ctx, c.tenant, http.MethodPost, a.path, a.body, header...)
	ids := make([]string, len(a.all))
	switch got.status {
	case http.StatusCreated:
		ids[0] = text(got.body, "id")
	case http.StatusOK:
		var out struct {
			Results []struct {
				ID string `json:"id"`
			} `json:"results"`
		}
		if err := json.Unmarshal(got.body, &out); err != nil || len(out.Results) != len(ids) {
			c.f.t.Errorf("seed %d: %v: %s", c.seed, err, got.body)
			return
		}
		for i, r := range out.Results {
			ids[i] = r.ID
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range a.all {
		p.trying--
		switch {
		case p.acked && ids[i] != "" && ids[i] != p.id:
			c.f.t.Errorf("seed %d: a call that was made again wrote again: %+v: %s", c.seed, p, got.body)
		case p.acked:
		case ids[i] != "":
			p.acked, p.id, p.ended = true, ids[i], c.now()
			p.position = 1 << 62 // a batch tells the highest of all
			if len(ids) == 1 {
				p.position = position(got.body)
			}
		case p.trying == 0:
			p.ended = c.now()
		}
	}
}

// pick is a known episode of the subject.
func (c *caller) pick(ok func(*episode) bool) *episode {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*episode
	for _, p := range c.episodes {
		if p.tenant == c.tenant && p.subject == c.subject && p.ended != 0 && ok(p) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	// The last ones are more likely to be there.
	return list[max(0, len(list)-1-c.rng.IntN(8))]
}

func (c *caller) pickClaim() *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*claim
	for _, p := range c.claims {
		if p.tenant == c.tenant && p.subject == c.subject && p.candidate != "" {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[max(0, len(list)-1-c.rng.IntN(8))]
}

func (c *caller) propose() {
	p := &claim{written: c.begin(c.canary()), predicate: "p" + strconv.Itoa(c.rng.IntN(2))}
	p.observed = day(c.rng.IntN(worldDays)).Format(time.RFC3339)
	c.claim(p)
}

// corroborate says again what was said, from another source.
func (c *caller) corroborate() {
	said := c.pickClaim()
	if said == nil {
		return
	}
	c.claim(&claim{written: c.begin(said.canary), predicate: said.predicate, observed: said.observed})
}

func (c *caller) claim(p *claim) {
	asked := c.subject
	for range 1 + c.rng.IntN(2) {
		if c.subject != "neighbour" && c.rng.IntN(6) == 0 {
			c.subject = "s" + strconv.Itoa(c.rng.IntN(3)) // what it is about is not what it came from
		}
		if src := c.pick(func(p *episode) bool { return p.id != "" }); src != nil {
			p.sources = append(p.sources, src)
		}
		c.subject = asked
	}
	if len(p.sources) == 0 {
		return
	}
	var ids []string
	for _, s := range p.sources {
		ids = append(ids, s.id)
	}
	body := with(proposal(p.subject, p.predicate, "value "+p.canary, ""), "source_episodes", ids)
	body["observed_at"] = p.observed
	if c.rng.IntN(8) == 0 {
		body["confidence"] = 0.5 // for a reviewer
	}
	c.mu.Lock()
	c.claims = append(c.claims, p)
	c.by[p.canary] = append(c.by[p.canary], p)
	c.mu.Unlock()
	ctx, cancel := c.context()
	defer cancel()
	a := c.call(ctx, c.tenant, http.MethodPost, "/v1/facts", body)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.unknown = strings.Contains(string(a.body), "unknown_source")
	p.candidate, p.fact = text(a.body, "candidate_id"), text(a.body, "fact_id")
	c.end(&p.written, a, http.StatusCreated)
}

func (c *caller) retract() {
	p := c.pickClaim()
	if p == nil || p.fact == "" {
		return
	}
	n := &remark{written: c.begin(c.canary()), of: p.fact}
	c.mu.Lock()
	c.notes = append(c.notes, n)
	c.by[n.canary] = append(c.by[n.canary], n)
	c.mu.Unlock()
	ctx, cancel := c.context()
	defer cancel()
	a := c.call(ctx, c.tenant, http.MethodPost, "/v1/facts/"+p.fact+"/retract", obj{"reason": "because of " + n.canary})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(&n.written, a, http.StatusOK)
}

// recall asks a question that is about the subject, which its trace keeps.
func (c *caller) recall() {
	n := &remark{written: c.begin(c.canary())}
	c.mu.Lock()
	c.notes = append(c.notes, n)
	c.by[n.canary] = append(c.by[n.canary], n)
	c.mu.Unlock()
	a := c.read("a recall", c.tenant, ask{http.MethodPost, "/v1/recall", obj{"query": "which word is kept here, " + n.canary, "subject": c.subject, "k": 20}})
	c.mu.Lock()
	n.trace = text(a.body, "trace_id")
	c.end(&n.written, a, http.StatusOK)
	c.mu.Unlock()
	if n.trace != "" {
		c.read("its trace", c.tenant, ask{method: http.MethodGet, path: "/v1/traces/" + n.trace})
	}
}

func (c *caller) lookAround() { c.look("meanwhile", c.tenant, c.subject, nil) }

func (c *caller) replay() {
	list := c.f.Views().Status(c.ctx)
	view := list[c.rng.IntN(len(list))].Projection
	c.call(c.ctx, c.tenant, http.MethodPost, "/v1/projections/"+view+"/replay", obj{})
}

// changeModel has the next generation built with another model, or gives that up for the one before.
func (c *caller) changeModel() {
	name := c.model.ID().Model
	if c.rng.IntN(2) == 0 {
		name = secondModel
	}
	c.call(c.ctx, c.tenant, http.MethodPost, "/v1/embedding", obj{"model": name})
}

func (c *caller) embedLater() { c.model.hold(c.rng.IntN(2) == 0) }

func (c *caller) restartNode() {
	c.model.hold(false)
	c.restart(c.rng.IntN(4) == 0)
}

// forget makes a call that ends something, and looks at what is left of it as
// soon as it is acknowledged.
func (c *caller) forget(e *ending, call func(context.Context) (acked bool, position uint64)) {
	e.tenant = c.tenant
	c.mu.Lock()
	e.begun = c.now()
	c.ends = append(c.ends, e)
	c.mu.Unlock()
	c.known.note(c.tenant + c.subject)
	ctx, cancel := c.context()
	defer cancel()
	acked, at := call(ctx)
	c.mu.Lock()
	e.acked, e.position, e.ended = acked, at, c.now()
	c.mu.Unlock()
	if acked {
		c.look("once it was acknowledged", c.tenant, c.subject, e.ids)
	}
}

func (c *caller) request(method, path string, body obj) func(context.Context) (bool, uint64) {
	var header []string
	if c.rng.IntN(3) == 0 {
		header = []string{"Idempotency-Key", c.canary()}
	}
	return func(ctx context.Context) (bool, uint64) {
		a := c.call(ctx, c.tenant, method, path, body, header...)
		if header != nil && a.status == http.StatusServiceUnavailable { // once more, as callers do
			a = c.call(c.ctx, c.tenant, method, path, body, header...) //nolint:contextcheck // The first call has used up its time.
		}
		return a.status == http.StatusAccepted, position(a.body)
	}
}

func (c *caller) forgetEpisode() {
	if p := c.pick(func(p *episode) bool { return p.id != "" }); p != nil {
		c.forget(&ending{ids: []string{p.id}}, c.request(http.MethodDelete, "/v1/episodes/"+p.id, nil))
	}
}

func (c *caller) forgetFact() {
	p := c.pickClaim()
	if p == nil {
		return
	}
	id := p.fact
	if id == "" {
		id = p.candidate
	}
	c.forget(&ending{ids: []string{id}}, c.request(http.MethodDelete, "/v1/facts/"+id, nil))
}

func (c *caller) forgetSome() {
	p, q := c.pick(func(p *episode) bool { return p.id != "" }), c.pickClaim()
	if p == nil || q == nil || q.fact == "" {
		return
	}
	ids := []string{p.id, q.fact}
	c.forget(&ending{ids: ids}, c.request(http.MethodPost, "/v1/forget", obj{"ids": ids}))
}

func (c *caller) forgetFiltered() {
	if c.rng.IntN(2) == 0 {
		c.forget(&ending{subject: c.subject}, c.request(http.MethodPost, "/v1/forget", obj{"filter": obj{"subject": c.subject}}))
		return
	}
	session := c.subject + "-0"
	c.forget(&ending{session: session}, c.request(http.MethodPost, "/v1/forget", obj{"filter": obj{"session": session}}))
}

func (c *caller) forgetSubject() {
	c.forget(&ending{subject: c.subject, whole: true}, c.request(http.MethodPost, "/v1/subjects/"+c.subject+"/forget", obj{"reason": "asked"}))
}

func (c *caller) forgetElsewhere() {
	who := asked(c.tenant)
	result := func(e tombstones.Erasure, err error) (bool, uint64) { return err == nil, e.Position }
	if c.rng.IntN(2) == 0 {
		c.forget(&ending{subject: c.subject, whole: true}, func(ctx context.Context) (bool, uint64) {
			return result(c.second.ForgetSubject(ctx, who, "", c.subject, ""))
		})
		return
	}
	if p := c.pick(func(p *episode) bool { return p.id != "" }); p != nil {
		c.forget(&ending{ids: []string{p.id}}, func(ctx context.Context) (bool, uint64) {
			return result(c.second.ForgetRecord(ctx, who, "", events.KindEpisode, p.id))
		})
	}
}

// tell says what the model knows of canaries.
func (h *history) tell(list []string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, w := range list {
		for _, m := range h.by[w] {
			fmt.Fprintf(&b, "\n  %T %+v", m, m)
			if c, ok := m.(*claim); ok {
				for _, s := range c.sources {
					fmt.Fprintf(&b, "\n    from %+v", *s)
				}
			}
		}
	}
	for _, e := range h.ends {
		fmt.Fprintf(&b, "\n  ending %+v", *e)
	}
	return b.String()
}

// instants are times of the wall clock before something was forgotten.
type instants struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (i *instants) note(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.at == nil {
		i.at = map[string]time.Time{}
	}
	i.at[name] = time.Now()
}

func (i *instants) of(name string) time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.at[name]
}
