package query

import (
	"context"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
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

func (s *Service) suspiciousEpisode(row *projectors.EpisodeRow, c *events.EpisodeContent) bool {
	return s.suspicious(row.Trust, row.Guard, func() string { return c.FreeText() + "\n" + c.Names() })
}

// suspects reports the same of a candidate that was opened.
func (s *Service) suspects(c *candidate, plain []byte) (bool, error) {
	if !c.trust.IsUntrusted() {
		return false, nil
	}
	if c.episode != nil {
		content, err := parse[events.EpisodeContent](plain)
		return err == nil && s.suspiciousEpisode(c.episode, &content), err
	}
	content, err := parse[events.FactContent](plain)
	return err == nil && s.suspiciousFact(&c.fact.SlotFact, &content), err
}

// seesAll reports whether nothing is withheld from the caller for what it says. An
// agent is one whatever else it may.
func seesAll(caller events.Caller) bool {
	return caller.Has(events.RoleReviewer, events.RoleAdmin) && !caller.Has(events.RoleAgent)
}

// withhold takes the suspicious ones out for whoever must not see them, and counts
// them.
func withhold[T interface{ isSuspicious() bool }](r *reading, list []T) (left []T, omitted int) {
	if r.all {
		return list, 0
	}
	left = slices.DeleteFunc(list, T.isSuspicious)
	return left, len(list) - len(left)
}

func (f Fact) isSuspicious() bool { return f.Suspicious }

func (e Episode) isSuspicious() bool { return e.Suspicious }

// withholds reports whether a fact is one that is withheld from the caller.
func (s *Service) withholds(ctx context.Context, r *reading, row *projectors.FactRow) (bool, error) {
	if r.all || !row.Trust.IsUntrusted() {
		return false, nil
	}
	opened, err := s.openAll(ctx, []seal.Item{factItem(row)})
	if err != nil || opened[0] == nil { // what is forgotten is told by whoever looks for tombstones
		return false, err
	}
	content, err := parse[events.FactContent](opened[0])
	return err == nil && s.suspiciousFact(&row.SlotFact, &content), err
}
