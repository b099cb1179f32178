//go:build !race

package node_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
	"github.com/annals-memory/annals/tombstones/scan"
)

// person is words about somebody, each in one place where something of a person
// can be, and the vectors of an episode and of a fact.
type person struct {
	f       *fixture
	token   string
	subject string
	salt    string
	// words are all of them by their kind; records are the ids of what has some.
	words   map[string]string
	vectors [][]float64
	records []string
	// episode, fact and text are to be read again.
	episode, fact, text string
}

// ofSubject are the kinds of words that a record does not end.
var ofSubject = []string{"subject", "question", "answerref", "basis", "consent"}

func (c *person) word(kind string) string {
	w := "xq" + c.salt + kind + "q"
	c.words[kind] = w
	return w
}

func (c *person) propose(want string, body obj) answer {
	c.f.t.Helper()
	a := c.f.do(c.token, http.MethodPost, "/v1/facts", body, http.StatusCreated)
	if got := get[string](a, "decision"); got != want {
		c.f.t.Fatalf("%s: %s", got, a.body)
	}
	c.records = append(c.records, get[string](a, "candidate_id"))
	return a
}

// plantCanaries has one of each kind.
func plantCanaries(f *fixture, token, salt string) *person {
	f.t.Helper()
	c := &person{f: f, token: token, salt: salt, words: map[string]string{}}
	c.subject = c.word("subject")
	c.text = "The word is " + c.word("text") + "."
	actor, action, outcome := c.word("actor"), c.word("action"), c.word("outcome")
	c.episode = f.capture(token, c.subject, c.text,
		"session", c.word("session"), "entities", []string{c.word("entity")}, "category", c.word("category"),
		"actors", []obj{{"id": actor, "role": c.word("role")}}, "action", action, "outcome", outcome,
		"metadata", obj{c.word("metakey"): c.word("metavalue")}, "source", obj{"kind": c.word("kind"), "ref": c.word("ref")})
	fact := func(predicate, value string) obj {
		return proposal(c.subject, predicate, value, c.episode)
	}
	predicate := c.word("predicate")
	first := with(with(fact(predicate, c.word("older")), "scope", c.word("scope")),
		"provenance", []obj{{"kind": c.word("provkind"), "ref": c.word("provref")}})
	c.propose("promoted", first)
	value := c.word("value")
	c.fact = get[string](c.propose("promoted", with(with(first, "value", value), "observed_at", "2026-01-03T03:04:05Z")), "fact_id")
	ended := get[string](c.propose("promoted", fact("ended", c.word("retracted"))), "fact_id")
	f.do(token, http.MethodPost, "/v1/facts/"+ended+"/retract", obj{"reason": c.word("reason")}, http.StatusOK)
	c.propose("review", with(fact("perhaps", c.word("candidate")), "confidence", 0.5))
	c.propose("rejected", with(fact("no", c.word("rejected")), "source_episodes", []string{uuid.NewString()}))
	external := f.capture(token, c.subject, "Sent "+c.word("external"), "channel_trust", "external")
	parked := f.capture(token, c.subject, "Later "+c.word("parked"))
	f.do(token, http.MethodPut, "/v1/subjects/"+c.subject+"/consents/"+c.word("consent"), obj{"granted": true, "basis": c.word("basis")}, http.StatusOK)
	c.records = append(c.records, c.episode, external, parked)
	f.settle()
	c.damage(parked)
	f.settle()
	r := f.do(token, http.MethodPost, "/v1/recall", obj{"query": "what is " + c.word("question"), "subject": c.subject}, http.StatusOK)
	trace := get[string](r, "trace_id")
	f.settle()
	f.do(token, http.MethodPost, "/v1/traces/"+trace+"/use", obj{"memory_ids": []string{c.episode}, "answer_ref": c.word("answerref")}, http.StatusOK)
	f.settle()
	c.vectors = vectorsOf(f.t, actor+": "+c.text+"\n"+action+"\n"+outcome, predicate+" "+value)
	return c
}

