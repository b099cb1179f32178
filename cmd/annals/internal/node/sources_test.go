package node_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
)

// guideline is a document with revisions, of each of which a chunk is captured and
// a threshold proposed.
type guideline struct {
	*fixture

	token string
	ref   string
}

func (g *guideline) source(revision string) obj {
	s := obj{"kind": "guideline", "ref": g.ref}
	if revision != "" {
		s["revision"] = revision
	}
	return s
}

// revise makes a revision current and returns the position.
func (g *guideline) revise(revision, effective string) uint64 {
	g.t.Helper()
	body := obj{"source": g.source(""), "revision": revision, "effective_at": effective}
	return uint64(get[float64](g.do(g.token, http.MethodPost, "/v1/sources/revisions", body, http.StatusOK), "position"))
}

// chunk captures what a revision says of the threshold.
func (g *guideline) chunk(revision, says, occurred string) string {
	g.t.Helper()
	return g.capture(g.token, "cardiology", "Treat blood pressure above a threshold of "+says+" mmHg in adults.",
		"source", g.source(revision), "occurred_at", occurred)
}

// threshold proposes it as a fact that is promoted.
func (g *guideline) threshold(predicate string, value int, chunk, observed string) string {
	g.t.Helper()
	body := with(proposal("cardiology", predicate, value, chunk), "observed_at", observed)
	a := g.do(g.token, http.MethodPost, "/v1/facts", body, http.StatusCreated)
	if d := get[string](a, "decision"); d != "promoted" {
		g.t.Fatalf("decision %s: %s", d, a.body)
	}
	return get[string](a, "fact_id")
}

const (
	firstHolds, secondHolds = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"
	firstRead, secondRead   = "2026-01-02T00:00:00Z", "2026-06-02T00:00:00Z"
	betweenThem, afterBoth  = "2026-03-01T00:00:00Z", "2026-07-01T00:00:00Z"
)

// ways are the ways to read, each by whether it shows what is current or what was.
type readWay struct {
	name string
	call func(g *guideline, of string) answer
	past bool
}

func readWays(known time.Time) []readWay {
	recall := func(more ...any) func(*guideline, string) answer {
		return func(g *guideline, _ string) answer {
			body := obj{"query": "threshold of blood pressure in adults", "k": 100, "wait_for": g.head()}
			for i := 0; i+1 < len(more); i += 2 {
				name, _ := more[i].(string)
				body[name] = more[i+1]
			}
			return g.do(g.token, http.MethodPost, "/v1/recall", body, http.StatusOK)
		}
	}
	facts := func(more ...string) func(*guideline, string) answer {
		return func(g *guideline, _ string) answer {
			q := url.Values{"subject": {"cardiology"}, "wait_for": {strconv.FormatUint(g.head(), 10)}}
			for i := 0; i+1 < len(more); i += 2 {
				q.Set(more[i], more[i+1])
			}
			return g.do(g.token, http.MethodGet, "/v1/facts?"+q.Encode(), nil, http.StatusOK)
		}
	}
	at := known.UTC().Format(time.RFC3339Nano)
	return []readWay{
		{"recall", recall(), false},
		{"recall of a subject", recall("subject", "cardiology"), false},
		{"recall, strong", recall("consistency", "strong"), false},
		{"recall of facts", recall("kinds", []string{"fact"}), false},
		{"recall of episodes", recall("kinds", []string{"episode"}), false},
		{"recall as of the time after", recall("as_of", afterBoth), false},
		{"recall as of the time after, strong", recall("as_of", afterBoth, "consistency", "strong"), false},
		{"recall as of the time between", recall("as_of", betweenThem), true},
		{"recall as of the time between, strong", recall("as_of", betweenThem, "consistency", "strong"), true},
		{"recall known before", recall("known_at", at), true},
		{"recall known before, strong", recall("known_at", at, "consistency", "strong"), true},
		{"facts", facts(), false},
		{"facts as of the time after", facts("as_of", afterBoth), false},
		{"facts as of the time between", facts("as_of", betweenThem), true},
		{"facts known before", facts("known_at", at), true},
		{"history", facts("include", "history"), true},
	}
}

