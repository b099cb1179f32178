package node_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/projectors"
)

const secondModel = "second"

// renamed is a model under another name, whose vectors are those of the first one backwards.
type renamed struct {
	embed.Embedder

	name string
}

func (r renamed) ID() embed.ModelID {
	id := r.Embedder.ID()
	id.Model = r.name
	return id
}

// Embed implements [embed.Embedder].
func (r renamed) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	vectors, err := r.Embedder.Embed(ctx, texts, kind)
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		out[i] = slices.Clone(v) // a model may hand the same one out again
		slices.Reverse(out[i])
	}
	return out, err
}

// embedding polls until the embedding is as asked for.
func (f *fixture) embedding(what string, is func(e httpapi.Embedding) bool) httpapi.Embedding {
	f.t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		e := as[httpapi.Embedding](f.do(f.LocalToken(), http.MethodGet, "/v1/embedding", nil, http.StatusOK))
		if is(e) {
			return e
		}
		select {
		case <-deadline:
			f.t.Fatalf("never %s: %+v %+v", what, e, e.Change)
		case <-tick.C:
		}
	}
}

func (f *fixture) choose(body obj) {
	f.t.Helper()
	f.do(f.LocalToken(), http.MethodPost, "/v1/embedding", body, http.StatusAccepted)
}

// found is the first result for a question, by which channel it was found, and whether the question was embedded.
func (f *fixture) found(token, question string) (id string, dense, lexicalOnly bool) {
	f.t.Helper()
	a := f.do(token, http.MethodPost, "/v1/recall", obj{"query": question, "explain": true}, http.StatusOK)
	r := as[struct {
		LexicalOnly bool `json:"lexical_only"`
		Results     []struct {
			ID         string `json:"id"`
			Components struct {
				Dense *float64 `json:"dense"`
			} `json:"components"`
		} `json:"results"`
	}](a)
	if len(r.Results) == 0 {
		return "", false, r.LexicalOnly
	}
	return r.Results[0].ID, r.Results[0].Components.Dense != nil && *r.Results[0].Components.Dense > 0.5, r.LexicalOnly
}

