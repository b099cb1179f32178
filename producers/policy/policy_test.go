package policy_test

import (
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

func TestDefault(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	if p.Ref().Name != "promotion" || p.Ref().Version != 1 || len(p.Ref().Hash) != 64 {
		t.Errorf("ref %+v", p.Ref())
	}
}

func BenchmarkEvaluate(b *testing.B) {
	p := policy.Default()
	in := policy.Input{Category: "health", Confidence: 0.9, Trust: events.TrustUser, Consent: "granted",
		Evidence: []events.EvidenceBasis{{Found: true, Trust: events.TrustUser}, {Found: true, Trust: events.TrustUser}, {Found: true, Trust: events.TrustUser}}}
	b.ReportAllocs()
	for b.Loop() {
		p.Evaluate(in)
	}
}
