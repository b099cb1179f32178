package policy

import (
	"strconv"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

const (
	maxRules     = 200
	maxApprovals = 5
	maxID        = 64
)

// rule is one rule, compiled.
type rule struct {
	id        string
	gate      string
	outcome   events.Decision
	approvals int
	program   cel.Program
	cost      uint64
}

// outcomes are the words of a file for what a rule can say.
func outcomes() map[string]events.Decision {
	return map[string]events.Decision{
		"promote": events.DecisionPromote, "review": events.DecisionReview,
		"quarantine": events.DecisionQuarantine, "reject": events.DecisionReject,
	}
}

func (p *Policy) readRules(n *yaml.Node, field string, l *language) error {
	ids := map[string]bool{ReasonOK: true, ReasonError: true, "approved": true}
	cost := uint64(0)
	return entries(n, field, maxRules, func(field string, n *yaml.Node) error {
		r, err := readRule(n, field, l)
		cost += r.cost
		switch {
		case err != nil:
		case ids[r.id]:
			err = fault(n, field+".id", "is given twice or stands for something else")
		case cost > maxCostOfAll:
			err = fault(n, field+".when", "costs up to "+strconv.FormatUint(cost, 10)+" steps with the rules before it, more than "+strconv.Itoa(maxCostOfAll))
		}
		if err != nil {
			return ofRule(err, r.id)
		}
		ids[r.id] = true
		p.rules = append(p.rules, r)
		return nil
	})
}

func readRule(n *yaml.Node, field string, l *language) (rule, error) {
	r, outcome, when := rule{approvals: 1}, "", n
	var condition string
	err := readers{
		"id": func(field string, n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode || !validID(n.Value) {
				return fault(n, field, "must be 1 to "+strconv.Itoa(maxID)+" characters of a-z, 0-9, _ and -, a letter first")
			}
			r.id = n.Value
			return nil
		},
		"gate":    word(&r.gate, gates()...),
		"outcome": word(&outcome, "review", "quarantine", "reject"),
		"when": func(field string, n *yaml.Node) error {
			when = n
			return text(&condition, 4*maxCondition)(field, n)
		},
		"approvals": whole(&r.approvals, 1, maxApprovals),
	}.read(n, field, "id", "gate", "when", "outcome")
	if err != nil {
		return r, err
	}
	r.outcome = outcomes()[outcome]
	if r.outcome == events.DecisionReject && r.approvals > 1 {
		return r, fault(n, field+".approvals", "cannot lift a rejection")
	}
	var wrong string
	r.program, r.cost, wrong = l.compile(token.NFC(condition)) // as the names that it is compared with
	if wrong != "" {
		return r, fault(when, field+".when", wrong)
	}
	return r, nil
}

// ofRule adds the id of the rule that an error is about.
func ofRule(err error, id string) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // it is made here and not wrapped
		e.Rule = id
	}
	return err
}

func validID(s string) bool {
	if s == "" || len(s) > maxID || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
