package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/annals-memory/annals/events"
)

// source, scan and review are what conditions see of the lists of an input.
type source struct {
	Trust       int64  `cel:"trust"`
	Sensitivity string `cel:"sensitivity"`
	Found       bool   `cel:"found"`
	Forgotten   bool   `cel:"forgotten"`
	Other       bool   `cel:"other"`
	Retired     bool   `cel:"retired"`
	Guard       scan   `cel:"guard"`
}

type scan struct {
	Score    int64    `cel:"score"`
	Hits     []string `cel:"hits"`
	Secrets  int64    `cel:"secrets"`
	Personal []string `cel:"personal"`
}

type review struct {
	Reviewer string `cel:"reviewer"`
	Verdict  string `cel:"verdict"`
}

func scanOf(g events.Guard) scan {
	return scan{Score: int64(g.Score), Hits: g.Hits, Secrets: int64(g.Secrets), Personal: g.Personal}
}

// vars are the variables of one evaluation of all rules.
type vars struct {
	in       *Input
	category Category
	evidence []source
	reviews  []review

	counted             bool
	sources, principals int
}

// Parent implements [cel.Activation].
func (*vars) Parent() cel.Activation { return nil }

// ResolveName implements [cel.Activation].
func (v *vars) ResolveName(name string) (any, bool) {
	in := v.in
	switch name {
	case "cand.predicate":
		return types.String(in.Predicate), true
	case "cand.category":
		return types.String(in.Category), true
	case "cand.scope":
		return types.String(in.Scope), true
	case "cand.confidence":
		return types.Double(in.Confidence), true
	case "cand.trust":
		return types.Int(in.Trust), true
	case "cand.sensitivity":
		return types.String(in.sensitivity()), true
	case "cand.context":
		return types.Int(in.Context), true
	case "cand.traces":
		return types.Int(in.Traces), true
	case "cand.sources":
		v.count()
		return types.Int(v.sources), true
	case "cand.principals":
		v.count()
		return types.Int(v.principals), true
	case "cand.special":
		return types.Bool(v.category.Special), true
	case "cand.needs_consent":
		return types.Bool(v.category.NeedsConsent), true
	case "cand.guard.score":
		return types.Int(in.Guard.Score), true
	case "cand.guard.secrets":
		return types.Int(in.Guard.Secrets), true
	case "cand.guard.hits":
		return in.Guard.Hits, true
	case "cand.guard.personal":
		return in.Guard.Personal, true
	case "evidence":
		return v.evidenceList(), true
	case "consent":
		return types.String(in.Consent), true
	case "conflict":
		return types.String(in.Conflict), true
	case "reviews":
		return v.reviewList(), true
	case "at":
		return types.Timestamp{Time: in.At}, true
	}
	return nil, false
}

func (v *vars) count() {
	if !v.counted {
		v.sources, v.principals = v.in.living()
		v.counted = true
	}
}

func (v *vars) evidenceList() []source {
	if v.evidence == nil {
		v.evidence = make([]source, 0, len(v.in.Evidence))
		for _, e := range v.in.Evidence {
			v.evidence = append(v.evidence, source{
				Trust: int64(e.Trust), Sensitivity: sensitivityOf(e.Sensitivity), Found: e.Found, Forgotten: e.Forgotten,
				Other: e.Other, Retired: e.Retired, Guard: scanOf(e.Guard),
			})
		}
	}
	return v.evidence
}

func (v *vars) reviewList() []review {
	if v.reviews == nil {
		v.reviews = make([]review, 0, len(v.in.Reviews))
		for _, r := range v.in.Reviews {
			v.reviews = append(v.reviews, review{Reviewer: r.Reviewer, Verdict: string(r.Verdict)})
		}
	}
	return v.reviews
}