// TestChangeOfModel changes the model of a running node: the old one serves until the next generation is there, with what is
// captured and forgotten meanwhile; a restart in each phase goes on; the way back is the same.
func TestChangeOfModel(t *testing.T) {
	t.Parallel()
	late := &lateModel{Embedder: model(t), asked: map[string][][]float32{}}
	second := renamed{late, secondModel}
	f := openWith(t, node.Options{Durability: "process", Model: model(t), Models: []embed.Embedder{second}})
	token := f.token("a")
	capture := func(subject, text string) string {
		t.Helper()
		return get[string](f.do(token, http.MethodPost, "/v1/episodes",
			obj{"subject": subject, "text": text, "source": obj{"kind": "chat", "ref": "1"}}, http.StatusCreated), "id")
	}
	first := model(t).ID().Model
	cello := capture("s", "the cello is in the attic")
	gone := capture("s", "the password of the harbour is plugh")
	f.settle()
	for _, bad := range []obj{{}, {"model": "nobody's"}, {"rollback": true}, {"model": secondModel, "rollback": true}} {
		b, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		if a := f.call(f.LocalToken(), http.MethodPost, "/v1/embedding", b); a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d %s", bad, a.status, a.body)
		}
	}
	if a := f.call(f.token("a", events.RoleAgent), http.MethodPost, "/v1/embedding", []byte(`{"model": "second"}`)); a.status != http.StatusForbidden {
		t.Errorf("an agent: %d", a.status)
	}
	serves := func(when, name, question, want string) {
		t.Helper()
		e := as[httpapi.Embedding](f.do(f.LocalToken(), http.MethodGet, "/v1/embedding", nil, http.StatusOK))
		id, dense, lexical := f.found(token, question)
		if e.Serving != name || id != want || !dense || lexical {
			t.Errorf("%s: %s serves, finds %q (by meaning %v, by words alone %v), want %q by %s", when, e.Serving, id, dense, lexical, want, name)
		}
	}
	serves("before", first, "where is the cello", cello)

	// The second model gets no vector done.
	late.hold(true)
	f.choose(obj{"model": secondModel})
	e := f.embedding("embedding", func(e httpapi.Embedding) bool { return e.Change != nil && e.Change.Phase == "embedding" })
	if e.Serving != first || e.Chosen != secondModel || e.Previous != first || e.Change.Target == 0 {
		t.Errorf("shown meanwhile: %+v %+v", e, e.Change)
	}
	if a := f.do("", http.MethodGet, "/readyz", nil, http.StatusOK); get[string](a, "detail") == "" {
		t.Errorf("ready: %s", a.body)
	}
	organ := capture("s", "the organ was sold to a church")
	f.settle() // of the model that serves
	serves("meanwhile", first, "who bought the organ", organ)
	f.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusAccepted)
	if id, _, _ := f.found(token, "the password of the harbour"); id == gone {
		t.Error("what was forgotten meanwhile is found")
	}
	for range 2 {
		f.close()
		f.start()
		if e := f.embedding("embedding again", func(e httpapi.Embedding) bool { return e.Change != nil && e.Change.Phase == "embedding" }); e.Serving != first {
			t.Errorf("after a restart: %+v", e)
		}
		serves("after a restart", first, "where is the cello", cello)
	}
	late.hold(false)
	f.embedding("changed", func(e httpapi.Embedding) bool { return e.Serving == secondModel && e.Change == nil })
	serves("afterwards", secondModel, "where is the cello", cello)
	serves("afterwards", secondModel, "who bought the organ", organ)
	if id, _, _ := f.found(token, "the password of the harbour"); id == gone {
		t.Error("what was forgotten is found by the second model")
	}
	for _, name := range []string{projectors.Memories, projectors.Facts} {
		if r, err := f.Views().Verify(t.Context(), name, nil); err != nil || !r.OK {
			t.Errorf("verify: %+v %v", r, err)
		}
	}
	// It is kept through a start with the same options, and through commands that name none.
	f.close()
	f.options.KeepModel = true
	f.start()
	serves("in a command", secondModel, "where is the cello", cello)
	harp := capture("s", "the harp needs new strings")
	f.settle()
	f.close()
	f.options.KeepModel = false
	f.start()
	serves("after another restart", secondModel, "what does the harp need", harp)

	f.choose(obj{"rollback": true})
	f.embedding("changed back", func(e httpapi.Embedding) bool { return e.Serving == first && e.Change == nil })
	serves("back", first, "what does the harp need", harp)
	serves("back", first, "where is the cello", cello)

	// A start with another model is a change as well.
	f.close()
	f.options.Model, f.options.Models = second, []embed.Embedder{model(t)}
	f.start()
	f.embedding("changed by a start", func(e httpapi.Embedding) bool { return e.Serving == secondModel && e.Change == nil })
	serves("by a start", secondModel, "what does the harp need", harp)
	// Where the model that serves is not here, words find until the next one serves.
	f.close()
	late.hold(true)
	f.options.Model, f.options.Models = renamed{late, "third"}, []embed.Embedder{model(t)}
	f.start()
	if id, dense, lexical := f.found(token, "harp strings"); id != harp || dense || !lexical {
		t.Errorf("without the model: %q %v %v", id, dense, lexical)
	}
	if e := f.embedding("embedding", func(e httpapi.Embedding) bool { return e.Change != nil }); e.Questions {
		t.Errorf("without the model: %+v", e)
	}
	late.hold(false)
	f.embedding("changed to the third", func(e httpapi.Embedding) bool { return e.Serving == "third" && e.Change == nil })
	serves("with the third", "third", "what does the harp need", harp)
}
