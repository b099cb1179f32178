package node_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones/ledger"
	"github.com/annals-memory/annals/tombstones/retention"
)

// opens opens notes with the public key in the fixture's directory.
func (f *fixture) opens() func([]byte) (string, error) {
	f.t.Helper()
	v, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return func(b []byte) (string, error) {
		n, err := note.Open(b, note.VerifierList(v))
		if err != nil {
			return "", err
		}
		return n.Text, nil
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	f := open(t)
	p := plant(f, f.token("acme"), "maria", "xyzzymaria")
	plant(f, f.token("other"), "maria", "plughother")
	const path = "/v1/subjects/maria/export"
	admin := f.token("acme", events.RoleAdmin)
	a := f.do(admin, http.MethodGet, path, nil, http.StatusOK)
	m, err := query.VerifyExport(bytes.NewReader(a.body), f.opens())
	if err != nil {
		t.Fatal(err)
	}
	if m.Counts[query.LineEpisode] != 1 || m.Counts[query.LineFact] != 1 || m.Counts[query.LineTrace] != 1 || m.Position == 0 {
		t.Errorf("manifest: %+v", m)
	}
	for _, id := range []string{p.episode, p.fact, p.trace} {
		if !bytes.Contains(a.body, []byte(id)) {
			t.Errorf("%s is missing", id)
		}
	}
	if bytes.Contains(a.body, []byte("plughother")) || bytes.Contains(a.body, []byte("acme")) {
		t.Error("another tenant, or a tenant's name, is in it")
	}
	f.do(f.token("empty", events.RoleAdmin), http.MethodGet, path, nil, http.StatusNotFound)
	f.do(admin, http.MethodGet, path+"?known_at=2026-01-01T00:00:00Z", nil, http.StatusBadRequest)
	f.do(admin, http.MethodGet, path+"?as_of=2026-01-01", nil, http.StatusBadRequest)
	earlier := f.do(admin, http.MethodGet, path+"?as_of=2020-01-01T00:00:00Z", nil, http.StatusOK)
	if bytes.Contains(earlier.body, []byte(p.word)) {
		t.Error("as of a time before it has what came later")
	}
	f.do(p.token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted)
	f.do(admin, http.MethodGet, path, nil, http.StatusNotFound)
}

func schedule(t *testing.T, text string) *retention.Schedule {
	t.Helper()
	s, err := retention.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRetentionPreview(t *testing.T) {
	t.Parallel()
	f := openWith(t, node.Options{
		Durability: "process", Retention: schedule(t, "version: 1\ndefault: keep\ncategories: {support: {episodes: 90d}}\n"),
	})
	admin := f.token("acme")
	id := f.capture(admin, "maria", "a ticket", "category", "support")
	f.capture(admin, "maria", "a note", "category", "other")
	f.capture(f.token("other"), "maria", "their ticket", "category", "support")
	head := f.head()
	now := f.do(admin, http.MethodGet, "/v1/retention/preview", nil, http.StatusOK)
	if get[float64](now, "total") != 0 || !get[bool](now, "scheduled") {
		t.Errorf("now: %s", now.body)
	}
	at := time.Now().AddDate(0, 0, 91).UTC().Format(time.RFC3339)
	later := f.do(admin, http.MethodGet, "/v1/retention/preview?at="+at, nil, http.StatusOK)
	if get[float64](later, "total") != 1 || !strings.Contains(string(later.body), fmt.Sprintf(`"ids":[%q]`, id)) {
		t.Errorf("in 91 days: %s", later.body)
	}
	f.do(admin, http.MethodGet, "/v1/episodes/"+id, nil, http.StatusOK)
	if f.head() < head {
		t.Error("the log went back")
	}
}

// What is over when a node starts is gone soon after; a node that keeps all keeps
// it, by the same schedule.
func TestRetentionOfANode(t *testing.T) {
	t.Parallel()
	for _, keepAll := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep all %v", keepAll), func(t *testing.T) {
			t.Parallel()
			f := open(t)
			token := f.token("acme")
			body := proposal("maria", "badge", "red", f.capture(token, "maria", "She has a red badge."))
			soon := time.Now().Add(time.Second)
			body["expires_at"] = soon.UTC().Format(time.RFC3339Nano)
			fact := get[string](f.do(token, http.MethodPost, "/v1/facts", body, http.StatusCreated), "fact_id")
			f.settle()
			f.close()
			time.Sleep(time.Until(soon)) //nolint:forbidigo // It expires by the clock, and by nothing else.
			f.options.Retention, f.options.KeepAll = schedule(t, "version: 1\ndefault: keep\n"), keepAll
			f.start()
			f.settle()
			want := http.StatusGone
			if keepAll {
				want = http.StatusOK
			}
			deadline := time.Now().Add(20 * time.Second)
			for f.call(token, http.MethodGet, "/v1/facts/"+fact, nil).status != want && time.Now().Before(deadline) {
				f.settle()
			}
			f.do(token, http.MethodGet, "/v1/facts/"+fact, nil, want)
		})
	}
}
