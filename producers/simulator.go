package producers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers/policy"
)

const (
	// simulatedAtOnce is how many contents are opened with one request.
	simulatedAtOnce = 500
	// maxAwaited bounds the candidates that wait for their decision while the log
	// is read.
	maxAwaited = 10_000
)

// History is what a simulation needs of the log.
type History interface {
	events.AggregateReader
	events.KindReader
}

// Simulator runs policies over recorded decisions. It writes nothing and is safe
// for concurrent use.
type Simulator struct {
	gateway *Gateway
	log     History
}

// NewSimulator returns the simulator of a gateway, on its log.
func NewSimulator(g *Gateway, log History) (*Simulator, error) {
	if g == nil || log == nil {
		return nil, ErrConfig
	}
	return &Simulator{g, log}, nil
}

// Simulate tells what a policy would have decided of what was decided. Equal
// questions about equal logs get equal answers. The errors are ErrForbidden to who
// is neither reviewer nor admin, an InputError that names the rule at fault, and
// the log's.
func (s *Simulator) Simulate(ctx context.Context, caller events.Caller, r SimulateRequest) (Simulation, error) {
	if err := permit(caller, events.RoleReviewer, events.RoleAdmin); err != nil {
		return Simulation{}, err
	}
	run := s.run(r.Limit)
	var err error
	if run.from, err = parseBound("from", r.From); err != nil {
		return Simulation{}, err
	}
	if run.to, err = parseBound("to", r.To); err != nil {
		return Simulation{}, err
	}
	if r.Limit < 0 || r.Limit > MaxSimulated {
		return Simulation{}, malformed("out_of_range", "limit", "must be 1 to "+strconv.Itoa(MaxSimulated)+", or absent")
	}
	t, err := s.gateway.keys.Tenant(ctx, caller.Tenant, false)
	unknown := errors.Is(err, seal.ErrUnknownTenant)
	if err != nil && !unknown {
		return Simulation{}, fmt.Errorf("find tenant: %w", err)
	}
	var by *policy.Policy
	switch {
	case r.Text != "":
		by, err = parsePolicy(r.Text)
	case unknown:
		by, err = s.gateway.policies.builtin, nil
	default:
		by, err = s.gateway.policyOf(ctx, t.Token())
	}
	if err != nil {
		return Simulation{}, err
	}
	run.out.Policy = versionOf(by.Ref(), events.Recorded{})
	if unknown {
		return run.out, nil
	}
	run.tenant = t.Token()
	run.do = func(d *simulated, content events.FactContent) error {
		run.simulate(d, content, by)
		return nil
	}
	if err := run.walk(ctx); err != nil {
		return Simulation{}, err
	}
	run.out.sort()
	return run.out, nil
}

func (s *Simulator) run(limit int) *simulating {
	return &simulating{
		Simulator: s, limit: cmp.Or(limit, DefaultSimulated),
		subjects: map[string]events.SubjectState{}, awaited: map[string]events.FactProposed{},
		out: Simulation{Outcomes: []Outcome{}},
	}
}

// bound is a place in the log: a position or a time.
type bound struct {
	position uint64
	at       time.Time
}

func parseBound(field, s string) (bound, error) {
	if s == "" {
		return bound{}, nil
	}
	if n, err := strconv.ParseUint(s, 10, 63); err == nil {
		return bound{position: n}, nil
	}
	var t events.Time
	if err := t.UnmarshalText([]byte(s)); err != nil {
		return bound{}, malformed("bad_value", field, "must be a position or a time as in RFC 3339 with an offset")
	}
	return bound{at: t.Time}, nil
}

// isAfter reports whether a message is behind the bound, isBefore whether it is
// ahead of it. An absent one bounds nothing.
func (b bound) isAfter(m *events.Message) bool {
	return b.position > 0 && m.Position > b.position || !b.at.IsZero() && m.RecordedAt.After(b.at)
}

func (b bound) isBefore(m *events.Message) bool {
	return m.Position < b.position || m.RecordedAt.Before(b.at)
}

// simulating is a walk over recorded decisions.
type simulating struct {
	*Simulator

	tenant string
	// do is called with each decision that something can be said of.
	do       func(d *simulated, content events.FactContent) error
	from, to bound
	limit    int
	// awaited are the candidates that were read and not decided on yet.
	awaited  map[string]events.FactProposed
	subjects map[string]events.SubjectState
	batch    []simulated
	out      Simulation
}

// simulated is a decision with its candidate.
type simulated struct {
	position  uint64
	decided   events.FactDecided
	candidate events.FactProposed
}

