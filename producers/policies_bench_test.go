package producers_test

import (
	"fmt"
	"testing"

	"github.com/annals-memory/annals/producers"
)

// BenchmarkPolicyInForce is what a policy adds to a decision that has to read
// which one is in force.
func BenchmarkPolicyInForce(b *testing.B) {
	for name, open := range stores() {
		b.Run(name, func(b *testing.B) {
			f := open(b).open(b)
			f.activate(policyText(b, 2, "0.9"))
			tenant := f.tenant().Token()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.PolicyInForce(b.Context(), tenant); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSimulate is of 300 decisions.
func BenchmarkSimulate(b *testing.B) {
	for name, open := range stores() {
		b.Run(name, func(b *testing.B) {
			f := open(b).open(b)
			source := f.capture("maria", "She lives in Lima.")
			for i := range 300 {
				r := claim(`"Lima"`, day(1), source)
				r.Scope, r.Confidence = fmt.Sprint(i), new(float64(i)/300)
				f.propose(r)
			}
			s, err := producers.NewSimulator(f.Gateway, f.log)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				out, err := s.Simulate(b.Context(), admin("acme"), producers.SimulateRequest{Text: policyText(b, 2, "0.5")})
				if err != nil || out.Decisions != 300 {
					b.Fatal(out.Decisions, err)
				}
			}
		})
	}
}
