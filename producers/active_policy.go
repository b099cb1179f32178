package producers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// PolicyName is the name of the policy that decides on candidates, the only one
// that there is. It is the id of its aggregate too.
const PolicyName = "promotion"

// maxPolicies bounds the policies that are kept compiled.
const maxPolicies = 256

// policies keeps policies compiled, by the hash of their text.
type policies struct {
	builtin *policy.Policy
	log     *slog.Logger

	mu     sync.Mutex
	byHash map[string]*policy.Policy
}

func newPolicies(log *slog.Logger) *policies {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	builtin := policy.Default()
	return &policies{builtin: builtin, log: log, byHash: map[string]*policy.Policy{}}
}

// of is an activated policy, ready for use. One that cannot be read any more is
// [policy.Broken], which rejects everything, and is told to the log when it is first
// needed, not at each decision.
func (p *policies) of(ctx context.Context, e events.PolicyActivated) *policy.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.byHash[e.Policy.Hash]; ok {
		return known
	}
	ready := p.load(e)
	if err := ready.Err(); err != nil {
		p.log.LogAttrs(ctx, slog.LevelError, "the policy in force cannot be used: everything that is proposed is rejected",
			slog.String("policy", e.Policy.Name), slog.Int("version", e.Policy.Version),
			slog.String("hash", e.Policy.Hash), slog.String("cause", err.Error()))
	}
	if len(p.byHash) >= maxPolicies {
		for hash := range p.byHash { // any of them: it is read again if it is needed
			delete(p.byHash, hash)
			break
		}
	}
	p.byHash[e.Policy.Hash] = ready
	return ready
}

func (p *policies) load(e events.PolicyActivated) *policy.Policy {
	if e.Policy == p.builtin.Ref() {
		return p.builtin
	}
	ready, err := policy.Parse([]byte(e.Text))
	if err == nil && ready.Ref() != e.Policy {
		err = fmt.Errorf("%w: its text is not the one that was activated", policy.ErrPolicy)
	}
	if err != nil {
		return policy.Broken(e.Policy, e.Text, err)
	}
	return ready
}

func policyAggregate(tenant string) events.Aggregate {
	return events.Aggregate{Tenant: tenant, Kind: events.KindPolicy, ID: PolicyName}
}

// policyOf is the policy in force in a tenant, given by its token, by the log
// itself.
func (g *Gateway) policyOf(ctx context.Context, tenant string) (*policy.Policy, error) {
	last, err := g.log.Last(ctx, policyAggregate(tenant))
	if errors.Is(err, events.ErrNoCommits) {
		return g.policies.builtin, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	for _, e := range slices.Backward(last.Events) {
		if e, ok := e.(events.PolicyActivated); ok {
			return g.policies.of(ctx, e), nil
		}
	}
	return nil, fmt.Errorf("read policy: %w", events.ErrCorrupt)
}

// PolicyInForce is the policy in force in a tenant, given by its token: until one
// is activated, the built-in one.
func (g *Gateway) PolicyInForce(ctx context.Context, tenant string) (*policy.Policy, error) {
	return g.policyOf(ctx, tenant)
}
