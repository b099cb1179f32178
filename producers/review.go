package producers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers/policy"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// Approve says of a candidate that waits that it is to be remembered, and has the
// gates decide again with that. An approval lifts what asks for a review, and no
// rejection. Where the policy asks for more than one, an approval that is not the
// last is kept and the candidate waits on. With an edit it is [Gateway.Edit].
//
// Who reviews is a reviewer or an admin, no agent, not by a channel of trust
// external, tool or agent, and not who proposed it:
// events.ErrForbidden. What was decided on, or is not as it was when the hash was
// shown, is an *events.ConflictError. What is held is events.ErrNotFound.
func (g *Gateway) Approve(ctx context.Context, caller events.Caller, key, candidate string, r ReviewRequest) (Reviewed, error) {
	if r.Edit != nil {
		return g.Edit(ctx, caller, key, candidate, r)
	}
	return g.review(ctx, caller, command{name: cmdApprove, principal: caller.Principal, key: key}, candidate, r, events.VerdictApprove)
}

// Reject says of a candidate that waits that it is not to be remembered. The rules
// are those of [Gateway.Approve].
func (g *Gateway) Reject(ctx context.Context, caller events.Caller, key, candidate string, r ReviewRequest) (Reviewed, error) {
	if r.Edit != nil {
		return Reviewed{}, malformed("not_allowed", "edit", "is part of an approval only")
	}
	return g.review(ctx, caller, command{name: cmdReject, principal: caller.Principal, key: key}, candidate, r, events.VerdictReject)
}

// review is one review of one candidate on its way.
type review struct {
	*work
	fact      string
	principal string // token
	request   ReviewRequest
	verdict   events.Verdict
	// record opens the candidate and seals what is said of it.
	record *seal.Record
	slot   *slotState
	// decided is the commit of this command that decides, said the one that only
	// says what the reviewer thinks; nil until they are in the log.
	decided, said *events.Recorded
	// then is the candidate as it stood when that was said.
	then *events.SlotFact
}

// see keeps the commits of this command when they pass by.
func (v *review) see(r events.Recorded) {
	if r.ID != v.id && r.ID != token.Decision(v.id) && r.ID != v.noteID() {
		return
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.FactDecided:
			if e.Fact == v.fact {
				v.decided = &r
			}
		case events.FactReviewed:
			if e.Fact != v.fact {
				continue
			}
			if v.said == nil {
				v.said = &r
			}
			if v.then == nil && v.slot.Position == r.Position {
				v.then = standsAs(v.slot.Find(v.fact))
			}
		default:
		}
	}
}

// noteID is the id of the commit of an edit's note.
func (v *review) noteID() string { return token.Decision(token.Decision(v.id)) }

// permitReview refuses whoever could review what an agent proposed in its own
// name, and a channel that no person is behind.
func permitReview(c events.Caller) error {
	if err := permit(c, events.RoleReviewer, events.RoleAdmin); err != nil {
		return err
	}
	if c.Has(events.RoleAgent) || c.Trust <= events.TrustAgent {
		return events.ErrForbidden
	}
	return nil
}

// newReview prepares a command on a candidate.
func (g *Gateway) newReview(ctx context.Context, caller events.Caller, cmd command, candidate string, request any) (*review, error) {
	type asked struct {
		Fact    string `json:"fact"`
		Request any    `json:"request"`
	}
	w, err := g.prepare(ctx, caller, cmd, asked{token.CanonicalID(candidate), request})
	if err != nil {
		return nil, err
	}
	rec, n, err := g.find(ctx, w.tenant, candidate, events.KindFact)
	if err != nil {
		return nil, err
	}
	return &review{
		work: w, fact: rec.ID(), principal: w.principal, record: rec,
		slot: &slotState{
			aggregate: events.Aggregate{Tenant: w.tenant.Token(), Kind: events.KindFact, ID: n.Aggregate},
			values:    map[string]jsontext.Value{},
		},
	}, nil
}

