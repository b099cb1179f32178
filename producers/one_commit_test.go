package producers_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/policy"
)

// Logs of an earlier version hold the candidate and the decision on it in one
// commit, under the candidate's id. Such a fact is superseded, confirmed and
// retracted like any other, and its command has its first answer.
func TestOneCommit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		log := &faultyLog{Log: s.log, kind: events.KindFact}
		log.before = unavailable
		f := s.openOn(t, log, s.rows)
		ctx, who, e := t.Context(), user("acme"), f.capture("maria", "moved")
		r := claim(`"Rome"`, day(3), e)
		// The command makes its key and no commit; the commit is that of the earlier version.
		if _, err := f.Propose(ctx, who, "key", r); !errors.Is(err, events.ErrUnavailable) {
			t.Fatal(err)
		}
		want := f.proposeInOneCommit("key", r)
		n := f.messages()
		got, err := f.Propose(ctx, who, "key", r)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		if m := f.messages(); m != n {
			t.Errorf("%d messages, want %d", m, n)
		}
		if p := f.propose(claim(`"Rome"`, day(4), e)); p.FactID != want.FactID {
			t.Errorf("not confirmed: %+v", p)
		}
		oslo := f.propose(claim(`"Oslo"`, day(9), e))
		if diff := cmp.Diff([]string{want.FactID}, oslo.Superseded); diff != "" {
			t.Error(diff)
		}
		if f.valueAt(day(5)) != `"Rome"` || f.valueAt(day(10)) != `"Oslo"` {
			t.Errorf("%s, then %s", f.valueAt(day(5)), f.valueAt(day(10)))
		}
		if _, err := f.Retract(ctx, who, "", want.FactID, producers.RetractRequest{Reason: "r"}); err != nil {
			t.Error(err)
		}
		if got, err := f.Propose(ctx, who, "key", r); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// proposeInOneCommit writes what a command on maria's city left in the log, and
// returns what it answered.
func (f *fixture) proposeInOneCommit(key string, r producers.ProposeRequest) producers.Proposed {
	f.Helper()
	t := f.tenant()
	id := commandID(t, key)
	rec, err := f.keys.Record(f.Context(), t.Token(), id)
	if err != nil {
		f.Fatal(err)
	}
	plain, err := json.Marshal(events.FactContent{
		Subject: r.Subject, Predicate: r.Predicate, Value: jsontext.Value(`"Rome"`), Category: r.Category,
	})
	if err != nil {
		f.Fatal(err)
	}
	content, err := rec.Seal(seal.Label{Aggregate: "fact", Record: id, EventType: events.TypeFactProposed}, plain)
	if err != nil {
		f.Fatal(err)
	}
	decided := events.FactDecided{
		Fact: id, Decision: events.DecisionPromote, Into: id, Policy: policy.Default().Ref(),
		Gates: []events.Gate{{Gate: producers.GateIdentity, Outcome: events.DecisionPromote, Reason: producers.ReasonOK}},
	}
	ack, err := f.log.Append(f.Context(), events.Commit{
		ID:        id,
		Aggregate: events.Aggregate{Tenant: t.Token(), Kind: events.KindFact, ID: slotOfMaria(f)},
		Time:      start(),
		Events: []events.Event{
			events.FactProposed{
				Fact: id, Subject: rec.Scope().Subject, Class: rec.Scope().Class, Category: rec.Scope().Class,
				Predicate: t.Hash("predicate", r.Predicate), Confidence: 1, Trust: events.TrustUser, ObservedAt: r.ObservedAt.Time,
				Sources: []events.SourceRef{{Episode: r.SourceEpisodes[0], Subject: rec.Scope().Subject}}, Content: content,
			},
			decided,
			events.FactPromoted{Fact: id, Valid: []events.Interval{{From: r.ObservedAt.Time}}},
		},
	}, events.ExpectNew)
	if err != nil {
		f.Fatal(err)
	}
	return producers.Proposed{
		CandidateID: id, Decision: decided.Decision, FactID: id, Superseded: []string{},
		Gates: decided.Gates, Policy: decided.Policy, Position: ack.Position,
	}
}

// commandID is the id of a proposal of user's under a key.
func commandID(t *seal.Tenant, key string) string {
	return token.Command(t, "propose", user("").Principal, key, "")
}
