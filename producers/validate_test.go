package producers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

const someID = "0190a1b2-0000-7000-8000-000000000001"

type rule struct {
	kind        events.InputKind
	code, field string
}

func entries(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("e%d", i)
	}
	return out
}

func TestCaptureRules(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	type change = func(r *producers.CaptureRequest)
	text := func(set func(r *producers.CaptureRequest, s string), s string) change {
		return func(r *producers.CaptureRequest) { set(r, s) }
	}
	subject := func(r *producers.CaptureRequest, s string) { r.Subject = s }
	long := strings.Repeat("ä", producers.MaxName+1)
	for name, tt := range map[string]struct {
		change change
		want   rule
	}{
		"no subject":        {text(subject, ""), rule{events.Malformed, "missing", "subject"}},
		"blank subject":     {text(subject, " \t"), rule{events.Malformed, "missing", "subject"}},
		"NUL subject":       {text(subject, "\x00tenant"), rule{events.Malformed, "control_character", "subject"}},
		"line in subject":   {text(subject, "a\nb"), rule{events.Malformed, "control_character", "subject"}},
		"C1 in subject":     {text(subject, "a\u0085b"), rule{events.Malformed, "control_character", "subject"}},
		"broken subject":    {text(subject, "a\xff"), rule{events.Malformed, "not_utf8", "subject"}},
		"surrogate subject": {text(subject, "a\xed\xa0\x80"), rule{events.Malformed, "not_utf8", "subject"}},
		"long subject":      {text(subject, long), rule{events.TooLarge, "too_large", "subject"}},
		"no text":           {func(r *producers.CaptureRequest) { r.Text = "" }, rule{events.Malformed, "missing", "text"}},
		"NUL text":          {func(r *producers.CaptureRequest) { r.Text = "a\x00" }, rule{events.Malformed, "nul", "text"}},
		"broken text":       {func(r *producers.CaptureRequest) { r.Text = "a\xc3" }, rule{events.Malformed, "not_utf8", "text"}},
		"long text": {
			func(r *producers.CaptureRequest) { r.Text = strings.Repeat("a", producers.MaxText+1) },
			rule{events.TooLarge, "too_large", "text"},
		},
		"future": {
			func(r *producers.CaptureRequest) {
				r.OccurredAt = at(start().Add(producers.ClockSlack + time.Millisecond))
			},
			rule{events.Refused, "in_the_future", "occurred_at"},
		},
		"zero time": {func(r *producers.CaptureRequest) { r.OccurredAt = &events.Time{} }, rule{events.Malformed, "out_of_range", "occurred_at"}},
		"year 10000": {
			func(r *producers.CaptureRequest) {
				r.OccurredAt = &events.Time{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
			},
			rule{events.Malformed, "out_of_range", "occurred_at"},
		},
		"long session": {func(r *producers.CaptureRequest) { r.Session = long }, rule{events.TooLarge, "too_large", "session"}},
		"actor without id": {
			func(r *producers.CaptureRequest) { r.Actors = []events.Actor{{ID: "a", Role: "x"}, {Role: "x"}} },
			rule{events.Malformed, "missing", "actors[1].id"},
		},
		"actor without role": {
			func(r *producers.CaptureRequest) { r.Actors = []events.Actor{{ID: "a"}} },
			rule{events.Malformed, "missing", "actors[0].role"},
		},
		"many actors": {
			func(r *producers.CaptureRequest) { r.Actors = make([]events.Actor, producers.MaxEntries+1) },
			rule{events.TooLarge, "too_many", "actors"},
		},
		"NUL action":     {func(r *producers.CaptureRequest) { r.Action = "\x00" }, rule{events.Malformed, "nul", "action"}},
		"broken outcome": {func(r *producers.CaptureRequest) { r.Outcome = "\xff" }, rule{events.Malformed, "not_utf8", "outcome"}},
		"no source kind": {func(r *producers.CaptureRequest) { r.Source.Kind = "" }, rule{events.Malformed, "missing", "source.kind"}},
		"no source ref":  {func(r *producers.CaptureRequest) { r.Source.Ref = "" }, rule{events.Malformed, "missing", "source.ref"}},
		"NUL source ref": {func(r *producers.CaptureRequest) { r.Source.Ref = "a\x00b" }, rule{events.Malformed, "control_character", "source.ref"}},
		"unknown trust":  {func(r *producers.CaptureRequest) { r.ChannelTrust = "boss" }, rule{events.Malformed, "unknown_value", "channel_trust"}},
		"raised trust":   {func(r *producers.CaptureRequest) { r.ChannelTrust = "system" }, rule{events.Refused, "trust_raised", "channel_trust"}},
		"sensitivity":    {func(r *producers.CaptureRequest) { r.Sensitivity = "high" }, rule{events.Malformed, "unknown_value", "sensitivity"}},
		"category":       {func(r *producers.CaptureRequest) { r.Category = "a\x07" }, rule{events.Malformed, "control_character", "category"}},
		"blank entity":   {func(r *producers.CaptureRequest) { r.Entities = []string{"a", ""} }, rule{events.Malformed, "missing", "entities[1]"}},
		"many entities": {
			func(r *producers.CaptureRequest) { r.Entities = entries(producers.MaxEntries + 1) },
			rule{events.TooLarge, "too_many", "entities"},
		},
		"metadata no JSON": {
			func(r *producers.CaptureRequest) { r.Metadata = map[string]jsontext.Value{"k": jsontext.Value(`{`)} },
			rule{events.Malformed, "not_json", "metadata"},
		},
		"metadata beyond float64": {
			func(r *producers.CaptureRequest) {
				r.Metadata = map[string]jsontext.Value{"a": jsontext.Value("2e400")}
			},
			rule{events.Malformed, "out_of_range", "metadata"},
		},
		"metadata two values": {
			func(r *producers.CaptureRequest) { r.Metadata = map[string]jsontext.Value{"k": jsontext.Value(`1 2`)} },
			rule{events.Malformed, "not_json", "metadata"},
		},
		"metadata empty": {
			func(r *producers.CaptureRequest) { r.Metadata = map[string]jsontext.Value{"k": nil} },
			rule{events.Malformed, "not_json", "metadata"},
		},
		"metadata NUL": {
			func(r *producers.CaptureRequest) {
				r.Metadata = map[string]jsontext.Value{"k": jsontext.Value(`["\u0000"]`)}
			},
			rule{events.Malformed, "nul", "metadata"},
		},
		"metadata surrogate": {
			func(r *producers.CaptureRequest) {
				r.Metadata = map[string]jsontext.Value{"k": jsontext.Value(`"\ud800"`)}
			},
			rule{events.Malformed, "not_json", "metadata"},
		},
		"metadata key": {
			func(r *producers.CaptureRequest) { r.Metadata = map[string]jsontext.Value{"": jsontext.Value(`1`)} },
			rule{events.Malformed, "missing", "metadata"},
		},
		"many metadata": {
			func(r *producers.CaptureRequest) {
				r.Metadata = map[string]jsontext.Value{}
				for _, k := range entries(producers.MaxEntries + 1) {
					r.Metadata[k] = jsontext.Value(`1`)
				}
			},
			rule{events.TooLarge, "too_many", "metadata"},
		},
		"large metadata": {
			func(r *producers.CaptureRequest) {
				r.Metadata = map[string]jsontext.Value{"k": jsontext.Value(`"` + strings.Repeat("a", producers.MaxMetadata) + `"`)}
			},
			rule{events.TooLarge, "too_large", "metadata"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := episode("maria", "hello")
			tt.change(&r)
			_, err := f.Capture(t.Context(), user("acme"), "", r)
			wantInput(t, err, tt.want.kind, tt.want.code, tt.want.field)
		})
	}
	t.Cleanup(func() {
		s, err := f.log.State(context.WithoutCancel(t.Context()))
		if err != nil || s.Messages != 0 {
			t.Errorf("refused captures left %d messages, %v", s.Messages, err)
		}
	})
}

// The positive control of the rules above: all that is allowed, at its limit.
func TestCaptureAtTheLimits(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	name := strings.Repeat("\U0001F600", producers.MaxName)
	r := producers.CaptureRequest{
		Subject: name, Text: strings.Repeat("\ufffd", producers.MaxText/3), OccurredAt: at(start().Add(producers.ClockSlack)),
		Session: name, Actors: []events.Actor{{ID: name, Role: name}}, Action: "a\nb", Outcome: "\ttab",
		Source: events.Source{Kind: name, Ref: name}, ChannelTrust: "agent", Sensitivity: "secret", Category: name,
		Entities: entries(producers.MaxEntries), Metadata: map[string]jsontext.Value{"k": jsontext.Value(`{"a":[1,null,"\ufffd"]}`)},
	}
	c, err := f.Capture(t.Context(), user("acme"), strings.Repeat("k", events.MaxIdempotencyKey), r)
	if err != nil || c.Status != producers.StatusCaptured {
		t.Fatalf("%+v, %v", c, err)
	}
	e, ok := f.last(events.KindEpisode, c.ID).Events[0].(events.EpisodeCaptured)
	if !ok || e.Trust != events.TrustAgent || e.Sensitivity != "secret" || len(e.Entities) != producers.MaxEntries || len(e.Labels) != 1 {
		t.Fatalf("%+v", e)
	}
}

func TestProposeRules(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	for name, tt := range map[string]struct {
		change func(r *producers.ProposeRequest)
		want   rule
	}{
		"no subject":      {func(r *producers.ProposeRequest) { r.Subject = "" }, rule{events.Malformed, "missing", "subject"}},
		"no predicate":    {func(r *producers.ProposeRequest) { r.Predicate = "" }, rule{events.Malformed, "missing", "predicate"}},
		"NUL predicate":   {func(r *producers.ProposeRequest) { r.Predicate = "a\x00b" }, rule{events.Malformed, "control_character", "predicate"}},
		"no value":        {func(r *producers.ProposeRequest) { r.Value = nil }, rule{events.Malformed, "missing", "value"}},
		"no JSON":         {func(r *producers.ProposeRequest) { r.Value = jsontext.Value(`{"a"}`) }, rule{events.Malformed, "not_json", "value"}},
		"duplicate names": {func(r *producers.ProposeRequest) { r.Value = jsontext.Value(`{"a":1,"a":2}`) }, rule{events.Malformed, "not_json", "value"}},
		"large value": {
			func(r *producers.ProposeRequest) {
				r.Value = jsontext.Value(`"` + strings.Repeat("a", producers.MaxValue) + `"`)
			},
			rule{events.TooLarge, "too_large", "value"},
		},
		"no category":    {func(r *producers.ProposeRequest) { r.Category = "" }, rule{events.Malformed, "missing", "category"}},
		"scope":          {func(r *producers.ProposeRequest) { r.Scope = "\x1b" }, rule{events.Malformed, "control_character", "scope"}},
		"no confidence":  {func(r *producers.ProposeRequest) { r.Confidence = nil }, rule{events.Malformed, "missing", "confidence"}},
		"NaN":            {func(r *producers.ProposeRequest) { r.Confidence = new(math.NaN()) }, rule{events.Malformed, "out_of_range", "confidence"}},
		"infinite":       {func(r *producers.ProposeRequest) { r.Confidence = new(math.Inf(1)) }, rule{events.Malformed, "out_of_range", "confidence"}},
		"negative":       {func(r *producers.ProposeRequest) { r.Confidence = new(-0.1) }, rule{events.Malformed, "out_of_range", "confidence"}},
		"above one":      {func(r *producers.ProposeRequest) { r.Confidence = new(1.01) }, rule{events.Malformed, "out_of_range", "confidence"}},
		"no observed_at": {func(r *producers.ProposeRequest) { r.ObservedAt = nil }, rule{events.Malformed, "missing", "observed_at"}},
		"future": {
			func(r *producers.ProposeRequest) { r.ObservedAt = at(start().Add(time.Minute)) },
			rule{events.Refused, "in_the_future", "observed_at"},
		},
		"zero valid_from": {func(r *producers.ProposeRequest) { r.ValidFrom = &events.Time{} }, rule{events.Malformed, "out_of_range", "valid_from"}},
		"empty interval": {
			func(r *producers.ProposeRequest) { r.ValidFrom, r.ValidTo = at(day(3)), at(day(3)) },
			rule{events.Refused, "empty_interval", "valid_to"},
		},
		"ends before observed": {
			func(r *producers.ProposeRequest) { r.ValidTo = at(day(1)) },
			rule{events.Refused, "empty_interval", "valid_to"},
		},
		"duplicate source": {
			func(r *producers.ProposeRequest) {
				r.SourceEpisodes = []string{someID, strings.ToUpper(someID)}
			},
			rule{events.Malformed, "duplicate", "source_episodes[1]"},
		},
		"many sources": {
			func(r *producers.ProposeRequest) { r.SourceEpisodes = entries(producers.MaxEntries + 1) },
			rule{events.TooLarge, "too_many", "source_episodes"},
		},
		"provenance": {
			func(r *producers.ProposeRequest) { r.Provenance = []events.Source{{Kind: "doc"}} },
			rule{events.Malformed, "missing", "provenance[0].ref"},
		},
		"many provenances": {
			func(r *producers.ProposeRequest) { r.Provenance = make([]events.Source, producers.MaxEntries+1) },
			rule{events.TooLarge, "too_many", "provenance"},
		},
		"expired": {func(r *producers.ProposeRequest) { r.ExpiresAt = at(start()) }, rule{events.Refused, "in_the_past", "expires_at"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := claim(`"Rome"`, day(2), someID)
			tt.change(&r)
			_, err := f.Propose(t.Context(), user("acme"), "", r)
			wantInput(t, err, tt.want.kind, tt.want.code, tt.want.field)
		})
	}
}

func TestOtherRules(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	ctx, who := t.Context(), user("acme")
	errorOf := func(_ any, err error) error { return err }
	items := make([]producers.CaptureRequest, producers.MaxItems+1)
	for name, tt := range map[string]struct {
		err  error
		want rule
	}{
		"long key": {
			errorOf(f.Capture(ctx, who, strings.Repeat("k", events.MaxIdempotencyKey+1), episode("a", "b"))),
			rule{events.TooLarge, "too_large", "idempotency_key"},
		},
		"unprintable key": {errorOf(f.Capture(ctx, who, "a\tb", episode("a", "b"))), rule{events.Malformed, "not_printable", "idempotency_key"}},
		"broken key":      {errorOf(f.Propose(ctx, who, "\xff", claim(`1`, day(1)))), rule{events.Malformed, "not_utf8", "idempotency_key"}},
		"empty batch":     {errorOf(f.CaptureBatch(ctx, who, "", producers.CaptureBatchRequest{})), rule{events.Malformed, "missing", "items"}},
		"large batch": {
			errorOf(f.CaptureBatch(ctx, who, "", producers.CaptureBatchRequest{Items: items})),
			rule{events.TooLarge, "too_many", "items"},
		},
		"no reason":   {errorOf(f.Retract(ctx, who, "", someID, producers.RetractRequest{})), rule{events.Malformed, "missing", "reason"}},
		"no memories": {errorOf(f.UseTrace(ctx, who, "", someID, producers.UseRequest{})), rule{events.Malformed, "missing", "memory_ids"}},
		"no memory id": {
			errorOf(f.UseTrace(ctx, who, "", someID, producers.UseRequest{MemoryIDs: []string{someID, "x"}})),
			rule{events.Malformed, "not_an_id", "memory_ids[1]"},
		},
		"memory twice": {
			errorOf(f.UseTrace(ctx, who, "", someID, producers.UseRequest{MemoryIDs: []string{someID, someID}})),
			rule{events.Malformed, "duplicate", "memory_ids[1]"},
		},
		"answer ref": {
			errorOf(f.UseTrace(ctx, who, "", someID, producers.UseRequest{MemoryIDs: []string{someID}, AnswerRef: "\x00"})),
			rule{events.Malformed, "control_character", "answer_ref"},
		},
		"no memory": {
			errorOf(f.JudgeTrace(ctx, who, "", someID, producers.FeedbackRequest{Judgement: "useful"})),
			rule{events.Malformed, "missing", "memory_id"},
		},
		"no judgement": {
			errorOf(f.JudgeTrace(ctx, who, "", someID, producers.FeedbackRequest{MemoryID: someID})),
			rule{events.Malformed, "missing", "judgement"},
		},
		"judgement": {
			errorOf(f.JudgeTrace(ctx, who, "", someID, producers.FeedbackRequest{MemoryID: someID, Judgement: "good"})),
			rule{events.Malformed, "unknown_value", "judgement"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantInput(t, tt.err, tt.want.kind, tt.want.code, tt.want.field)
		})
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	ctx := t.Context()
	calls := map[string]func(events.Caller) error{
		"capture": func(c events.Caller) error {
			_, err := f.Capture(ctx, c, "", episode("a", "b"))
			return err
		},
		"batch": func(c events.Caller) error {
			_, err := f.CaptureBatch(ctx, c, "", producers.CaptureBatchRequest{Items: []producers.CaptureRequest{episode("a", "b")}})
			return err
		},
		"propose": func(c events.Caller) error {
			_, err := f.Propose(ctx, c, "", claim(`1`, day(1)))
			return err
		},
		"retract": func(c events.Caller) error {
			_, err := f.Retract(ctx, c, "", someID, producers.RetractRequest{Reason: "r"})
			return err
		},
		"use": func(c events.Caller) error {
			_, err := f.UseTrace(ctx, c, "", someID, producers.UseRequest{MemoryIDs: []string{someID}})
			return err
		},
		"judge": func(c events.Caller) error {
			_, err := f.JudgeTrace(ctx, c, "", someID, producers.FeedbackRequest{MemoryID: someID, Judgement: "useful"})
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			auditor := user("acme")
			auditor.Roles = []events.Role{events.RoleAuditor}
			for _, c := range []events.Caller{auditor, withTrust(user("acme"), 0), user("")} {
				if err := call(c); !errors.Is(err, events.ErrForbidden) {
					t.Errorf("%+v: %v, want forbidden", c, err)
				}
			}
			if err := call(user("acme")); errors.Is(err, events.ErrForbidden) {
				t.Errorf("an agent is forbidden")
			}
		})
	}
}

// No error, wherever it comes from, repeats what was asked.
func TestErrorsHoldNoText(t *testing.T) {
	t.Parallel()
	const canary = "kanarienvogel"
	f := inMemory(t).open(t)
	rapid.Check(t, func(t *rapid.T) {
		bad := rapid.SampledFrom([]string{"", "\x00", "\xff", "\u0007", strings.Repeat("x", 300)})
		s := func(label string) string {
			if rapid.IntRange(0, 3).Draw(t, label+"?") > 0 {
				return canary
			}
			return canary + bad.Draw(t, label)
		}
		value := jsontext.Value(rapid.SampledFrom([]string{`"` + canary + `"`, `{"` + canary, canary, `"` + canary + `\u0000"`}).Draw(t, "value"))
		c := producers.CaptureRequest{
			Subject: s("subject"), Text: s("text"), Session: s("session"), Actors: []events.Actor{{ID: s("actor"), Role: s("role")}},
			Source: events.Source{Kind: s("kind"), Ref: s("ref")}, ChannelTrust: rapid.SampledFrom([]string{"", canary, "system"}).Draw(t, "trust"),
			Sensitivity: rapid.SampledFrom([]string{"", canary}).Draw(t, "sensitivity"), Category: s("category"),
			Entities: []string{s("entity")}, Metadata: map[string]jsontext.Value{s("key"): value},
		}
		p := producers.ProposeRequest{
			Subject: s("subject"), Predicate: s("predicate"), Value: value, Category: s("category"), Scope: s("scope"),
			Confidence: rapid.SampledFrom([]*float64{nil, new(1.0), new(2.0)}).Draw(t, "confidence"), ObservedAt: at(day(1)),
			SourceEpisodes: []string{s("source")}, Provenance: []events.Source{{Kind: s("pk"), Ref: s("pr")}},
		}
		key := s("key")
		_, err1 := f.Capture(t.Context(), user("acme"), key, c)
		_, err2 := f.Propose(t.Context(), user("acme"), key, p)
		_, err3 := f.Retract(t.Context(), user("acme"), key, s("fact"), producers.RetractRequest{Reason: s("reason")})
		_, err4 := f.UseTrace(t.Context(), user("acme"), key, s("trace"), producers.UseRequest{MemoryIDs: []string{s("m")}, AnswerRef: s("ref")})
		_, err5 := f.JudgeTrace(t.Context(), user("acme"), key, s("trace"), producers.FeedbackRequest{MemoryID: s("m"), Judgement: s("j")})
		b, err6 := f.CaptureBatch(t.Context(), user("acme"), key, producers.CaptureBatchRequest{Items: []producers.CaptureRequest{c, c}})
		errs := []error{err1, err2, err3, err4, err5, err6}
		for _, r := range b.Results {
			if r.Error != nil {
				errs = append(errs, r.Error)
			}
		}
		for _, err := range errs {
			if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), canary) {
				t.Fatalf("error repeats the request: %v", err)
			}
		}
	})
}