// walk reads the facts of the tenant in the order of the log.
func (s *simulating) walk(ctx context.Context) error {
	wanted := map[string]bool{events.TypeFactProposed: true, events.TypeFactDecided: true}
	after := uint64(0)
	if s.from.position > 0 {
		after = s.from.position - 1
	}
	for m, err := range s.log.ReadKind(ctx, s.tenant, events.KindFact, after) {
		if err != nil {
			return fmt.Errorf("read decisions: %w", err)
		}
		if s.to.isAfter(&m) {
			break
		}
		if s.from.isBefore(&m) || !m.Header.Has(wanted) {
			continue
		}
		r, err := events.Decode(m)
		if err != nil {
			return fmt.Errorf("read decisions: %w", err)
		}
		for _, e := range r.Events {
			switch e := e.(type) {
			case events.FactProposed:
				if len(s.awaited) >= maxAwaited {
					clear(s.awaited) // they are read again if they are needed
				}
				s.awaited[e.Fact] = e
			case events.FactDecided:
				if s.out.Decisions >= s.limit && r.Position > s.out.To { // a commit is looked at as a whole
					s.out.Truncated = true
					return s.flush(ctx)
				}
				if err := s.add(ctx, r, e); err != nil {
					return err
				}
			default:
			}
		}
	}
	return s.flush(ctx)
}

func (s *simulating) add(ctx context.Context, r events.Recorded, d events.FactDecided) error {
	s.out.Decisions++
	if s.out.From == 0 {
		s.out.From = r.Position
	}
	s.out.To = r.Position
	if d.Basis.IsZero() {
		s.out.Skipped.NoBasis++
		return nil
	}
	candidate, ok := s.awaited[d.Fact]
	delete(s.awaited, d.Fact)
	if !ok {
		var err error
		if candidate, ok, err = s.proposed(ctx, r.Aggregate, d.Fact); err != nil {
			return err
		}
	}
	if !ok {
		s.out.Skipped.Forgotten++ // its commit was removed from the log
		return nil
	}
	s.batch = append(s.batch, simulated{r.Position, d, candidate})
	if len(s.batch) == simulatedAtOnce {
		return s.flush(ctx)
	}
	return nil
}

// proposed finds a candidate in its slot.
func (s *simulating) proposed(ctx context.Context, slot events.Aggregate, fact string) (events.FactProposed, bool, error) {
	for r, err := range s.log.ReadAggregate(ctx, slot, 0) {
		if err != nil {
			return events.FactProposed{}, false, fmt.Errorf("read candidate: %w", err)
		}
		for _, e := range r.Events {
			if e, ok := e.(events.FactProposed); ok && e.Fact == fact {
				return e, true, nil
			}
		}
	}
	return events.FactProposed{}, false, nil
}

// flush decides on what was collected.
func (s *simulating) flush(ctx context.Context) error {
	batch := s.batch[:0]
	for _, d := range s.batch {
		state, err := s.subject(ctx, d.candidate.Subject)
		switch {
		case err != nil:
			return err
		case state.Erasure != "":
			s.out.Skipped.Forgotten++
		case len(state.Holds) > 0:
			s.out.Skipped.Held++
		default:
			batch = append(batch, d)
		}
	}
	items := make([]seal.Item, len(batch))
	for i, d := range batch {
		items[i] = seal.Item{
			Scope:  seal.Scope{Tenant: s.tenant, Subject: d.candidate.Subject, Class: d.candidate.Class},
			Label:  label(events.KindFact, d.candidate.Fact, events.TypeFactProposed),
			Sealed: d.candidate.Content,
		}
	}
	for i, res := range s.gateway.keys.OpenMany(ctx, items) {
		if isDestroyed(res.Err) {
			s.out.Skipped.Forgotten++
			continue
		}
		if res.Err != nil {
			return fmt.Errorf("open candidate: %w", res.Err)
		}
		var content events.FactContent
		err := json.Unmarshal(res.Plaintext, &content)
		clear(res.Plaintext)
		if err != nil {
			return fmt.Errorf("open candidate: %w", events.ErrCorrupt)
		}
		if err := s.do(&batch[i], content); err != nil {
			return err
		}
	}
	s.batch = s.batch[:0]
	return nil
}

func (s *simulating) subject(ctx context.Context, sid string) (events.SubjectState, error) {
	if state, known := s.subjects[sid]; known {
		return state, nil
	}
	state, err := events.ReadSubject(ctx, s.log, s.tenant, sid)
	if err != nil {
		return events.SubjectState{}, fmt.Errorf("read subject: %w", err)
	}
	if len(s.subjects) >= maxSubjectNames {
		clear(s.subjects)
	}
	s.subjects[sid] = state
	return state, nil
}

// simulate decides on one candidate as the gateway would have.
func (s *simulating) simulate(d *simulated, content events.FactContent, by *policy.Policy) {
	was := d.decided.Decision
	again := Again(d.decided, d.candidate, content, by)
	gates, wouldBe := again.Gates, again.Decision
	sample := Sample{Candidate: d.candidate.Fact, Position: d.position}
	if i := slices.IndexFunc(gates, func(g events.Gate) bool { return g.Outcome == wouldBe }); i >= 0 {
		sample.Gate, sample.Reason = gates[i].Gate, gates[i].Reason
	}
	s.out.count(was, wouldBe, sample)
}
