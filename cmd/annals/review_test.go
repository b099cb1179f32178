package main

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// The story of a review, on the real binary, with a server and without one: what a
// tool says waits, is shown, approved as it was shown, is current, and is taken
// back.
func TestReviewStory(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"on the directory": false, "through a server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			if served {
				s := serve(t, data)
				defer s.stop()
			}
			run := func(want int, args ...string) string {
				t.Helper()
				out, errs, code := annals(t, append(args, "--data", data)...)
				if code != want {
					t.Fatalf("annals %q: exit %d: %s%s", args, code, out, errs)
				}
				return out + errs
			}
			into := func(v any, args ...string) {
				t.Helper()
				out := run(exitDone, append(args, "--json")...)
				if err := json.Unmarshal([]byte(out), v); err != nil {
					t.Fatalf("annals %q: %v: %s", args, err, out)
				}
			}
			type ids struct {
				ID        string `json:"id"`
				Candidate string `json:"candidate_id"`
				Fact      string `json:"fact_id"`
				Decision  string `json:"decision"`
				Position  uint64 `json:"position"`
			}
			at := func(v ids) string { return strconv.FormatUint(v.Position, 10) }
			var said, rome ids
			into(&said, "capture", "maria", "I live in Rome.")
			into(&rome, "propose", "maria", "city", "Rome", "--source", said.ID, "--observed-at", "2026-01-02T00:00:00Z")
			if rome.Decision != "promoted" {
				t.Fatalf("%+v", rome)
			}
			// A tool has read something.
			tool := strings.TrimSpace(run(exitDone, "token", "--trust", "tool", "--subject", "crm"))
			var page, paris ids
			into(&page, "capture", "maria", "CRM: city=Paris\x1b[2J", "--token", tool)
			into(&paris, "propose", "maria", "city", "Paris", "--source", page.ID, "--observed-at", "2026-03-02T00:00:00Z", "--token", tool)
			if paris.Decision != "review" || paris.Fact != "" {
				t.Fatalf("%+v", paris)
			}
			if out := run(exitDone, "facts", "maria", "--wait-for", at(paris)); !strings.Contains(out, `"Rome"`) || strings.Contains(out, "Paris") {
				t.Errorf("before the review: %s", out)
			}
			// Who proposes does not review, and no agent does.
			if out := run(exitFailed, "review", "list", "--token", tool); !strings.Contains(out, "403") {
				t.Errorf("an agent reads the queue: %s", out)
			}
			if out := run(exitDone, "review", "list", "--wait-for", at(paris)); !strings.Contains(out, paris.Candidate) || !strings.Contains(out, `city = "Paris"`) {
				t.Errorf("the queue: %s", out)
			}
			out := run(exitDone, "review", "show", paris.Candidate)
			for _, want := range []string{"data, not instructions", "CRM: city=Paris", "untrusted_origin", `against "Rome"`, "trust tool", "hash "} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not shown: %s", want, out)
				}
			}
			if strings.Contains(out, "\x1b") {
				t.Errorf("what is shown can act on a terminal: %q", out)
			}
			var shown struct {
				Hash string `json:"content_hash"`
			}
			into(&shown, "review", "show", paris.Candidate)
			if out := run(exitFailed, "review", "approve", paris.Candidate, strings.Repeat("0", 64)); !strings.Contains(out, "409") {
				t.Errorf("other bytes: %s", out)
			}
			var approved ids
			into(&approved, "review", "approve", paris.Candidate, shown.Hash, "--note", "checked with her")
			if approved.Decision != "promoted" || approved.Fact != paris.Candidate {
				t.Errorf("%+v", approved)
			}
			type version struct {
				ID         string  `json:"id"`
				Value      string  `json:"value"`
				ReviewedAt *string `json:"reviewed_at"`
			}
			current := func(after ids) version {
				t.Helper()
				var list struct {
					Facts []version `json:"facts"`
				}
				into(&list, "facts", "maria", "--wait-for", at(after))
				if len(list.Facts) != 1 {
					t.Fatalf("current: %+v", list.Facts)
				}
				return list.Facts[0]
			}
			if f := current(approved); f.Value != "Paris" || f.ReviewedAt == nil {
				t.Errorf("after the review: %+v", f)
			}
			if out := run(exitDone, "review", "list", "--state", "approved"); !strings.Contains(out, paris.Candidate) {
				t.Errorf("what was approved: %s", out)
			}
			var undone ids
			into(&undone, "review", "undo", paris.Candidate)
			if f := current(undone); f.Value != "Rome" || f.ID != rome.Fact || f.ReviewedAt != nil {
				t.Errorf("after it was taken back: %+v", f)
			}
			into(&shown, "review", "show", paris.Candidate)
			var edited ids
			into(&edited, "review", "edit", paris.Candidate, shown.Hash, "--value", "Paris, France")
			if f := current(edited); f.Value != "Paris, France" || edited.Candidate != f.ID {
				t.Errorf("edited: %+v %+v", f, edited)
			}
			if out := run(exitDone, "verify"); strings.Contains(out, "NOT EQUAL") {
				t.Errorf("verify: %s", out)
			}
		})
	}
}

// A reviewer is shown all that an approval lets in, not the text alone.
func TestReviewShowsAllOfIt(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"episode": `{"kind": "episode", "content_hash": "abc", "category": "c1", "episode": {"text": "t1", "session": "s1",
			"actors": [{"id": "a1"}], "action": "a2", "outcome": "o1", "source": {"kind": "k1", "ref": "r1"},
			"entities": ["e1"], "metadata": {"m1": "m2\u202e"}, "occurred_at": "2026-01-01T00:00:00Z"}}`,
		"fact": `{"kind": "fact", "content_hash": "abc", "category": "c1", "predicate": "p1", "value": "v1", "scope": "s1",
			"observed_at": "2026-01-01T00:00:00Z", "valid_from": "2026-01-02T00:00:00Z", "valid_to": "2026-01-03T00:00:00Z",
			"expires_at": "2026-01-04T00:00:00Z", "provenance": [{"kind": "k1", "ref": "r1"}]}`,
	} {
		var r reviewItem
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.print(terminal{out: &out}); err != nil {
			t.Fatal(err)
		}
		want := []string{"c1", "t1", "s1", "a1", "a2", "o1", "k1", "r1", "e1", "m1", "m2", "2026-01-01"}
		if name == "fact" {
			want = []string{"c1", "p1", "v1", "s1", "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "k1", "r1"}
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%q of the %s is not shown: %s", w, name, out.String())
			}
		}
		if strings.Contains(out.String(), "\u202e") {
			t.Errorf("what is shown can act on a terminal: %q", out.String())
		}
	}
}

// A token of other roles is another principal, unless it is said who it is.
func TestDefaultPrincipal(t *testing.T) {
	t.Parallel()
	for want, roles := range map[string][]string{
		"cli": {"agent"}, "cli-reviewer": {"reviewer"}, "cli-admin-agent": {"agent", "admin", "agent"},
	} {
		if got := defaultPrincipal(roles); got != want {
			t.Errorf("%v: %s", roles, got)
		}
	}
}
