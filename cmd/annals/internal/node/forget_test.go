package node_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/residue"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/tombstones/scan"
)

// planted is what a tenant knows of two people: one to forget, one to keep.
type planted struct {
	f       *fixture
	token   string
	subject string
	word    string // is in everything about them
	episode string
	fact    string
	trace   string
	known   time.Time // when all of it was known
	// waits and waitsToo are candidates that wait for a review, if any were planted.
	waits, waitsToo string
}

func plant(f *fixture, token, subject, word string) planted {
	f.t.Helper()
	p := planted{f: f, token: token, subject: subject, word: word}
	p.episode = f.capture(token, subject, "The secret word is "+word+".",
		"session", "session-"+word, "entities", []string{"entity-" + word}, "category", "category-"+word,
		"actors", []obj{{"id": "actor-" + word, "role": "role-" + word}}, "action", "action-"+word, "outcome", "outcome-"+word,
		"metadata", obj{"key-" + word: "meta-" + word})
	a := f.do(token, http.MethodPost, "/v1/facts", with(with(proposal(subject, "predicate_"+word, "value "+word, p.episode),
		"scope", "scope-"+word), "provenance", []obj{{"kind": "kind-" + word, "ref": "ref-" + word}}), http.StatusCreated)
	p.fact = get[string](a, "fact_id")
	f.settle()
	r := f.do(token, http.MethodPost, "/v1/recall", obj{"query": "what is the secret word " + word, "subject": subject}, http.StatusOK)
	p.trace, p.known = get[string](r, "trace_id"), time.Now()
	f.settle()
	return p
}

// reads asks every call that can return text of a memory. A route of the
// table that nobody knows how to ask fails the test.
func (p planted) reads() map[string]answer {
	p.f.t.Helper()
	out := map[string]answer{}
	of := about{
		subject: p.subject, session: "session-" + p.word, predicate: "predicate_" + p.word, query: "secret word value",
		known: p.known, valid: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		episodes: []string{p.episode}, facts: []string{p.fact}, traces: []string{p.trace},
	}
	if p.waits != "" {
		of.facts = append(of.facts, p.waits)
	}
	for _, r := range p.f.Routes() {
		list, ok := asks(r, of)
		if r.Reads && !ok {
			p.f.t.Errorf("%s %s can return text of a memory and is not asked here", r.Method, r.Path)
		}
		for _, q := range list {
			var body []byte
			if q.body != nil {
				var err error
				if body, err = json.Marshal(q.body); err != nil {
					p.f.t.Fatal(err)
				}
			}
			token := p.token
			if q.isReview() {
				if p.waits == "" {
					continue // nothing of them waits; TestReviewsShowWhatIsThere plants what does
				}
				token = p.f.asReviewer(token)
			}
			a := p.f.call(token, q.method, q.path, body)
			if strings.Contains(r.Path, "/export") {
				a.body = withoutTraces(a.body) // which are read as such
			}
			out[q.name()] = a
		}
	}
	return out
}

