package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"

	"cel.dev/cel-go/common/types"

	"github.com/annals-memory/annals/events"
)

// The gates that the rules of a policy belong to, in the order in which they are
// recorded.
const (
	GateConsent    = "consent"
	GateGuardrail  = "guardrail"
	GateProvenance = "provenance"
	GateConfidence = "confidence"
)

// The reasons of a gate that are the id of no rule.
const (
	// ReasonOK: no rule of the gate held.
	ReasonOK = "ok"
	// ReasonError: a rule could not be evaluated, or the policy not be read.
	ReasonError = "policy_error"
)

func gates() []string {
	return []string{GateConsent, GateGuardrail, GateProvenance, GateConfidence}
}

// Policy is a policy that was checked. It does not change and is safe for
// concurrent use.
type Policy struct {
	ref        events.PolicyRef
	text       string
	rules      []rule
	categories map[string]Category
	retention  Retention
	examples   int
	// broken is why it cannot be used, nil if it can.
	broken error
}

// Ref names the exact policy.
func (p *Policy) Ref() events.PolicyRef { return p.ref }

// Text is the canonical text: as given, with Unix line ends and one at its end.
func (p *Policy) Text() string { return p.text }

// Rules is the number of rules.
func (p *Policy) Rules() int { return len(p.rules) }

// Examples is the number of examples that hold.
func (p *Policy) Examples() int { return p.examples }

// Err is why a policy of [Broken] cannot be used, nil of any other.
func (p *Policy) Err() error { return p.broken }

// Broken stands for a policy that is in force and cannot be read any more: it
// rejects everything.
func Broken(ref events.PolicyRef, text string, cause error) *Policy {
	return &Policy{ref: ref, text: text, retention: keepAll(), broken: cause}
}

// Hash is the hex SHA-256 of a canonical text.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Evaluate returns the gates consent, guardrail, provenance and confidence with
// the worst outcome of their rules each, promoted if none holds. The reason is the
// id of the first rule with that outcome, [ReasonOK] or [ReasonError]. It is pure.
func (p *Policy) Evaluate(in Input) []events.Gate {
	list := make([]events.Gate, 0, len(gates()))
	outcome, reason := events.DecisionPromote, ReasonOK
	if p.cannotJudge(&in) {
		outcome, reason = events.DecisionReject, ReasonError
	}
	for _, g := range gates() {
		list = append(list, events.Gate{Gate: g, Outcome: outcome, Reason: reason})
	}
	if reason == ReasonError {
		return list
	}
	p.each(&in, func(r *rule, err error) {
		g := &list[slices.Index(gates(), r.gate)]
		switch {
		case err != nil && g.Outcome != events.DecisionReject:
			g.Outcome, g.Reason = events.DecisionReject, ReasonError
		case err == nil && severity(r.outcome) > severity(g.Outcome):
			g.Outcome, g.Reason = r.outcome, r.id
		}
	})
	return list
}

// Approvals is the number of distinct reviewers whose approval lifts what the
// rules that hold ask for: the most that one of them asks for, and at least 1.
// What a policy rejects no approval lifts.
func (p *Policy) Approvals(in Input) int {
	n := 1
	if !p.cannotJudge(&in) {
		p.each(&in, func(r *rule, err error) {
			if err == nil {
				n = max(n, r.approvals)
			}
		})
	}
	return n
}

// cannotJudge reports whether no rule could say anything sensible: of a number
// that is none, every comparison is false. No input is larger than the one that the
// cost of the rules was told for.
func (p *Policy) cannotJudge(in *Input) bool {
	return p.broken != nil || math.IsNaN(in.Confidence) || math.IsInf(in.Confidence, 0) ||
		in.Trust < events.TrustExternal || in.Trust > events.TrustSystem || in.isTooLarge()
}

// each calls do with each rule that holds, or that failed.
func (p *Policy) each(in *Input, do func(r *rule, err error)) {
	v := &vars{in: in, category: p.Category(in.Category)}
	for i := range p.rules {
		r := &p.rules[i]
		out, _, err := r.program.Eval(v)
		switch {
		case err != nil:
			do(r, err)
		case out == types.True:
			do(r, nil)
		case out != types.False:
			do(r, errNotBool)
		}
	}
}

// severity orders the outcomes, best first.
func severity(d events.Decision) int {
	switch d {
	case events.DecisionPromote:
		return 0
	case events.DecisionReview:
		return 1
	case events.DecisionQuarantine:
		return 2
	case events.DecisionReject:
	}
	return 3
}
