package producers_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

// Who is not trusted is not told that a subject is under a legal hold; who is trusted
// is. Nothing is written either way, and the call under its key does it afterwards.
func TestUniformAnswerUnderHold(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	source := f.capture("maria", "I live in Rome.")
	tool := withTrust(user("acme"), events.TrustTool)
	r := claim(`"Oslo"`, day(9), source)
	free, err := f.Propose(t.Context(), tool, "free", r)
	if err != nil {
		t.Fatal(err)
	}
	subject := f.last(events.KindSubject, f.captured(source).Subject)
	f.append(subject.Aggregate, subject.Position, events.SubjectHeld{Hold: "case-1"})
	n := f.messages()
	why := producers.RetractRequest{Reason: "r"}
	for _, trust := range []events.Trust{events.TrustExternal, events.TrustTool} {
		who, key := withTrust(user("acme"), trust), trust.String()
		got, err := f.Propose(t.Context(), who, key, r)
		if err != nil {
			t.Fatalf("%s: %v", trust, err)
		}
		if diff := cmp.Diff(free, got, cmpopts.IgnoreFields(producers.Proposed{}, "CandidateID", "Position")); diff != "" {
			t.Errorf("%s: %s", trust, diff)
		}
		if got.CandidateID != commandID(f.tenant(), key) || got.Position == 0 {
			t.Errorf("%s: %+v", trust, got)
		}
		if w, err := f.Retract(t.Context(), who, "", got.CandidateID, why); err != nil || w.Position == 0 {
			t.Errorf("%s cannot withdraw it: %v", trust, err)
		}
		if _, err := f.Retract(t.Context(), who, "", free.CandidateID, why); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s withdraws what is held: %v", trust, err)
		}
	}
	if _, err := f.Propose(t.Context(), user("acme"), "", r); !errors.Is(err, events.ErrHeld) {
		t.Errorf("a user proposes: %v", err)
	}
	if _, err := f.Retract(t.Context(), user("acme"), "", free.CandidateID, why); !errors.Is(err, events.ErrHeld) {
		t.Errorf("a user retracts: %v", err)
	}
	if m := f.messages(); m != n {
		t.Errorf("%d messages, want %d", m, n)
	}
	subject = f.last(events.KindSubject, f.captured(source).Subject)
	f.append(subject.Aggregate, subject.Position, events.SubjectReleased{Hold: "case-1"})
	after, err := f.Propose(t.Context(), tool, "tool", r)
	if err != nil || f.slot().Find(after.CandidateID) == nil || f.messages() != n+3 {
		t.Errorf("after the hold: %+v, %v", after, err)
	}
}