func (g *Gateway) review(ctx context.Context, caller events.Caller, cmd command, candidate string, r ReviewRequest, verdict events.Verdict) (Reviewed, error) {
	now := g.clock()
	if err := permitReview(caller); err != nil {
		return Reviewed{}, err
	}
	if err := first(events.CheckIdempotencyKey(cmd.key), r.validate(now)); err != nil {
		return Reviewed{}, err
	}
	v, err := g.newReview(ctx, caller, cmd, candidate, r)
	if err != nil {
		return Reviewed{}, err
	}
	v.request, v.verdict = r, verdict
	if err := g.commandRow(ctx, v.work, v.record.Scope()); err != nil {
		return Reviewed{}, err
	}
	done, err := g.turns.take(ctx, v.slot.aggregate.ID)
	if err != nil {
		return Reviewed{}, err
	}
	defer done()
	for range maxTries {
		if err := g.refresh(ctx, v.slot, v.see); err != nil {
			return Reviewed{}, err
		}
		a, ok, err := g.reviewOnce(ctx, v, now)
		if ok || err != nil {
			return a, err
		}
	}
	return Reviewed{}, fmt.Errorf("review fact: %w", events.ErrConflict)
}

// reviewOnce takes the next step of a review on the slot as it was read, and says
// whether it was the last one.
func (g *Gateway) reviewOnce(ctx context.Context, v *review, now time.Time) (Reviewed, bool, error) {
	f := v.slot.Find(v.fact)
	if v.decided != nil {
		return v.answer(v.decided), true, nil
	}
	if v.isOver(f) {
		a, err := g.saidBefore(ctx, v, f)
		return a, err == nil, err
	}
	if err := g.reviewable(ctx, v, f); err != nil {
		return Reviewed{}, false, err
	}
	d, err := g.decideReviewed(ctx, v, f, now)
	if err != nil {
		return Reviewed{}, false, err
	}
	said := events.FactReviewed{Fact: f.Fact, Verdict: v.verdict, Hash: v.request.ContentHash}
	if v.request.Note != "" {
		said.Content, err = sealContent(v.record, events.KindFact, events.TypeFactReviewed, events.ReviewContent{Note: v.request.Note})
		if err != nil {
			return Reviewed{}, false, err
		}
	}
	var list []events.Event
	switch {
	case d.isStanding && d.waits: // it was said, and is not enough
		return v.waiting(d), true, nil
	case d.isStanding:
		list = d.list
	case d.waits, said.Content != nil && touchesOthers(d.list, f.Fact):
		// What is sealed goes from the log with its candidate, and so must stand
		// alone where the decision is about other facts as well.
		list = []events.Event{said}
	default:
		list = append([]events.Event{said}, d.list...)
	}
	id := v.id
	if d.isStanding {
		id = token.Decision(v.id)
	}
	r, err := g.appendReview(ctx, v, id, now, list)
	switch {
	case err != nil || r == nil:
		return Reviewed{}, false, err
	case v.decided != nil:
		return v.answer(v.decided), true, nil
	case d.waits:
		return v.waiting(d), true, nil
	}
	return Reviewed{}, false, nil
}

// appendReview appends a commit to the slot as it was read. It returns nil if
// another was faster, or had the id.
func (g *Gateway) appendReview(ctx context.Context, v *review, id string, now time.Time, list []events.Event) (*events.Recorded, error) {
	c := events.Commit{ID: id, Aggregate: v.slot.aggregate, Time: now, Principal: v.principal, Events: list}
	ack, err := g.log.Append(ctx, c, events.Expect(v.slot.Position))
	switch {
	case errors.Is(err, events.ErrConflict), err == nil && ack.Duplicate:
		runtime.Gosched()
		return nil, nil //nolint:nilnil // The absence of a commit is an answer.
	case err != nil:
		return nil, fmt.Errorf("append review: %w", err)
	}
	r := events.Recorded{Commit: c, Position: ack.Position, RecordedAt: now}
	v.see(r)
	return &r, nil
}

