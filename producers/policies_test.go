package producers_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/policy"
)

func admin(tenant string) events.Caller {
	c := user(tenant)
	c.Principal, c.Roles = "root", []events.Role{events.RoleAdmin}
	return c
}

// policyText is the built-in policy, without its examples, as another version with
// another threshold.
func policyText(tb testing.TB, version int, threshold string) string {
	tb.Helper()
	text, _, _ := strings.Cut(policy.Default().Text(), "examples:")
	text = strings.Replace(text, "\nversion: 1\n", fmt.Sprintf("\nversion: %d\n", version), 1)
	return strings.Replace(text, "cand.confidence < 0.95", "cand.confidence < "+threshold, 1)
}

func (f *fixture) activate(text string) producers.PolicyAnswer {
	f.Helper()
	p, err := f.ActivatePolicy(f.Context(), admin("acme"), producers.PolicyName, producers.PolicyRequest{Text: text})
	if err != nil {
		f.Fatal(err)
	}
	return p
}

func (f *fixture) policies() events.Aggregate {
	f.Helper()
	return events.Aggregate{Tenant: f.tenant().Token(), Kind: events.KindPolicy, ID: producers.PolicyName}
}

// Of those who expect the same version to be in force, one wins and the others are
// told.
func TestActivateTogether(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			var (
				wg   sync.WaitGroup
				won  atomic.Int32
				told atomic.Int32
			)
			for i := range 8 {
				f := s.open(t)
				wg.Go(func() {
					_, err := f.ActivatePolicy(t.Context(), admin("acme"), producers.PolicyName, producers.PolicyRequest{
						Text: policyText(t, i+2, "0.9"), ExpectedVersion: 1,
					})
					var conflict *events.ConflictError
					switch {
					case err == nil:
						won.Add(1)
					case errors.As(err, &conflict) && conflict.Actual > 1:
						told.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 || told.Load() != 7 {
				t.Errorf("%d won and %d were told", won.Load(), told.Load())
			}
			f := s.open(t)
			if list := f.commits(f.policies()); len(list) != 1 {
				t.Errorf("%d commits", len(list))
			}
			// The same text together is one activation, which all are answered.
			var positions sync.Map
			for range 8 {
				other := s.open(t)
				wg.Go(func() {
					p, err := other.ActivatePolicy(t.Context(), admin("acme"), producers.PolicyName, producers.PolicyRequest{Text: policyText(t, 20, "0.9")})
					if err != nil {
						t.Error(err)
					}
					positions.Store(p.Position, true)
				})
			}
			wg.Wait()
			n := 0
			positions.Range(func(any, any) bool { n++; return true })
			if list := f.commits(f.policies()); len(list) != 2 || n != 1 {
				t.Errorf("%d commits, and %d positions were answered", len(list), n)
			}
		})
	}
}

// A policy that is in the log and cannot be used any more rejects everything, and
// somebody is told. The next one heals it.
func TestBrokenPolicyRejects(t *testing.T) {
	t.Parallel()
	const text = "name: promotion\nversion: 2\nrules: [{id: r, gate: consent, outcome: review, when: gone(cand)}]\n"
	good := policyText(t, 2, "0.9")
	for name, e := range map[string]events.PolicyActivated{
		"does not compile": {Policy: events.PolicyRef{Name: "promotion", Version: 2, Hash: policy.Hash(text)}, Text: text},
		"is another text":  {Policy: events.PolicyRef{Name: "promotion", Version: 2, Hash: policy.Hash(text)}, Text: good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told bytes.Buffer
			s := inMemory(t)
			keys, err := seal.New(s.rows, s.root, seal.Options{Now: start})
			if err != nil {
				t.Fatal(err)
			}
			g, err := producers.New(producers.Config{
				Log: s.log, Keys: keys, Quarantine: s.quarantine, Now: start, NewID: newID,
				Logger: slog.New(slog.NewTextHandler(&told, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			f := &fixture{Gateway: g, TB: t, store: s, keys: keys}
			source := f.capture("maria", "She lives in Lima.")
			f.append(f.policies(), 0, e)
			for range 2 {
				p := f.propose(claim(`"Lima"`, day(1), source))
				if p.Decision != events.DecisionReject || p.Policy != e.Policy {
					t.Errorf("%s by %+v", p.Decision, p.Policy)
				}
				for _, gate := range p.Gates {
					wantError := gate.Gate == policy.GateConsent || gate.Gate == policy.GateGuardrail ||
						gate.Gate == policy.GateProvenance || gate.Gate == policy.GateConfidence
					if gotError := gate.Reason == policy.ReasonError; gotError != wantError {
						t.Errorf("gate %+v", gate)
					}
				}
			}
			if n := strings.Count(told.String(), "level=ERROR"); n != 1 || !strings.Contains(told.String(), e.Policy.Hash) {
				t.Errorf("told %d times: %s", n, told.String())
			}
			shown, err := f.Policy(t.Context(), admin("acme"), producers.PolicyName)
			if err != nil || shown.Fault == "" || shown.Hash != e.Policy.Hash {
				t.Errorf("shown %+v, %v", shown, err)
			}
			f.activate(policyText(t, 3, "0.9"))
			if p := f.propose(claim(`"Lima"`, day(1), source)); p.Decision != events.DecisionPromote {
				t.Errorf("control: %s, %+v", p.Decision, p.Gates)
			}
		})
	}
}

// reviewAll approves the first of three candidates in maria's city, rejects the
// second, and edits the third and takes that back. It returns how many decisions
// that makes.
func (f *fixture) reviewAll(waiting []string) int {
	f.Helper()
	who := events.Caller{Tenant: "acme", Principal: "rita", Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser}
	request := func(i int) producers.ReviewRequest {
		hash, err := f.slot().Find(waiting[i]).Hash()
		if err != nil {
			f.Fatal(err)
		}
		return producers.ReviewRequest{ContentHash: hash}
	}
	_, err := f.Approve(f.Context(), who, "", waiting[0], request(0))
	_, err2 := f.Reject(f.Context(), who, "", waiting[1], request(1))
	edit := request(2)
	edit.Edit = &producers.FactEdit{Confidence: new(0.97)}
	_, err3 := f.Approve(f.Context(), who, "", waiting[2], edit)
	_, err4 := f.UndoReview(f.Context(), who, "", waiting[2])
	if err := errors.Join(err, err2, err3, err4); err != nil {
		f.Fatal(err)
	}
	return 1 + 1 + 2 + 2
}

// Every decision of the log is made again by the policy that it names, to the
// byte, whatever is in force by then; one that was not made so is found.
func TestDecisionsRepeat(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t).open(t)
			s, err := producers.NewSimulator(f.Gateway, f.log)
			if err != nil {
				t.Fatal(err)
			}
			verify := func() producers.VerifiedDecisions {
				t.Helper()
				v, err := s.VerifyDecisions(t.Context(), f.tenant().Token())
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			total := 0
			var waiting []string
			for i, threshold := range []string{"0.2", "0.6", "0.99"} {
				f.activate(policyText(t, i+2, threshold))
				for i, r := range []producers.ProposeRequest{
					claim(`"Lima"`, day(1), f.capture("maria", "Lima.")),
					claim(`"Cusco"`, day(2), f.capture("maria", "Cusco."), f.capture("maria", "Yes, Cusco.")),
					claim(`"Quito"`, day(3), f.capture("pedro", "Quito.")),
					claim(`"Bogota"`, day(4), newID()),
					claim(`"Lima"`, day(5), f.capture("maria", "Lima again.")),
				} {
					for _, confidence := range []float64{0.1, 0.5, 0.9, 1} {
						r.Confidence, r.Scope, r.Category = new(confidence), fmt.Sprint(i%2), "profile"
						if confidence == 0.5 {
							r.Category = "health"
						}
						f.propose(r)
						total++
					}
				}
				p, err := f.Propose(t.Context(), withTrust(user("acme"), events.TrustTool), "", claim(`"Ica"`, day(6), f.capture("maria", "Ica.")))
				if err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, p.CandidateID)
				total++
			}
			total += f.reviewAll(waiting)
			want := producers.VerifiedDecisions{Decisions: total, Repeated: total, Differing: []uint64{}}
			if diff := cmp.Diff(want, verify()); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			// The one in force simulates what it has decided, and changes the others.
			sim, err := s.Simulate(t.Context(), admin("acme"), producers.SimulateRequest{})
			if err != nil || sim.Decisions != total || sim.Changed == 0 {
				t.Errorf("control: %+v, %v", sim, err)
			}
			p := f.propose(claim(`"Puno"`, day(7), f.capture("maria", "Puno.")))
			last := f.last(events.KindFact, slotOfMaria(f))
			decided, ok := last.Events[0].(events.FactDecided)
			if !ok || decided.Fact != p.CandidateID {
				t.Fatalf("the last commit is no decision: %T", last.Events[0])
			}
			decided.Gates[0].Reason = "bribed"
			f.append(last.Aggregate, last.Position, decided)
			doctored := f.last(events.KindFact, slotOfMaria(f)).Position
			decided.Gates[0].Reason, decided.Policy.Hash = "ok", "elsewhere"
			f.append(last.Aggregate, doctored, decided)
			want = producers.VerifiedDecisions{Decisions: total + 3, Repeated: total + 1, Differing: []uint64{doctored}, NoPolicy: 1}
			if diff := cmp.Diff(want, verify()); diff != "" {
				t.Errorf("one is doctored, one by an unknown policy (-want +got):\n%s", diff)
			}
		})
	}
}

// What is taken from a secret is one, whatever else it was taken from.
func TestSensitivityOfSources(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	f.activate("name: promotion\nversion: 2\nrules:\n" +
		"  - {id: secret_source, gate: guardrail, outcome: reject, when: 'cand.sensitivity == \"secret\"'}\n")
	source := func(sensitivity string) string {
		r := episode("maria", "I live in Rome.")
		r.Sensitivity = sensitivity
		c, err := f.Capture(t.Context(), user("acme"), "", r)
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	ordinary, personal, secret := source(""), source("personal"), source("secret")
	for want, sources := range map[events.Decision][]string{
		events.DecisionPromote: {ordinary, personal}, events.DecisionReject: {ordinary, secret, personal},
	} {
		if p := f.propose(claim(`"Rome"`, day(5), sources...)); p.Decision != want {
			t.Errorf("%+v, want %s", p, want)
		}
	}
	for _, c := range f.slot().Facts {
		for _, e := range c.Decision.Basis.Evidence {
			if want := map[string]string{personal: "personal", secret: "secret"}[e.Episode]; e.Sensitivity != want {
				t.Errorf("%+v", e)
			}
		}
	}
}
