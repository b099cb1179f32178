package producers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers/policy"
)

// PolicyRequest asks for a policy to be put into force.
type PolicyRequest struct {
	// Text is the policy, as YAML.
	Text string `json:"text"`
	// ExpectedVersion is the version of the policy that the caller takes to be in
	// force; 0 for none.
	ExpectedVersion int `json:"expected_version,omitzero"`
}

// PolicyVersion is one policy that is or was in force.
type PolicyVersion struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	// Hash is the hex SHA-256 of the text.
	Hash string `json:"hash"`
	// Builtin says that it is the one that is in force until one is activated.
	Builtin bool `json:"builtin,omitempty"`
	// ActivatedAt, Position and Principal, a token, are of the activation; absent
	// for one that needed none.
	ActivatedAt *events.Time `json:"activated_at,omitempty"`
	Position    uint64       `json:"position,omitzero"`
	Principal   string       `json:"principal,omitempty"`
}

// PolicyAnswer is a policy with its text.
type PolicyAnswer struct {
	PolicyVersion

	Text string `json:"text"`
	// Fault is why a policy in force cannot be used any more: everything is
	// rejected then.
	Fault string `json:"fault,omitempty"`
}

// PolicyHistory are the policies that were in force, the first one first.
type PolicyHistory struct {
	Policies []PolicyVersion `json:"policies"`
}

// CheckPolicy answers what ActivatePolicy would, and changes nothing.
func (g *Gateway) CheckPolicy(ctx context.Context, caller events.Caller, name string, r PolicyRequest) (PolicyAnswer, error) {
	return g.policyCommand(ctx, caller, name, r, func(_ *seal.Tenant, p *policy.Policy, _ uint64) (PolicyAnswer, error) {
		return policyAnswer(p, events.Recorded{}), nil
	})
}

// ActivatePolicy puts a policy into force for all decisions of the tenant from then
// on; what was decided stays. Activating the one in force again appends nothing.
// The errors are ErrForbidden to who is no admin, ErrNotFound for a name that is no
// policy's, an InputError that names the rule at fault, a ConflictError whose Actual
// is the version in force if that is not the expected one, and the log's.
func (g *Gateway) ActivatePolicy(ctx context.Context, caller events.Caller, name string, r PolicyRequest) (PolicyAnswer, error) {
	return g.policyCommand(ctx, caller, name, r, func(t *seal.Tenant, p *policy.Policy, at uint64) (PolicyAnswer, error) {
		c := events.Commit{
			ID: g.newID(), Aggregate: policyAggregate(t.Token()), Time: g.clock(), Principal: token.Principal(t, caller.Principal),
			Events: []events.Event{events.PolicyActivated{Policy: p.Ref(), Text: p.Text()}},
		}
		ack, err := g.log.Append(ctx, c, events.Expect(at))
		if err != nil {
			return PolicyAnswer{}, fmt.Errorf("activate policy: %w", err)
		}
		recorded, err := g.activatedAt(ctx, t.Token(), ack.Position)
		if err != nil {
			return PolicyAnswer{}, err
		}
		return policyAnswer(p, recorded), nil
	})
}

// activatedAt is the commit of an activation as the log has it, with its time.
func (g *Gateway) activatedAt(ctx context.Context, tenant string, position uint64) (events.Recorded, error) {
	for r, err := range g.log.ReadAggregate(ctx, policyAggregate(tenant), position-1) {
		if err != nil {
			return events.Recorded{}, fmt.Errorf("read policy: %w", err)
		}
		return r, nil
	}
	return events.Recorded{}, fmt.Errorf("read policy: %w", events.ErrNoCommits)
}

// policyCommand checks a policy against those before it and hands it, with the
// position of the last, to do, until nobody was faster.
func (g *Gateway) policyCommand(
	ctx context.Context, caller events.Caller, name string, r PolicyRequest,
	do func(t *seal.Tenant, p *policy.Policy, at uint64) (PolicyAnswer, error),
) (PolicyAnswer, error) {
	if err := permit(caller, events.RoleAdmin); err != nil {
		return PolicyAnswer{}, err
	}
	if name != PolicyName {
		return PolicyAnswer{}, events.ErrNotFound
	}
	p, err := parsePolicy(r.Text)
	if err != nil {
		return PolicyAnswer{}, err
	}
	t, err := g.tenant(ctx, caller.Tenant)
	if err != nil {
		return PolicyAnswer{}, err
	}
	for range maxTries {
		list, err := g.activations(ctx, t.Token())
		if err != nil {
			return PolicyAnswer{}, err
		}
		inForce, at := g.policies.builtin.Ref(), uint64(0)
		if len(list) > 0 {
			last := list[len(list)-1]
			if inForce, at = last.Policy, last.Position; inForce == p.Ref() {
				return policyAnswer(p, last.Recorded), nil
			}
		}
		if r.ExpectedVersion != 0 && r.ExpectedVersion != inForce.Version {
			return PolicyAnswer{}, &events.ConflictError{
				Aggregate: policyAggregate(t.Token()), Expected: events.Expect(r.ExpectedVersion), Actual: uint64(inForce.Version), //nolint:gosec // Versions are above zero.
			}
		}
		if err := g.versionIsFree(p.Ref(), list); err != nil {
			return PolicyAnswer{}, err
		}
		answer, err := do(t, p, at)
		if errors.Is(err, events.ErrConflict) {
			continue
		}
		return answer, err
	}
	return PolicyAnswer{}, fmt.Errorf("activate policy: %w", events.ErrConflict)
}

