package httpapi

import (
	"context"
	"net/http"

	"github.com/annals-memory/annals/events"
)

// Embeddings choose the model by which memories are searched.
type Embeddings interface {
	Embedding() Embedding
	// Choose begins to change to another model; what is searched goes on with the one
	// before until the next generation is there. The error is an *events.InputError.
	Choose(choice EmbeddingChoice) error
	// Changing says in a line how far a change is, "" if there is none.
	Changing() string
}

// Embedding is by which model memories are searched, and how far a change of it is.
type Embedding struct {
	// Serving, Chosen and Previous are names of models, or the keys of those that
	// have none here.
	Serving  string `json:"serving"`
	Chosen   string `json:"chosen"`
	Previous string `json:"previous,omitempty"`
	// Questions says whether the serving model is here to embed questions. Without it
	// memories are found by words alone.
	Questions bool `json:"questions"`
	// Models are the names that can be chosen.
	Models []string         `json:"models"`
	Change *EmbeddingChange `json:"change,omitempty"`
}

// EmbeddingChange is how far the change from the serving model to the chosen one is.
type EmbeddingChange struct {
	// Phase is embedding while the chosen model embeds what is in the log, building
	// while the next generation of the search index is folded, failed if that came to
	// something else than what serves, and waiting before and between.
	Phase    string `json:"phase"`
	Position uint64 `json:"position"`
	Target   uint64 `json:"target"`
}

// EmbeddingChoice names a model, or asks for the one before.
type EmbeddingChoice struct {
	Model    string `json:"model,omitempty"`
	Rollback bool   `json:"rollback,omitzero"`
}

func (a *API) embedding() {
	add(a, Route{
		Method: http.MethodGet, Path: "/v1/embedding", Summary: "By which model memories are searched, and how far a change of it is.",
		Roles: []events.Role{events.RoleAdmin, events.RoleAuditor},
	}, func(context.Context, Request[None]) (Embedding, error) { return a.core.Embeddings.Embedding(), nil })
	add(a, Route{
		Method: http.MethodPost, Path: "/v1/embedding", Summary: "Change the model by which memories are searched; the one before serves until the switch.",
		Roles: []events.Role{events.RoleAdmin}, Status: http.StatusAccepted,
	}, func(_ context.Context, r Request[EmbeddingChoice]) (Embedding, error) {
		if err := a.core.Embeddings.Choose(r.In); err != nil {
			return Embedding{}, err
		}
		return a.core.Embeddings.Embedding(), nil
	})
}
