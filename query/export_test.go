package query_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// signing signs as the binary does.
type signing struct {
	note.Signer
	note.Verifier
}

func newSigning(tb testing.TB) signing {
	tb.Helper()
	private, public, err := note.GenerateKey(rand.Reader, "test")
	must(tb, err)
	s, err := note.NewSigner(private)
	must(tb, err)
	v, err := note.NewVerifier(public)
	must(tb, err)
	return signing{s, v}
}

func (s signing) Sign(text string) ([]byte, error) {
	return note.Sign(&note.Note{Text: text}, s.Signer)
}

func (s signing) open(b []byte) (string, error) {
	n, err := note.Open(b, note.VerifierList(s.Verifier))
	if err != nil {
		return "", err
	}
	return n.Text, nil
}

func (n *node) exporter(s signing) *query.Exporter {
	n.Helper()
	x, err := query.NewExporter(query.ExporterConfig{
		Service: n.Service, Exports: n.Gateway, Signer: s, Key: "test", NewID: newID,
	})
	must(n, err)
	return x
}

// line is one line of an export, decoded.
type line map[string]any

func decodeLines(tb testing.TB, b []byte) map[string][]line {
	tb.Helper()
	out := map[string][]line{}
	for raw := range bytes.SplitSeq(bytes.TrimSpace(b), []byte("\n")) {
		var l line
		must(tb, json.Unmarshal(raw, &l))
		typ, _ := l["type"].(string)
		out[typ] = append(out[typ], l)
	}
	return out
}

func TestExport(t *testing.T) {
	t.Parallel()
	n, s := inMemory(t), newSigning(t)
	x := n.exporter(s)
	var episodes []string
	for i := range 230 { // more than two pages
		episodes = append(episodes, n.Tell("maria", fmt.Sprintf("maria did %d", i)))
	}
	n.Tell("pedro", "pedro was elsewhere")
	first := n.Promoted(fact("maria", "city", `"Lima"`, day(1), episodes[0]))
	n.Promoted(fact("maria", "city", `"Cusco"`, day(3), episodes[1]))
	low := fact("maria", "pet", `"a cat"`, day(3), episodes[2])
	low.Confidence = new(0.1)
	_, err := n.Propose(t.Context(), user("acme"), "", low)
	must(t, err)
	gone := n.Tell("maria", "maria is forgotten here")
	must(t, n.Views.WaitFor(t.Context(), n.End()))
	_, err = n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, gone)
	must(t, err)
	asked := n.ask(query.RecallRequest{Query: "where does maria live", Subject: "maria"})
	n.ask(query.RecallRequest{Query: "maria secretly anything"})
	_, err = n.Retract(t.Context(), user("acme"), "", first, producers.RetractRequest{Reason: "moved away"})
	must(t, err)
	var out bytes.Buffer
	req := query.ExportRequest{Subject: "maria", WaitFor: n.End()}
	must(t, x.Export(t.Context(), as(events.RoleAuditor), req, &out))
	lines := decodeLines(t, out.Bytes())
	counts := map[string]int{}
	for typ, list := range lines {
		counts[typ] = len(list)
	}
	want := map[string]int{
		query.LineHeader: 1, query.LineEpisode: 230, query.LineFact: 3, query.LineTrace: 2, query.LineErased: 1, query.LineManifest: 1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for i, l := range lines[query.LineEpisode] {
		if l["id"] != episodes[i] {
			t.Fatalf("episode %d is not in the order of capture", i)
		}
	}
	all := out.String()
	for _, word := range []string{`"Lima"`, `"Cusco"`, `"a cat"`, "moved away", `"decision":"promoted"`, `"gates":[{`, "where does maria live", asked.TraceID} {
		if !strings.Contains(all, word) {
			t.Errorf("%q is missing", word)
		}
	}
	for _, word := range []string{"pedro", "forgotten here", "secretly"} {
		if strings.Contains(all, word) {
			t.Errorf("%q is in it", word)
		}
	}
	m, err := query.VerifyExport(&out, s.open)
	must(t, err)
	if m.Counts[query.LineEpisode] != 230 {
		t.Errorf("manifest: %+v", m)
	}
	// The export is told of in the log, and in the next one.
	out.Reset()
	req.WaitFor = n.End()
	must(t, x.Export(t.Context(), as(events.RoleAdmin), req, &out))
	recipients := decodeLines(t, out.Bytes())[query.LineRecipient]
	if len(recipients) != 1 || recipients[0]["export"] != m.Export || recipients[0]["count"] != 233.0 {
		t.Errorf("recipients: %v", recipients)
	}
	req.AsOf = at(day(2))
	out.Reset()
	must(t, x.Export(t.Context(), as(events.RoleAdmin), req, &out))
	earlier := decodeLines(t, out.Bytes())
	if len(earlier[query.LineEpisode]) != 0 || len(earlier[query.LineFact]) != 1 || earlier[query.LineFact][0]["value"] != "Lima" {
		t.Errorf("as of an earlier day: %v", earlier[query.LineFact])
	}
}