// parsePolicy says what is wrong with a text as with any other input.
func parsePolicy(s string) (*policy.Policy, error) {
	if s == "" {
		return nil, missing("text")
	}
	p, err := policy.Parse([]byte(s))
	if bad, ok := errors.AsType[*policy.Error](err); ok {
		return nil, refused("bad_policy", cmp.Or(bad.Field, "text"), strings.TrimPrefix(bad.Error(), policy.ErrPolicy.Error()+": "))
	}
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	if p.Ref().Name != PolicyName {
		return nil, refused("bad_policy", "name", "must be "+PolicyName)
	}
	return p, nil
}

// versionIsFree: a version stands for one text, for ever. An earlier policy can be
// put into force again as it was.
func (g *Gateway) versionIsFree(ref events.PolicyRef, list []activation) error {
	taken := g.policies.builtin.Ref()
	isTaken := taken.Version == ref.Version && taken.Hash != ref.Hash
	for _, a := range list {
		isTaken = isTaken || a.Policy.Version == ref.Version && a.Policy.Hash != ref.Hash
	}
	if isTaken {
		return refused("version_taken", "version", "stands for another text already; give the policy the next one")
	}
	return nil
}

// activation is a policy with the commit that put it into force.
type activation struct {
	events.PolicyActivated
	events.Recorded
}

func (g *Gateway) activations(ctx context.Context, tenant string) ([]activation, error) {
	var list []activation
	for r, err := range g.log.ReadAggregate(ctx, policyAggregate(tenant), 0) {
		if err != nil {
			return nil, fmt.Errorf("read policies: %w", err)
		}
		for _, e := range r.Events {
			if e, ok := e.(events.PolicyActivated); ok {
				list = append(list, activation{e, r})
			}
		}
	}
	return list, nil
}

// Policy returns the policy in force, as the log has it. The errors are
// ErrForbidden, ErrNotFound for a name that is no policy's, and the log's.
func (g *Gateway) Policy(ctx context.Context, caller events.Caller, name string) (PolicyAnswer, error) {
	list, err := g.readPolicies(ctx, caller, name)
	if err != nil {
		return PolicyAnswer{}, err
	}
	if len(list) == 0 {
		return PolicyAnswer{PolicyVersion: g.builtinVersion(), Text: g.policies.builtin.Text()}, nil
	}
	last := list[len(list)-1]
	return policyAnswer(g.policies.of(ctx, last.PolicyActivated), last.Recorded), nil
}

// PolicyHistory returns the policies that were in force, the built-in one first.
// The errors are those of Policy.
func (g *Gateway) PolicyHistory(ctx context.Context, caller events.Caller, name string) (PolicyHistory, error) {
	list, err := g.readPolicies(ctx, caller, name)
	if err != nil {
		return PolicyHistory{}, err
	}
	out := PolicyHistory{Policies: []PolicyVersion{g.builtinVersion()}}
	for _, a := range list {
		out.Policies = append(out.Policies, versionOf(a.Policy, a.Recorded))
	}
	return out, nil
}

func (g *Gateway) builtinVersion() PolicyVersion {
	v := versionOf(g.policies.builtin.Ref(), events.Recorded{})
	v.Builtin = true
	return v
}

func (g *Gateway) readPolicies(ctx context.Context, caller events.Caller, name string) ([]activation, error) {
	if err := permit(caller, events.RoleReviewer, events.RoleAuditor, events.RoleAdmin); err != nil {
		return nil, err
	}
	if name != PolicyName {
		return nil, events.ErrNotFound
	}
	t, err := g.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find tenant: %w", err)
	}
	return g.activations(ctx, t.Token())
}

func versionOf(ref events.PolicyRef, r events.Recorded) PolicyVersion {
	return PolicyVersion{
		Name: ref.Name, Version: ref.Version, Hash: ref.Hash,
		ActivatedAt: events.AtOrNil(r.RecordedAt), Position: r.Position, Principal: r.Principal,
	}
}

func policyAnswer(p *policy.Policy, r events.Recorded) PolicyAnswer {
	a := PolicyAnswer{PolicyVersion: versionOf(p.Ref(), r), Text: p.Text()}
	if err := p.Err(); err != nil {
		a.Fault = err.Error()
	}
	return a
}