// reviewable says why a candidate cannot be reviewed now, by this reviewer, as it
// was shown.
func (g *Gateway) reviewable(ctx context.Context, v *review, f *events.SlotFact) error {
	if err := g.shown(ctx, v, f); err != nil {
		return err
	}
	if f.Status != events.StatusCandidate {
		return v.conflict()
	}
	hash, err := f.Hash()
	if err != nil {
		return fmt.Errorf("review fact: %w", err)
	}
	if hash != v.request.ContentHash {
		return v.conflict()
	}
	return nil
}

// shown says why a candidate is not there for this reviewer.
func (g *Gateway) shown(ctx context.Context, v *review, f *events.SlotFact) error {
	if f == nil {
		return events.ErrNotFound
	}
	subject, err := events.ReadSubject(ctx, g.log, v.slot.aggregate.Tenant, v.record.Scope().Subject)
	switch {
	case err != nil:
		return fmt.Errorf("review fact: %w", err)
	case len(subject.Holds) > 0:
		return events.ErrNotFound
	case subject.Erasure != "" || f.Status == events.StatusDeleted:
		return events.ErrForgotten
	case f.Status == events.StatusCandidate && f.Decision.Decision == "",
		len(f.Reviews) == 0 && f.Status != events.StatusCandidate && !asked(f):
		return events.ErrNotFound // it never waited for a review
	case v.isOwn(f):
		return events.ErrForbidden
	}
	return nil
}

// isOwn says whether a candidate is the reviewer's own: proposed by it, or made of
// what it proposed by an edit.
func (v *review) isOwn(f *events.SlotFact) bool {
	for ; f != nil; f = v.slot.Find(f.Edits) {
		if f.Principal == v.principal {
			return true
		}
	}
	return false
}

// asked says whether the decision on a candidate leaves it to reviewers.
func asked(f *events.SlotFact) bool {
	return f.Decision.Decision == events.DecisionReview || f.Decision.Decision == events.DecisionQuarantine
}

func (v *review) conflict() error {
	return &events.ConflictError{Aggregate: v.slot.aggregate, Actual: v.slot.Position}
}

// verdictOn is what a review comes to.
type verdictOn struct {
	list []events.Event
	// isStanding says that the reviewer has said the same before, at the position.
	isStanding bool
	position   uint64
	// waits says that more approvals are needed than there are.
	waits             bool
	approvals, needed int
	gates             []events.Gate
	policy            events.PolicyRef
}

// decideReviewed decides on a candidate with all reviews that stand and with this
// one.
func (g *Gateway) decideReviewed(ctx context.Context, v *review, f *events.SlotFact, now time.Time) (verdictOn, error) {
	content, value, err := g.openFact(ctx, v.slot.aggregate.Tenant, f)
	if err != nil {
		return verdictOn{}, err
	}
	if v.verdict == events.VerdictApprove {
		if err := g.admit(ctx, v.tenant, "value", suppression.Value(content.Predicate, content.Value)); err != nil {
			return verdictOn{}, err
		}
	}
	var d verdictOn
	reviews, mine := reviewsOf(f, v.principal, v.request.ContentHash)
	for _, r := range f.Standing() {
		if r.Reviewer == v.principal && r.Verdict == v.verdict && mine {
			d.isStanding, d.position = true, r.Position
		}
	}
	if !d.isStanding {
		reviews = append(reviews, events.ReviewBasis{Reviewer: v.principal, Verdict: v.verdict})
	}
	c, by, err := g.caseOf(ctx, v.slot, f, content, reviews, now)
	if err != nil {
		return verdictOn{}, err
	}
	d.list = Decide(&v.slot.Slot, c, v.slot.equalTo(value, now), by)
	decided, ok := d.list[0].(events.FactDecided)
	if !ok {
		return verdictOn{}, fmt.Errorf("review fact: %w", events.ErrInvalid)
	}
	d.approvals, d.needed = approvals(reviews), max(1, by.Approvals(policy.NewInput(f.FactProposed, content, decided.Basis)))
	d.waits = v.verdict == events.VerdictApprove && d.approvals < d.needed
	d.gates, d.policy = f.Decision.Gates, f.Decision.Policy
	return d, nil
}

