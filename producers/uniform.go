package producers

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// isUntrusted says whether nothing of the caller is promoted without a review.
func isUntrusted(c events.Caller) bool { return c.Trust <= events.TrustTool }

// uniform is what an untrusted caller is told of a candidate that is not promoted:
// that it waits for a review, whatever is wrong with it. Else what was rejected, and
// why, would tell what is kept and how to get around the gates.
func uniform(p Proposed) Proposed {
	if p.Decision == events.DecisionPromote {
		return p
	}
	p.Decision, p.FactID, p.Superseded = events.DecisionReview, "", []string{}
	p.Gates = []events.Gate{gate(GateProvenance, events.DecisionReview, ReasonLowTrust)}
	return p
}

// emptied is a proposal of a value that is kept out, without it: it has no source,
// so that it is rejected, and its caller waits as long as for any other.
func emptied(r ProposeRequest) ProposeRequest {
	r.Value, r.SourceEpisodes, r.Provenance = jsontext.Value("null"), nil, nil
	return r
}