// A revised guideline retires what was taken from its earlier revision in
// one step, whatever comes first into the log, and on every path that reads.
func TestRevisedSource(t *testing.T) {
	t.Parallel()
	g := &guideline{fixture: open(t), ref: "bp"}
	g.token = g.fixture.token("acme")
	g.revise("2025", firstHolds)
	old := g.chunk("2025", "140", firstRead)
	oldFact := g.threshold("threshold", 140, old, firstRead)
	// Another document that says the same is not revised.
	other := &guideline{fixture: g.fixture, token: g.token, ref: "other"}
	kept := other.chunk("2025", "140", firstRead)
	keptFact := other.threshold("local_threshold", 140, kept, firstRead)
	g.settle()
	for _, w := range readWays(time.Now()) {
		if a := w.call(g, old); !bytes.Contains(a.body, []byte(old)) {
			t.Errorf("control: %s does not show what is current: %s", w.name, a.body)
		}
	}
	known := time.Now()
	position := g.revise("2026", secondHolds)
	if again := g.revise("2026", secondHolds); again != position {
		t.Errorf("the same revision again is at %d, was at %d", again, position)
	}
	// What of the old revision comes late is retired from the start.
	late := g.chunk("2025", "140", firstRead)
	check := func(stage string, fresh ...string) {
		t.Helper()
		for _, w := range readWays(known) {
			a := w.call(g, old)
			for _, id := range []string{old, oldFact, late} {
				// A list of results holds the fact's source too.
				if bytes.Contains(a.body, []byte(id)) && !w.past {
					t.Errorf("%s: %s shows what is retired: %s", stage, w.name, a.body)
				}
			}
			if w.past && !bytes.Contains(a.body, []byte(old)) {
				t.Errorf("%s: %s does not show what was current: %s", stage, w.name, a.body)
			}
			if !bytes.Contains(a.body, []byte(kept)) {
				t.Errorf("%s: %s does not show another document: %s", stage, w.name, a.body)
			}
			for _, id := range fresh {
				if !w.past && !bytes.Contains(a.body, []byte(id)) {
					t.Errorf("%s: %s does not show what is current now: %s", stage, w.name, a.body)
				}
			}
		}
	}
	check("before the new one is read")
	for id, want := range map[string]string{oldFact: "retired", keptFact: "active"} {
		if s := get[string](g.do(g.token, http.MethodGet, "/v1/facts/"+id, nil, http.StatusOK), "status"); s != want {
			t.Errorf("fact is %s, want %s", s, want)
		}
	}
	list := g.do(g.token, http.MethodGet, "/v1/episodes?subject=cardiology", nil, http.StatusOK)
	if n := bytes.Count(list.body, []byte(`"retired":true`)); n != 2 {
		t.Errorf("%d of the episodes are marked as retired, want 2: %s", n, list.body)
	}
	if a := g.do(g.token, http.MethodGet, "/v1/episodes/"+old, nil, http.StatusOK); !get[bool](a, "retired") {
		t.Errorf("episode is not marked as retired: %s", a.body)
	}
	export := g.do(g.token, http.MethodGet, "/v1/subjects/cardiology/export", nil, http.StatusOK)
	for mark, want := range map[string]int{`"status":"retired"`: 1, `"retired":true`: 2} {
		if n := bytes.Count(export.body, []byte(mark)); n != want {
			t.Errorf("export has %d times %s, want %d: %s", n, mark, want, export.body)
		}
	}
	fresh := g.chunk("2026", "130", secondRead)
	g.threshold("threshold", 130, fresh, secondRead)
	g.settle()
	check("after the new one is read", fresh)

	// The views say the same after a rebuild.
	for _, view := range []string{"facts", "memories"} {
		g.operate(view, "verify")
		g.operate(view, "replay")
	}
	check("after a replay", fresh)
	// Going back makes the old one current again.
	g.revise("2025", secondHolds)
	if a := readWays(known)[0].call(g, old); !bytes.Contains(a.body, []byte(old)) || bytes.Contains(a.body, []byte(fresh)) {
		t.Errorf("after going back: %s", a.body)
	}
	shown := g.do(g.token, http.MethodGet, "/v1/sources?kind=guideline&ref=bp&revision=2025,2026", nil, http.StatusOK)
	if n := bytes.Count(shown.body, []byte(`"revision":"2025"`)); n != 2 || len(get[[]any](shown, "revisions")) != 3 {
		t.Errorf("revisions: %s", shown.body)
	}
}

