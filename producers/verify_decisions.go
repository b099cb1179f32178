package producers

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers/policy"
)

// maxDiffering is how many decisions a verification names.
const maxDiffering = 100

// VerifiedDecisions is what came of making decisions again.
type VerifiedDecisions struct {
	// Decisions is the number of all, Repeated that of those that are the same to
	// the byte when they are made again by the policy that they name.
	Decisions int `json:"decisions"`
	Repeated  int `json:"repeated"`
	// Differing are the positions of the first of those that are not.
	Differing []uint64 `json:"differing"`
	// NoPolicy counts decisions by a policy that the log does not have and that is
	// not the built-in one.
	NoPolicy int     `json:"no_policy"`
	Skipped  Skipped `json:"skipped"`
}

// Verify is VerifyDecisions of the caller's tenant. The error is also ErrForbidden
// to who is neither reviewer, auditor nor admin.
func (s *Simulator) Verify(ctx context.Context, caller events.Caller) (VerifiedDecisions, error) {
	if err := permit(caller, events.RoleReviewer, events.RoleAuditor, events.RoleAdmin); err != nil {
		return VerifiedDecisions{}, err
	}
	t, err := s.gateway.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return VerifiedDecisions{Differing: []uint64{}}, nil
	}
	if err != nil {
		return VerifiedDecisions{}, fmt.Errorf("find tenant: %w", err)
	}
	return s.VerifyDecisions(ctx, t.Token())
}

// VerifyDecisions makes every recorded decision of a tenant, given by its token,
// again. It writes nothing. The errors are those of the log and the keys.
func (s *Simulator) VerifyDecisions(ctx context.Context, tenant string) (VerifiedDecisions, error) {
	known, err := s.policiesOf(ctx, tenant)
	if err != nil {
		return VerifiedDecisions{}, err
	}
	out := VerifiedDecisions{Differing: []uint64{}}
	run := s.run(int(^uint(0) >> 1))
	run.tenant = tenant
	run.do = func(d *simulated, content events.FactContent) error {
		by := known[d.decided.Policy.Hash]
		if by == nil {
			out.NoPolicy++
			return nil
		}
		same, err := isRepeated(d, content, by)
		switch {
		case err != nil:
			return err
		case same:
			out.Repeated++
		case len(out.Differing) < maxDiffering:
			out.Differing = append(out.Differing, d.position)
		}
		return nil
	}
	if err := run.walk(ctx); err != nil {
		return VerifiedDecisions{}, err
	}
	out.Decisions, out.Skipped = run.out.Decisions, run.out.Skipped
	return out, nil
}

// policiesOf are the policies that were ever in force, by their hash.
func (s *Simulator) policiesOf(ctx context.Context, tenant string) (map[string]*policy.Policy, error) {
	list, err := s.gateway.activations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	builtin := s.gateway.policies.builtin
	known := map[string]*policy.Policy{builtin.Ref().Hash: builtin}
	for _, a := range list {
		if known[a.Policy.Hash] == nil {
			known[a.Policy.Hash] = s.gateway.policies.of(ctx, a.PolicyActivated)
		}
	}
	return known, nil
}

func isRepeated(d *simulated, content events.FactContent, by *policy.Policy) (bool, error) {
	recorded, err := json.Marshal(d.decided, json.Deterministic(true))
	if err != nil {
		return false, fmt.Errorf("encode decision: %w", events.ErrInvalid)
	}
	again, err := json.Marshal(Again(d.decided, d.candidate, content, by), json.Deterministic(true))
	if err != nil {
		return false, fmt.Errorf("encode decision: %w", events.ErrInvalid)
	}
	return bytes.Equal(recorded, again), nil
}
