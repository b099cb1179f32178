package query

import (
	"slices"

	"github.com/annals-memory/annals/events"
)

// Scanner is the guardrail of today: it says of a text whether it looks like an
// instruction to the agent. It must be a pure function and safe for concurrent use.
type Scanner interface {
	Scan(text string) events.Guard
	// Rules is the name of the rules in what Scan returns.
	Rules() string
}

const (
	// WithheldScore is the score from which on what a tool or somebody outside has
	// said is withheld from agents.
	WithheldScore = 80
	// withheldPerResult bounds how many memories a recall withholds for each one
	// that is wanted, and so what it scans; the rest are not looked at.
	withheldPerResult = 2
)

// suspicious reports whether a memory of low trust looks like an instruction to
// the agent: as was found when it was written or, if that was by other rules than
// today's, as is found now.
func (s *Service) suspicious(trust events.Trust, found events.Guard, text func() string) bool {
	if !trust.IsUntrusted() {
		return false
	}
	if s.scanner != nil && found.Rules != s.scanner.Rules() {
		found = s.scanner.Scan(text())
	}
	return found.Score >= WithheldScore
}

// suspiciousFact leaves out what a reviewer has approved.
func (s *Service) suspiciousFact(f *events.SlotFact, c *events.FactContent) bool {
	approved := slices.ContainsFunc(f.Standing(), func(r events.Review) bool { return r.Verdict == events.VerdictApprove })
	return !approved && s.suspicious(f.Trust, f.Guard, func() string { return c.FreeText() + "\n" + c.Names() })
}

// suspects reports the same of a candidate that was opened.
func (s *Service) suspects(c *candidate, plain []byte) (bool, error) {
	if !c.trust.IsUntrusted() {
		return false, nil
	}
	if c.episode != nil {
		content, err := parse[events.EpisodeContent](plain)
		return err == nil && s.suspicious(c.episode.Trust, c.episode.Guard, func() string {
			return content.FreeText() + "\n" + content.Names()
		}), err
	}
	content, err := parse[events.FactContent](plain)
	return err == nil && s.suspiciousFact(&c.fact.SlotFact, &content), err
}

// seesAll reports whether nothing is withheld from the caller for what it says. An
// agent is one whatever else it may.
func seesAll(caller events.Caller) bool {
	return caller.Has(events.RoleReviewer, events.RoleAdmin) && !caller.Has(events.RoleAgent)
}

// withhold takes the suspicious facts out for whoever must not see them, and counts
// them.
func withhold(caller events.Caller, facts []Fact) (left []Fact, omitted int) {
	if seesAll(caller) {
		return facts, 0
	}
	left = slices.DeleteFunc(facts, func(f Fact) bool { return f.Suspicious })
	return left, len(facts) - len(left)
}