// operate runs a long operation on a view to its end, and expects it to succeed.
func (g *guideline) operate(view, kind string) {
	g.t.Helper()
	admin := g.LocalToken()
	id := get[string](g.do(admin, http.MethodPost, "/v1/projections/"+view+"/"+kind, nil, http.StatusAccepted), "id")
	for {
		a := g.do(admin, http.MethodGet, "/v1/operations/"+id, nil, http.StatusOK)
		switch get[string](a, "state") {
		case "done":
			return
		case "failed":
			g.t.Fatalf("%s of %s: %s", kind, view, a.body)
		}
		g.settle()
	}
}

// A new revision that says the same again keeps the fact current, in both orders.
func TestRevisionConfirmsFact(t *testing.T) {
	t.Parallel()
	for _, revisedFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("revised first %v", revisedFirst), func(t *testing.T) {
			t.Parallel()
			g := &guideline{fixture: open(t), ref: "bp"}
			g.token = g.fixture.token("acme")
			fact := g.threshold("threshold", 140, g.chunk("2025", "140", firstRead), firstRead)
			status := func() string {
				t.Helper()
				path := fmt.Sprintf("/v1/facts/%s?wait_for=%d", fact, g.head())
				return get[string](g.do(g.token, http.MethodGet, path, nil, http.StatusOK), "status")
			}
			if revisedFirst {
				g.revise("2026", secondHolds)
				if s := status(); s != "retired" {
					t.Errorf("fact is %s before the new revision says the same", s)
				}
			}
			if into := g.threshold("threshold", 140, g.chunk("2026", "140", secondRead), secondRead); into != fact {
				t.Fatalf("the same value became %s and not %s", into, fact)
			}
			if !revisedFirst {
				g.revise("2026", secondHolds)
			}
			if s := status(); s != "active" {
				t.Errorf("fact is %s though the new revision says the same", s)
			}
			a := g.do(g.token, http.MethodPost, "/v1/recall", obj{"query": "threshold", "kinds": []string{"fact"}}, http.StatusOK)
			if !bytes.Contains(a.body, []byte(fact)) {
				t.Errorf("fact is not recalled: %s", a.body)
			}
			g.revise("2027", secondHolds)
			if s := status(); s != "retired" {
				t.Errorf("fact is %s after a revision that does not say it", s)
			}
		})
	}
}

// What names no revision was taken from the one that was current then.
func TestRevisionOfUnnamed(t *testing.T) {
	t.Parallel()
	g := &guideline{fixture: open(t), ref: "bp"}
	g.token = g.fixture.token("acme")
	before := g.chunk("", "140", firstRead)
	g.revise("2026", secondHolds)
	after := g.chunk("", "130", secondRead)
	a := readWays(time.Now())[0].call(g, "")
	if bytes.Contains(a.body, []byte(before)) || !bytes.Contains(a.body, []byte(after)) {
		t.Errorf("recall: %s", a.body)
	}
}