// reviewsOf are the reviews of exactly these bytes that were not taken back, and
// whether one is the reviewer's.
func reviewsOf(f *events.SlotFact, principal, hash string) (reviews []events.ReviewBasis, mine bool) {
	for _, r := range f.Standing() {
		if r.Hash == hash {
			reviews = append(reviews, events.ReviewBasis{Reviewer: r.Reviewer, Verdict: r.Verdict})
			mine = mine || r.Reviewer == principal
		}
	}
	return reviews, mine
}

// caseOf is what is decided on of a candidate in its slot, by what the log says
// now.
func (g *Gateway) caseOf(ctx context.Context, s *slotState, f *events.SlotFact, content events.FactContent, reviews []events.ReviewBasis, now time.Time) (Case, *policy.Policy, error) {
	sources := make([]string, len(f.Sources))
	for i, src := range f.Sources {
		sources[i] = src.Episode
	}
	on, err := g.groundsOf(ctx, s.aggregate.Tenant, f.Subject, f.Class, sources)
	if err != nil {
		return Case{}, nil, err
	}
	if err := g.openValues(ctx, s); err != nil {
		return Case{}, nil, err
	}
	return Case{Candidate: f.FactProposed, Content: content, Basis: events.Basis{
		Evidence: EvidenceBasis(f.Subject, on.evidence), Context: f.Decision.Basis.Context, Consent: on.consent,
		Guard: g.scan(content), Reviews: reviews, At: now,
	}}, on.policy, nil
}

// touchesOthers says whether events are about more than the one fact.
func touchesOthers(list []events.Event, fact string) bool {
	return slices.ContainsFunc(list, func(e events.Event) bool {
		switch e := e.(type) {
		case events.FactSuperseded:
			return e.Fact != fact
		case events.FactCorroborated:
			return e.Fact != fact
		default:
			return false
		}
	})
}

// answer is what a review came to, by the commit that decides.
func (v *review) answer(r *events.Recorded) Reviewed {
	a := Reviewed{ID: v.fact, Superseded: []string{}, Position: r.Position}
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.FactDecided:
			if e.Fact == v.fact {
				a.decided(&e)
			}
		case events.FactSuperseded:
			a.Superseded = append(a.Superseded, e.Fact)
		default:
		}
	}
	return a
}

func (a *Reviewed) decided(e *events.FactDecided) {
	a.Decision, a.FactID, a.Gates, a.Policy = e.Decision, e.Into, e.Gates, e.Policy
	a.Approvals = approvals(e.Basis.Reviews)
	a.Needed = max(1, a.Approvals)
}

// waiting is the answer to an approval that is not the last.
func (v *review) waiting(d verdictOn) Reviewed {
	a := Reviewed{
		ID: v.fact, Decision: events.DecisionReview, Superseded: []string{}, Gates: d.gates, Policy: d.policy,
		Approvals: d.approvals, Needed: d.needed, Position: d.position,
	}
	if v.said != nil {
		a.Position = v.said.Position
	}
	return a
}

// openFact is what a fact says, and its canonical value. One whose key is gone is
// events.ErrForgotten.
func (g *Gateway) openFact(ctx context.Context, tenant string, f *events.SlotFact) (events.FactContent, jsontext.Value, error) {
	plain, err := g.keys.Open(ctx, seal.Scope{Tenant: tenant, Subject: f.Subject, Class: f.Class},
		label(events.KindFact, f.Fact, events.TypeFactProposed), f.Content)
	if isDestroyed(err) {
		return events.FactContent{}, nil, events.ErrForgotten
	}
	if err != nil {
		return events.FactContent{}, nil, fmt.Errorf("open fact: %w", err)
	}
	defer clear(plain)
	var content events.FactContent
	if err := json.Unmarshal(plain, &content); err != nil {
		return events.FactContent{}, nil, fmt.Errorf("open fact: %w", events.ErrCorrupt)
	}
	value, err := token.Canonical(content.Value)
	if err != nil {
		return events.FactContent{}, nil, fmt.Errorf("read value: %w", err)
	}
	return content, value, nil
}