func TestExportRefused(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	x := n.exporter(newSigning(t))
	n.Tell("maria", "maria is here")
	for name, c := range map[string]struct {
		caller  events.Caller
		subject string
		want    error
	}{
		"agent":        {as(events.RoleAgent), "maria", events.ErrForbidden},
		"reviewer":     {as(events.RoleReviewer), "maria", events.ErrForbidden},
		"unknown":      {as(events.RoleAdmin), "nobody", events.ErrNotFound},
		"other tenant": {events.Caller{Tenant: "other", Principal: "x", Roles: []events.Role{events.RoleAdmin}}, "maria", events.ErrNotFound},
		"no name":      {as(events.RoleAdmin), "", &events.InputError{}},
	} {
		var out bytes.Buffer
		err := x.Export(t.Context(), c.caller, query.ExportRequest{Subject: c.subject, WaitFor: n.End()}, &out)
		if _, input := errors.AsType[*events.InputError](c.want); input {
			if _, is := errors.AsType[*events.InputError](err); !is {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: something was written", name)
		}
	}
	sid := n.subject("maria")
	s, err := events.ReadSubject(t.Context(), n.Events, n.tenantToken(), sid)
	must(t, err)
	if len(s.Exports) != 0 {
		t.Errorf("refused exports are in the log: %v", s.Exports)
	}
}

// subject is the id of a name in the tenant acme.
func (n *node) subject(name string) string {
	n.Helper()
	tenant, err := n.Keys.Tenant(n.Context(), "acme", false)
	must(n, err)
	sid, err := tenant.FindSubject(n.Context(), name)
	must(n, err)
	return sid
}

func (n *node) tenantToken() string {
	n.Helper()
	tenant, err := n.Keys.Tenant(n.Context(), "acme", false)
	must(n, err)
	return tenant.Token()
}

// writerFunc is a function as a writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A subject that is forgotten while it is exported leaves an export without a
// manifest, wherever the forget falls.
func TestExportOfWhatIsForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	for _, after := range []string{query.LineHeader, query.LineEpisode, query.LineFact, query.LineTrace, query.LineErased} {
		t.Run(after, func(t *testing.T) {
			t.Parallel()
			n, s := inMemory(t), newSigning(t)
			var source string
			for i := range 150 {
				source = n.Tell("maria", fmt.Sprintf("maria did %d", i))
			}
			n.Promoted(fact("maria", "city", `"Lima"`, day(1), source))
			n.ask(query.RecallRequest{Query: "maria", Subject: "maria"})
			var out bytes.Buffer
			forgotten := false
			w := writerFunc(func(b []byte) (int, error) {
				if !forgotten && bytes.Contains(b, []byte(`"type":"`+after+`"`)) {
					forgotten = true
					if _, err := n.ForgetSubject(context.WithoutCancel(t.Context()), user("acme"), "", "maria", "asked"); err != nil {
						t.Error(err)
					}
				}
				return out.Write(b)
			})
			err := n.exporter(s).Export(t.Context(), as(events.RoleAdmin), query.ExportRequest{Subject: "maria", WaitFor: n.End()}, w)
			if !forgotten || !errors.Is(err, events.ErrForgotten) {
				t.Fatalf("forgotten %v, error %v", forgotten, err)
			}
			lines := decodeLines(t, out.Bytes())
			if len(lines[query.LineManifest]) != 0 || len(lines[query.LineError]) != 1 || lines[query.LineError][0]["code"] != "forgotten" {
				t.Errorf("manifest %v, error %v", lines[query.LineManifest], lines[query.LineError])
			}
			if _, err := query.VerifyExport(&out, s.open); !errors.Is(err, query.ErrExportVoid) {
				t.Errorf("verify: %v", err)
			}
		})
	}
}

