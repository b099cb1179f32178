package node_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
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
	p.trace = get[string](r, "trace_id")
	f.settle()
	return p
}

// reads asks every call that can return text of a memory. A route of the
// table that is not here fails the test.
func (p planted) reads() map[string]answer {
	p.f.t.Helper()
	out := map[string]answer{}
	for _, r := range p.f.Routes() {
		if !r.Reads {
			continue
		}
		var paths []string
		var body any
		switch r.Path {
		case "/v1/episodes":
			paths = []string{"/v1/episodes?subject=" + p.subject}
		case "/v1/episodes/{id}":
			paths = []string{"/v1/episodes/" + p.episode}
		case "/v1/facts":
			for _, more := range []string{"", "&include=history", "&as_of=2026-02-01T00:00:00Z", "&predicate=predicate_" + p.word} {
				paths = append(paths, "/v1/facts?subject="+p.subject+more)
			}
		case "/v1/facts/{id}", "/v1/facts/{id}/history", "/v1/facts/{id}/lineage":
			paths = []string{strings.Replace(r.Path, "{id}", p.fact, 1)}
		case "/v1/recall":
			paths, body = []string{r.Path}, obj{"query": "secret word", "k": 100, "explain": true}
		case "/v1/traces/{id}":
			paths = []string{"/v1/traces/" + p.trace}
		default:
			p.f.t.Errorf("%s %s can return text of a memory and is not asked here", r.Method, r.Path)
		}
		for _, path := range paths {
			b := []byte(nil)
			if body != nil {
				b = []byte(`{"query":"secret word value","k":100}`)
			}
			out[r.Method+" "+path] = p.f.call(p.token, r.Method, path, b)
		}
	}
	return out
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
	f.do(token, http.MethodPost, "/v1/episodes", obj{"subject": subject, "text": word, "source": obj{"kind": word, "ref": word}},
		http.StatusCreated, "Idempotency-Key", "key-"+word)
	f.do(token, http.MethodPost, "/v1/traces/"+p.trace+"/use", obj{"memory_ids": []string{p.episode}, "answer_ref": "answer-" + word}, http.StatusOK)
	f.do(token, http.MethodPost, "/v1/facts", proposal(subject, "predicate_"+word, "another "+word, p.episode), http.StatusCreated)
	f.do(token, http.MethodPost, "/v1/facts/"+p.fact+"/retract", obj{"reason": "because " + word}, http.StatusOK)
	external := obj{"subject": subject, "text": "external " + word, "source": obj{"kind": "mail", "ref": word}, "channel_trust": "external"}
	f.do(token, http.MethodPost, "/v1/episodes", external, http.StatusCreated)
	f.settle()
	f.close()
	needles := forms(word)
	control := filepath.Join(f.dir, "control")
	for name, needle := range needles {
		if err := os.WriteFile(control, append([]byte("before"), append(needle, "after"...)...), 0o600); err != nil {
			t.Fatal(err)
		}
		if hits := scan(t, f.dir, map[string][]byte{name: needle}); len(hits) != 1 {
			t.Fatalf("control: %s was planted and found in %v", name, hits)
		}
	}
	if err := os.Remove(control); err != nil {
		t.Fatal(err)
	}
	if hits := scan(t, f.dir, needles); len(hits) > 0 {
		t.Errorf("in clear: %v", hits)
	}
}

// forms are the ways in which a word may stand in a file.
func forms(word string) map[string][]byte {
	out := map[string][]byte{
		"raw": []byte(word), "lower": []byte(strings.ToLower(word)), "upper": []byte(strings.ToUpper(word)),
		"hex": []byte(hex.EncodeToString([]byte(word))),
	}
	for shift := range 3 { // whatever stands before it
		e := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + word))
		out[fmt.Sprintf("base64 at %d", shift)] = []byte(e[4 : len(e)-4])
	}
	var wide []byte
	for _, u := range utf16.Encode([]rune(word)) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	out["UTF-16"] = wide
	return out
}

func scan(t *testing.T, dir string, needles map[string][]byte) []string {
	t.Helper()
	var hits []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for name, needle := range needles {
			if bytes.Contains(b, needle) || bytes.Contains([]byte(path), needle) {
				hits = append(hits, name+" in "+filepath.Base(path))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}