// A letter of another script that looks like the right one makes no other category: it
// is refused, wherever consent is asked for or given.
func TestCategoryOfMixedScripts(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	source := f.capture("maria", "hello")
	for category, want := range map[string]bool{
		"health": true, "\u0437\u0434\u043e\u0440\u043e\u0432\u044c\u0435": true,
		"h\u0435alth": false, "\u041dealth": false, "h\u0435\u200b\uff41lth": false,
	} {
		r := episode("maria", "hello")
		r.Category = category
		p := claim(`"Rome"`, day(3), source)
		p.Category = category
		_, captured := f.Capture(t.Context(), user("acme"), "", r)
		_, proposed := f.Propose(t.Context(), user("acme"), "", p)
		_, granted := f.GrantConsent(t.Context(), user("acme"), "maria", category, "asked")
		batch, err := f.CaptureBatch(t.Context(), user("acme"), "", producers.CaptureBatchRequest{Items: []producers.CaptureRequest{r}})
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"capture": captured, "propose": proposed, "grant": granted} {
			switch {
			case !want:
				wantInput(t, err, events.Malformed, "mixed_scripts", "category")
			case err != nil:
				t.Errorf("%s in %q: %v", what, category, err)
			}
		}
		if e := batch.Results[0].Error; (e == nil) != want || e != nil && e.Field != "items[0].category" {
			t.Errorf("batch in %q: %+v", category, e)
		}
	}
}
