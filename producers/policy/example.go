package policy

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

const maxExamples = 200

// plain is the input that an example changes: a certain statement of a user, from
// one living source.
func plain() Input {
	return Input{
		Predicate: "prefers", Category: "general", Confidence: 1, Trust: events.TrustUser,
		Evidence: []events.EvidenceBasis{plainSource()}, At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func plainSource() events.EvidenceBasis {
	return events.EvidenceBasis{Found: true, Trust: events.TrustUser}
}

func (p *Policy) runExamples(n *yaml.Node, field string) error {
	names := make(map[string]bool)
	return entries(n, field, maxExamples, func(field string, n *yaml.Node) error {
		name, want, rule, in := "", "", "", plain()
		err := readers{
			"name":  text(&name, maxString),
			"want":  word(&want, "promote", "review", "quarantine", "reject"),
			"rule":  text(&rule, maxID),
			"input": readInput(&in),
		}.read(n, field, "name", "want")
		switch {
		case err != nil:
		case names[name]:
			err = fault(n, field+".name", "is given twice")
		default:
			names[name] = true
			p.examples++
			err = p.runExample(n, field, in, want, rule)
		}
		if e, ok := err.(*Error); ok { //nolint:errorlint // it is made here and not wrapped
			e.Example = name
		}
		return err
	})
}

// runExample holds the worst gate of an input against what an example wants.
func (p *Policy) runExample(n *yaml.Node, field string, in Input, want, rule string) error {
	worst := events.Gate{Outcome: events.DecisionPromote, Reason: ReasonOK}
	found := false
	for _, g := range p.Evaluate(in) {
		if severity(g.Outcome) > severity(worst.Outcome) {
			worst, found = g, false
		}
		found = found || g.Outcome == worst.Outcome && g.Reason == rule
	}
	switch {
	case worst.Outcome != outcomes()[want]:
		return fault(n, field+".want", fmt.Sprintf("wants %s and comes out as %s by %s", want, wordOf(worst.Outcome), worst.Reason))
	case rule != "" && !found:
		return fault(n, field+".rule", fmt.Sprintf("wants it by %s and comes out by %s", rule, worst.Reason))
	}
	return nil
}

// wordOf is an outcome as a file writes it.
func wordOf(d events.Decision) string {
	for word, o := range outcomes() {
		if o == d {
			return word
		}
	}
	return string(d)
}

func readInput(in *Input) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		return readers{
			"predicate": text(&in.Predicate, maxString),
			"category": func(field string, n *yaml.Node) error {
				err := text(&in.Category, maxString)(field, n)
				in.Category = token.CategoryName(in.Category)
				return err
			},
			"scope":      text(&in.Scope, maxString),
			"confidence": share(&in.Confidence),
			"trust":      trust(&in.Trust),
			"context": func(field string, n *yaml.Node) error {
				err := trust(&in.Context)(field, n)
				if err == nil {
					in.Trust = min(in.Trust, in.Context)
				}
				return err
			},
			"traces":   whole(&in.Traces, 0, maxList),
			"guard":    readGuard(&in.Guard),
			"consent":  word(&in.Consent, events.ConsentGiven, events.ConsentTakenBack),
			"conflict": text(&in.Conflict, maxString),
			"at":       instant(&in.At),
			"evidence": func(field string, n *yaml.Node) error {
				in.Evidence = nil
				return entries(n, field, maxList, func(field string, n *yaml.Node) error {
					e := plainSource()
					err := readers{
						"trust": trust(&e.Trust), "sensitivity": word(&e.Sensitivity, sensitivities()...), "found": boolean(&e.Found), "forgotten": boolean(&e.Forgotten),
						"other": boolean(&e.Other), "retired": boolean(&e.Retired),
						"principal": text(&e.Principal, maxString), "guard": readGuard(&e.Guard),
					}.read(n, field)
					in.Evidence = append(in.Evidence, e)
					return err
				})
			},
			"reviews": func(field string, n *yaml.Node) error {
				return entries(n, field, maxList, func(field string, n *yaml.Node) error {
					var r events.ReviewBasis
					err := readers{
						"reviewer": text(&r.Reviewer, maxString),
						"verdict":  word(&r.Verdict, events.VerdictApprove, events.VerdictReject, events.VerdictEdit),
					}.read(n, field, "reviewer", "verdict")
					in.Reviews = append(in.Reviews, r)
					return err
				})
			},
		}.read(n, field)
	}
}

func readGuard(g *events.Guard) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		return readers{
			"score": whole(&g.Score, 0, 100), "hits": texts(&g.Hits),
			"secrets": whole(&g.Secrets, 0, 1_000_000), "personal": texts(&g.Personal),
		}.read(n, field)
	}
}

func trust(to *events.Trust) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		t, err := events.ParseTrust(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			return fault(n, field, "must be external, tool, agent, user, human_verified or system")
		}
		*to = t
		return nil
	}
}

func instant(to *time.Time) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		t, err := time.Parse(time.RFC3339Nano, n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			return fault(n, field, "must be a time as in RFC 3339")
		}
		*to = t.UTC()
		return nil
	}
}