func TestVerifyExport(t *testing.T) {
	t.Parallel()
	n, s := inMemory(t), newSigning(t)
	n.Tell("maria", "maria is here")
	n.Tell("maria", "maria is there")
	var out bytes.Buffer
	must(t, n.exporter(s).Export(t.Context(), as(events.RoleAdmin), query.ExportRequest{Subject: "maria", WaitFor: n.End()}, &out))
	good := out.String()
	if _, err := query.VerifyExport(strings.NewReader(good), s.open); err != nil {
		t.Fatalf("control: %v", err)
	}
	rows := strings.SplitAfter(good, "\n")
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"a word changed":    {strings.Replace(good, "there", "where", 1), query.ErrExportAltered},
		"a line taken out":  {strings.Join(append(rows[:1:1], rows[2:]...), ""), query.ErrExportAltered},
		"a line put in":     {strings.Join(append(append(rows[:2:2], rows[1]), rows[2:]...), ""), query.ErrExportAltered},
		"lines swapped":     {rows[0] + rows[2] + rows[1] + strings.Join(rows[3:], ""), query.ErrExportAltered},
		"cut off":           {strings.Join(rows[:2], ""), query.ErrExportVoid},
		"cut in the middle": {good[:len(good)-9], query.ErrExportVoid},
		"nothing":           {"", query.ErrExportVoid},
		"something behind":  {good + rows[1], query.ErrExportAltered},
		"no JSON":           {"hello\n", query.ErrExportAltered},
		"count changed":     {strings.Replace(good, `"episode":2`, `"episode":3`, 1), query.ErrExportAltered},
	} {
		if _, err := query.VerifyExport(strings.NewReader(c.text), s.open); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := query.VerifyExport(strings.NewReader(good), newSigning(t).open); err == nil {
		t.Error("another key opened it")
	}
	if _, err := query.VerifyExport(io.MultiReader(strings.NewReader("{"), brokenReader{}), s.open); !errors.Is(err, errBroken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

// A subject under a legal hold can be exported.
func TestExportOfHeld(t *testing.T) {
	t.Parallel()
	n, s := inMemory(t), newSigning(t)
	n.Tell("maria", "maria is here")
	n.putHold("maria")
	var out bytes.Buffer
	must(t, n.exporter(s).Export(t.Context(), as(events.RoleAuditor), query.ExportRequest{Subject: "maria", WaitFor: n.End()}, &out))
	lines := decodeLines(t, out.Bytes())
	if len(lines[query.LineEpisode]) != 1 || len(lines[query.LineHold]) != 1 || lines[query.LineHold][0]["held"] != true {
		t.Errorf("lines: %s", out.String())
	}
}

// A fact that loses its only source while it is opened is left out.
func TestExportOfWhatLosesItsSourceMeanwhile(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []bool{false, true} {
		rows := &hookedRows{Rows: seal.NewMemRows()}
		o := options(nil)
		o.Rows = rows
		n, s := &node{nodetest.Start(t, o)}, newSigning(t)
		source := n.Tell("maria", "maria lives in Lima")
		n.Tell("maria", "maria is here")
		n.Promoted(fact("maria", "city", `"Lima"`, day(1), source))
		must(t, n.Views.WaitFor(t.Context(), n.End()))
		n.Clock.Days(1) // no key is remembered
		last := n.lastOf(events.KindEpisode, source)
		forget := func() {
			_, err := n.Events.Append(t.Context(), events.Commit{
				ID: newID(), Aggregate: last.Aggregate, Time: n.Clock.Now(),
				Events: []events.Event{events.EpisodeForgotten{Subject: n.subject("maria"), Erasure: newID()}},
			}, events.Expect(last.Position))
			must(t, err)
			must(t, n.Views.WaitFor(t.Context(), n.End()))
		}
		var out bytes.Buffer
		w := writerFunc(func(b []byte) (int, error) {
			// The episodes are written; the next keys that are read are of facts.
			if forgotten && bytes.Contains(b, []byte("maria is here")) {
				rows.hook.Store(&forget)
			}
			return out.Write(b)
		})
		must(t, n.exporter(s).Export(t.Context(), as(events.RoleAuditor), query.ExportRequest{Subject: "maria", WaitFor: n.End()}, w))
		if rows.hook.Load() != nil {
			t.Error("nothing was opened")
		}
		if facts := len(decodeLines(t, out.Bytes())[query.LineFact]); facts == 0 != forgotten {
			t.Errorf("its source is forgotten: %v; facts: %d", forgotten, facts)
		}
	}
}

// What is recorded of the subject itself while it is exported is not in the export.
func TestExportEndsAtItsPosition(t *testing.T) {
	t.Parallel()
	n, s := inMemory(t), newSigning(t)
	n.Tell("maria", "maria is here")
	n.change("maria", events.SubjectHeld{Hold: "before"})
	var out bytes.Buffer
	w := writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte(`"type":"header"`)) {
			n.change("maria", events.SubjectReleased{Hold: "before"})
		}
		return out.Write(b)
	})
	must(t, n.exporter(s).Export(t.Context(), as(events.RoleAuditor), query.ExportRequest{Subject: "maria", WaitFor: n.End()}, w))
	if holds := decodeLines(t, out.Bytes())[query.LineHold]; len(holds) != 1 || holds[0]["held"] != true {
		t.Errorf("holds: %v", holds)
	}
}