// withoutTraces takes the traces out of an export.
func withoutTraces(export []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(export) {
		if !bytes.Contains(line, []byte(`"type":"trace"`)) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// holds says which reads hold the word. A lineage shows ids alone, so its
// word is the id of the source.
func (p planted) holds(reads map[string]answer) (yes, no []string) {
	for name, a := range reads {
		has := bytes.Contains(a.body, []byte(p.word))
		if strings.HasSuffix(name, "/lineage") {
			has = a.status == http.StatusOK && bytes.Contains(a.body, []byte(p.episode)) && !bytes.Contains(a.body, []byte(`"forgotten":true`))
		}
		if has {
			yes = append(yes, name)
		} else {
			no = append(no, name)
		}
	}
	return yes, no
}

// R-13, promise 4: once a forget is acknowledged, no read on any path returns
// the value: at once, after a replay, a restart, and from rebuilt views; and
// the neighbour is still there on every path.
func TestForgottenStaysForgotten(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(p planted){
		"subject": func(p planted) {
			p.f.do(p.token, http.MethodPost, "/v1/subjects/"+p.subject+"/forget", obj{"reason": "asked"}, http.StatusAccepted)
		},
		"filter": func(p planted) {
			p.f.do(p.token, http.MethodPost, "/v1/forget", obj{"filter": obj{"subject": p.subject}, "reason": "asked"}, http.StatusAccepted)
		},
		"source": func(p planted) { // the fact rests on this episode alone
			p.f.do(p.token, http.MethodDelete, "/v1/episodes/"+p.episode, nil, http.StatusAccepted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			token := f.token("acme")
			gone, kept := plant(f, token, "maria", "xyzzymaria"), plant(f, token, "pedro", "plughpedro")
			if _, no := gone.holds(gone.reads()); len(no) > 0 {
				t.Fatalf("control: these reads do not hold the word even before: %q", no)
			}
			forget(gone)
			check := func(when string) {
				t.Helper()
				reads := gone.reads()
				delete(reads, "GET /v1/traces/"+gone.trace) // its own record: see below
				if yes, _ := gone.holds(reads); len(yes) > 0 {
					t.Errorf("%s: these reads still hold the word: %q", when, yes)
				}
				if _, no := kept.holds(kept.reads()); len(no) > 0 {
					t.Errorf("%s: the neighbour is missing from %q", when, no)
				}
			}
			check("at once")
			if name == "subject" { // a trace about a subject goes with the subject
				if a := f.call(token, http.MethodGet, "/v1/traces/"+gone.trace, nil); bytes.Contains(a.body, []byte(gone.word)) {
					t.Errorf("the trace still holds the question: %s", a.body)
				}
			}
			begun := map[string]bool{}
			for _, s := range f.Views().Status(t.Context()) {
				a := f.do(token, http.MethodPost, "/v1/projections/"+s.Projection+"/replay", obj{}, http.StatusAccepted)
				begun[get[string](a, "id")] = true
			}
			check("while views are replayed")
			for len(begun) > 0 {
				for id := range begun {
					switch a := f.do(token, http.MethodGet, "/v1/operations/"+id, nil, http.StatusOK); get[string](a, "state") {
					case "done":
						delete(begun, id)
					case "failed":
						t.Fatalf("a replay failed: %s", a.body)
					}
				}
				check("while views are replayed")
			}
			check("from replayed views")
			f.close()
			f.start()
			f.settle()
			check("after a restart")
			f.close()
			if err := os.RemoveAll(filepath.Join(f.dir, "views")); err != nil {
				t.Fatal(err)
			}
			f.start()
			f.settle()
			check("from rebuilt views")
		})
	}
}

// The source transcript is fed again with the same keys, and the fact is
// proposed again from the forgotten source: nothing comes back.
func TestForgottenDoesNotReenter(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	body := obj{"subject": "maria", "text": "She likes plumcake.", "source": obj{"kind": "chat", "ref": "r"}}
	first := f.do(token, http.MethodPost, "/v1/episodes", body, http.StatusCreated, "Idempotency-Key", "line-1")
	id := get[string](first, "id")
	again := f.do(token, http.MethodPost, "/v1/episodes", body, http.StatusCreated, "Idempotency-Key", "line-1")
	if get[string](again, "id") != id {
		t.Fatalf("control: a retry made another episode: %s", again.body)
	}
	f.settle()
	one := f.do(token, http.MethodDelete, "/v1/episodes/"+id, nil, http.StatusAccepted)
	two := f.do(token, http.MethodDelete, "/v1/episodes/"+strings.ToUpper(id), nil, http.StatusAccepted)
	if get[string](one, "erasure_id") != get[string](two, "erasure_id") {
		t.Errorf("forgetting again is another answer:\n%s%s", one.body, two.body)
	}
	f.do(token, http.MethodPost, "/v1/episodes", body, http.StatusGone, "Idempotency-Key", "line-1")
	p := f.do(token, http.MethodPost, "/v1/facts", proposal("maria", "likes", "plumcake", id), http.StatusCreated)
	if d := get[string](p, "decision"); d != "rejected" {
		t.Errorf("a fact from a forgotten source was %s", d)
	}
	f.settle()
	r := f.do(token, http.MethodPost, "/v1/recall", obj{"query": "plumcake"}, http.StatusOK)
	if bytes.Contains(r.body, []byte("She likes")) {
		t.Errorf("it came back: %s", r.body)
	}
}

// Section 6 of the format: nothing that a person could recognise stands in
// clear in any file of the data directory, even before a forget.
func TestNothingStandsInClear(t *testing.T) {
	t.Parallel()
	f := open(t)
	const word = "Quixoticzanzibar"
	tenant, subject := "tenant-"+word, "subject-"+word
	token := f.token(tenant)
	p := plant(f, token, subject, word)
	text := "The other word is " + word + "."
	f.capture(token, subject, text)
	f.do(token, http.MethodPost, "/v1/episodes", obj{"subject": subject, "text": word, "source": obj{"kind": word, "ref": word}},
		http.StatusCreated, "Idempotency-Key", "key-"+word)
	f.do(token, http.MethodPost, "/v1/traces/"+p.trace+"/use", obj{"memory_ids": []string{p.episode}, "answer_ref": "answer-" + word}, http.StatusOK)
	f.do(token, http.MethodPost, "/v1/facts", proposal(subject, "predicate_"+word, "another "+word, p.episode), http.StatusCreated)
	f.do(token, http.MethodPost, "/v1/facts/"+p.fact+"/retract", obj{"reason": "because " + word}, http.StatusOK)
	external := obj{"subject": subject, "text": "external " + word, "source": obj{"kind": "mail", "ref": word}, "channel_trust": "external"}
	f.do(token, http.MethodPost, "/v1/episodes", external, http.StatusCreated)
	f.settle()
	vectors, err := model(t).Embed(t.Context(), []string{text}, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	vector := make([]float64, len(vectors[0]))
	for i, x := range vectors[0] {
		vector[i] = float64(x)
	}
	f.close()
	found := f.scan(scan.Options{Words: []string{word, text}, Vectors: [][]float64{vector}})
	var names, texts int
	for _, h := range found.Hits {
		switch h.Pattern {
		case 0:
			names++
		case 1:
			texts++
		case 2: // an index needs the vector as it is, until its memory is forgotten
			if !strings.HasPrefix(h.File, "views/") && !seal.PlaintextRig {
				t.Errorf("a vector stands in the clear: %+v", h)
			}
		}
	}
	if !seal.PlaintextRig && names+texts > 0 {
		t.Errorf("in clear: %+v", found.Hits)
	}
	if seal.PlaintextRig && (names == 0 || texts == 0) {
		t.Errorf("control: a build that seals nothing hides it all the same: %s", found)
	}
	if len(found.Unread) > 0 || found.Unpacked == 0 || !found.Settled {
		t.Errorf("not all was searched: %+v", found)
	}
	if found.Found == names+texts {
		t.Error("control: the index holds no vector, or in a form that the scan does not know")
	}
}

// scan looks for something in every file of the directory.
func (f *fixture) scan(o scan.Options) *scan.Report {
	f.t.Helper()
	o.Formats, o.Random = []scan.Format{residue.Tables{}}, rand.Reader
	s, err := scan.New(o)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := s.Run(f.t.Context(), f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}