// damage appends what an episode was captured with once more, altered, so that it
// is parked.
func (c *person) damage(episode string) {
	f := c.f
	f.t.Helper()
	position := f.positions(events.KindEpisode, episode)[0]
	m, err := f.Log().MessageAt(f.t.Context(), position)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := events.Decode(m)
	if err != nil {
		f.t.Fatal(err)
	}
	captured, ok := r.Events[0].(events.EpisodeCaptured)
	if !ok {
		f.t.Fatalf("%T", r.Events[0])
	}
	captured.Content = bytes.Clone(captured.Content)
	captured.Content[len(captured.Content)-1] ^= 1
	again := r.Commit
	again.ID, again.Events = uuid.NewString(), []events.Event{captured}
	before := f.parked()
	if _, err := f.Log().Append(f.t.Context(), again, events.Expect(position)); err != nil {
		f.t.Fatal(err)
	}
	f.settle()
	if f.parked() == before {
		f.t.Fatal("control: nothing is parked")
	}
}

func vectorsOf(t *testing.T, texts ...string) [][]float64 {
	t.Helper()
	vectors, err := model(t).Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, len(vectors))
	for i, v := range vectors {
		for _, x := range v {
			out[i] = append(out[i], float64(x))
		}
	}
	return out
}

// kinds are the kinds of words, in an order.
func (c *person) kinds(not ...string) []string {
	var kinds []string
	for kind := range c.words {
		if !slices.Contains(not, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// scan looks for the words and the vectors in all files of a node. It returns the
// kinds that stand somewhere, with the files.
func (c *person) scan(f *fixture, not ...string) map[string][]string {
	f.t.Helper()
	kinds := c.kinds(not...)
	o := scan.Options{Vectors: c.vectors}
	for _, kind := range kinds {
		o.Words = append(o.Words, c.words[kind])
	}
	kinds = append(kinds, "vector of the episode", "vector of the fact")
	var r *scan.Report
	for range 10 { // a running node writes now and then
		if r = f.scan(o); r.Settled {
			break
		}
	}
	if !r.Settled || len(r.Unread) > 0 || r.Files < 10 {
		f.t.Errorf("not all was searched: %s %v", r, r.Unread)
	}
	found := map[string][]string{}
	for _, h := range r.Hits {
		kind := kinds[h.Pattern]
		if at := h.File + " " + h.In; !slices.Contains(found[kind], at) {
			found[kind] = append(found[kind], at)
		}
	}
	return found
}

// planted holds that a scan finds what there is before it is forgotten: the
// vectors, and every word in a build that seals nothing.
func (c *person) planted(not ...string) {
	c.f.t.Helper()
	c.f.close() // which writes the views out
	found := c.scan(c.f, not...)
	c.f.start()
	c.f.settle()
	want := []string{"vector of the episode", "vector of the fact"}
	if seal.PlaintextRig {
		want = append(want, c.kinds(append(not, "answerref")...)...) // it is kept as a token
	}
	for _, kind := range want {
		if len(found[kind]) == 0 {
			c.f.t.Errorf("control: no %s is found before it is forgotten", kind)
		}
	}
	if !seal.PlaintextRig && len(found) > len(want) {
		c.f.t.Errorf("in clear: %v", found)
	}
}

// gone holds that nothing is left in any file.
func (c *person) gone(f *fixture, when string, not ...string) {
	f.t.Helper()
	for kind, at := range c.scan(f, not...) {
		f.t.Errorf("%s: the %s is in %v", when, kind, at)
	}
}

// kept holds that a neighbour is as it was.
func (c *person) kept(f *fixture, when string) {
	f.t.Helper()
	for path, word := range map[string]string{
		"/v1/episodes/" + c.episode: c.words["text"], "/v1/facts/" + c.fact: c.words["value"],
		"/v1/facts?subject=" + c.subject: c.words["value"],
	} {
		if a := f.call(c.token, http.MethodGet, path, nil); a.status != http.StatusOK || !bytes.Contains(a.body, []byte(word)) {
			f.t.Errorf("%s: a neighbour: %d %s", when, a.status, a.body)
		}
	}
	a := f.do(c.token, http.MethodPost, "/v1/recall", obj{"query": c.text, "subject": c.subject}, http.StatusOK)
	if !bytes.Contains(a.body, []byte(c.words["text"])) {
		f.t.Errorf("%s: a neighbour is not recalled", when)
	}
}

// purged waits for an erasure to be purged and holds its receipt against the key
// that was published.
func (f *fixture) purged(token, erasure string) {
	f.t.Helper()
	f.reaches(token, erasure, events.LevelPurged)
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	a := f.do(token, http.MethodGet, "/v1/erasures/"+erasure+"/receipt", nil, http.StatusOK)
	r, err := tombstones.VerifyReceipt(a.body, public)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, s := range r.Stores {
		if s.Store != "backups" && (s.Done != s.Planned || s.Failed > 0) {
			f.t.Errorf("store %+v", s)
		}
	}
	for _, s := range r.Residues {
		if s.Kind != "backups" {
			f.t.Errorf("residue %+v", s)
		}
	}
}

// Promise 5: once the receipt says purged, no file has a word or a vector of what
// was forgotten, be it a whole person or the records of one: while the node runs,
// after it has stopped, and after every view was built anew. In a build that seals
// nothing this is about plaintext. The neighbour is left as it was.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forget func(*person) tombstones.Erasure
		not    []string
	}{
		"subject": {forget: func(c *person) tombstones.Erasure {
			return as[tombstones.Erasure](c.f.do(c.token, http.MethodPost, "/v1/subjects/"+c.subject+"/forget", obj{}, http.StatusAccepted))
		}},
		"records": {not: ofSubject, forget: func(c *person) tombstones.Erasure {
			return as[tombstones.Erasure](c.f.do(c.token, http.MethodPost, "/v1/forget", obj{"ids": c.records}, http.StatusAccepted))
		}},
		"one by one": {not: ofSubject, forget: func(c *person) (last tombstones.Erasure) {
			for _, id := range c.records {
				last = as[tombstones.Erasure](c.f.do(c.token, http.MethodPost, "/v1/forget", obj{"ids": []string{id}}, http.StatusAccepted))
				if id != c.records[len(c.records)-1] {
					c.f.purged(c.token, last.ErasureID)
				}
			}
			return last
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			token := f.token("acme")
			gone, kept := plantCanaries(f, token, "gone"), plantCanaries(f, token, "kept")
			other := plantCanaries(f, f.token("other"), "gone2")
			gone.planted(c.not...)
			out := c.forget(gone)
			f.purged(token, out.ErasureID)
			check := func(when string) {
				t.Helper()
				gone.gone(f, when, c.not...)
			}
			check("at once")
			f.settle()
			f.replaysAlike()
			check("after a replay")
			f.close()
			check("after a stop")
			if err := os.RemoveAll(filepath.Join(f.dir, "views")); err != nil {
				t.Fatal(err)
			}
			f.start()
			f.settle()
			for _, n := range []*person{kept, other} {
				n.kept(f, "rebuilt")
			}
			check("rebuilt")
			if f.Damage() != nil {
				t.Error(f.Damage())
			}
		})
	}
}

// What an old backup brings back is gone from the files as well, by the ledger of
// today.
func TestNothingIsLeftAfterRestore(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	gone, kept := plantCanaries(f, token, "gone"), plantCanaries(f, token, "kept")
	data, keys := f.artefact(backup.KindData), f.artefact(backup.KindKeys)
	out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/"+gone.subject+"/forget", obj{}, http.StatusAccepted))
	f.purged(token, out.ErasureID)
	f.settle()
	g, _ := f.restored(f.restoring(data, keys, f.artefact(backup.KindLedger)))
	g.settle()
	kept.kept(g, "restored")
	gone.gone(g, "restored")
	g.reaches(token, out.ErasureID, events.LevelPurged)
	gone.gone(g, "purged again")
	g.close()
	gone.gone(g, "after a stop")
}