// R-41, while it happens: a recall that waits for the position of the answer never
// shows the old one, and every recall shows exactly one of the two.
func TestRecallsWhileRevised(t *testing.T) {
	t.Parallel()
	g := &guideline{fixture: open(t), ref: "bp"}
	g.token = g.fixture.token("acme")
	g.revise("0", firstHolds)
	ids := []string{g.chunk("0", "140", firstRead), g.chunk("1", "130", firstRead)}
	g.settle()
	var floor, flips atomic.Uint64 // the position of the last answer, and how many there were
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n, wait := flips.Load(), floor.Load()
				a := g.call(g.token, http.MethodPost, "/v1/recall",
					[]byte(fmt.Sprintf(`{"query":"threshold of blood pressure","wait_for":%d}`, wait)))
				shown := []bool{bytes.Contains(a.body, []byte(ids[0])), bytes.Contains(a.body, []byte(ids[1]))}
				if a.status != http.StatusOK || shown[0] == shown[1] {
					t.Errorf("%d: both or none is shown: %s", a.status, a.body)
				}
				// Only if no other revision was asked for meanwhile is it certain which one.
				if wait > 0 && flips.Load() == n && n%2 == 0 && !shown[n/2%2] {
					t.Errorf("what was retired at %d is shown: %s", wait, a.body)
				}
			}
		})
	}
	for i := range 30 {
		flips.Add(1) // odd: it is being asked for
		floor.Store(g.revise(strconv.Itoa((i+1)%2), secondHolds))
		flips.Add(1)
		g.settle()
	}
	close(stop)
	readers.Wait()
}

// Who may revise, and what is refused.
func TestReviseIsGuarded(t *testing.T) {
	t.Parallel()
	f := open(t)
	body := obj{"source": obj{"kind": "guideline", "ref": "bp"}, "revision": "2026"}
	for name, c := range map[string]struct {
		roles []events.Role
		trust events.Trust
		want  int
	}{
		"user's agent": {[]events.Role{events.RoleAgent}, events.TrustUser, http.StatusOK},
		"agent":        {[]events.Role{events.RoleAgent}, events.TrustAgent, http.StatusForbidden},
		"tool":         {[]events.Role{events.RoleAgent}, events.TrustTool, http.StatusForbidden},
		"reviewer":     {[]events.Role{events.RoleReviewer}, events.TrustAgent, http.StatusOK},
		"admin":        {[]events.Role{events.RoleAdmin}, events.TrustAgent, http.StatusOK},
		"auditor":      {[]events.Role{events.RoleAuditor}, events.TrustSystem, http.StatusForbidden},
	} {
		token := f.tokenOf(events.Caller{Tenant: "acme", Principal: name, Roles: c.roles, Trust: c.trust})
		if a := f.do(token, http.MethodPost, "/v1/sources/revisions", body, c.want); a.status != c.want {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	token := f.token("acme")
	for name, bad := range map[string]struct {
		body obj
		want int
	}{
		"no source":     {obj{"revision": "1"}, http.StatusBadRequest},
		"no revision":   {obj{"source": obj{"kind": "g", "ref": "r"}}, http.StatusBadRequest},
		"two revisions": {obj{"source": obj{"kind": "g", "ref": "r", "revision": "1"}, "revision": "1"}, http.StatusBadRequest},
		"in the future": {with(body, "effective_at", "2999-01-01T00:00:00Z"), http.StatusUnprocessableEntity},
	} {
		if a := f.do(token, http.MethodPost, "/v1/sources/revisions", bad.body, bad.want); a.status != bad.want {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	// A key is for one revision.
	first := f.do(token, http.MethodPost, "/v1/sources/revisions", with(body, "revision", "2027"), http.StatusOK, "Idempotency-Key", "k")
	f.do(token, http.MethodPost, "/v1/sources/revisions", with(body, "revision", "2028"), http.StatusOK)
	again := f.do(token, http.MethodPost, "/v1/sources/revisions", with(body, "revision", "2027"), http.StatusOK, "Idempotency-Key", "k")
	if get[float64](first, "position") != get[float64](again, "position") {
		t.Errorf("a repeated call is at another position: %s%s", first.body, again.body)
	}
	f.do(token, http.MethodPost, "/v1/sources/revisions", with(body, "revision", "2029"), http.StatusConflict, "Idempotency-Key", "k")
	// Another tenant's source of the same name is another source.
	theirs := f.do(f.token("other"), http.MethodGet, "/v1/sources?kind=guideline&ref=bp", nil, http.StatusOK)
	if n := len(get[[]any](theirs, "revisions")); n != 0 {
		t.Errorf("another tenant sees %d revisions", n)
	}
	if n := len(get[[]any](f.do(token, http.MethodGet, "/v1/sources?kind=guideline&ref=bp", nil, http.StatusOK), "revisions")); n != 3 {
		t.Errorf("%d revisions", n)
	}
}
