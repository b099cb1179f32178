package node

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/bge"
	"github.com/annals-memory/annals/producers/embed/openai"
	"github.com/annals-memory/annals/producers/embed/uselite"
)

// endpointName is the name of the model at --embed-url.
const endpointName = "endpoint"

// builtin is a model that is in the binary.
type builtin struct {
	name string
	load func() (embed.Embedder, error)
}

// builtins are the models in the binary, the default first.
func builtins() []builtin {
	return []builtin{
		{name: "uselite", load: func() (embed.Embedder, error) { return uselite.New() }},
		{name: "bge", load: func() (embed.Embedder, error) { return bge.New() }},
	}
}

// models are those that a node has. A built-in one is loaded when it is asked for, once.
type models struct {
	mu     sync.Mutex
	loaded map[string]embed.Embedder // by name
	given  []string                  // the names of those that came with the options
}

// openModels has the models of the options, and the name of the one that they ask for.
func openModels(ctx context.Context, o Options) (m *models, asked string, err error) {
	m = &models{loaded: make(map[string]embed.Embedder)}
	give := func(name string, e embed.Embedder) {
		m.loaded[name] = e
		m.given = append(m.given, name)
	}
	if o.EmbedURL != "" {
		e, err := openai.New(ctx, openai.Config{BaseURL: o.EmbedURL, Model: o.EmbedModel, APIKey: o.EmbedKey, Dim: o.EmbedDim})
		if err != nil {
			return nil, "", fmt.Errorf("embedding endpoint: %w", err)
		}
		give(endpointName, e)
	}
	for _, e := range o.Models {
		give(e.ID().Model, e)
	}
	switch {
	case o.Model != nil:
		asked = o.Model.ID().Model
		give(asked, o.Model)
	case o.Embed != "":
		asked = o.Embed
	case o.EmbedURL != "":
		asked = endpointName
	default:
		asked = builtins()[0].name
	}
	if _, err := m.open(asked); err != nil {
		return nil, "", err
	}
	return m, asked, nil
}

// names are those that can be opened.
func (m *models) names() []string {
	list := slices.Clone(m.given)
	for _, b := range builtins() {
		if !slices.Contains(list, b.name) {
			list = append(list, b.name)
		}
	}
	return list
}

// open returns the model of a name. The error is an *events.InputError if there is none.
func (m *models) open(name string) (embed.Embedder, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.loaded[name]; e != nil {
		return e, nil
	}
	for _, b := range builtins() {
		if b.name != name {
			continue
		}
		e, err := b.load()
		if err != nil {
			return nil, fmt.Errorf("load the built-in model: %w", err)
		}
		m.loaded[name] = e
		return e, nil
	}
	return nil, &events.InputError{Kind: events.Refused, Code: "unknown_model", Field: "model", Rule: "must be a model that this server has"}
}

// find returns the model of a key and its name, nil if none has it. Those that are loaded
// are looked at first.
func (m *models) find(key string) (embed.Embedder, string) {
	names := m.names()
	m.mu.Lock()
	slices.SortStableFunc(names, func(a, b string) int {
		if (m.loaded[a] != nil) == (m.loaded[b] != nil) {
			return 0
		}
		if m.loaded[a] != nil {
			return -1
		}
		return 1
	})
	m.mu.Unlock()
	for _, name := range names {
		if e, err := m.open(name); err == nil && e.ID().Key() == key {
			return e, name
		}
	}
	return nil, ""
}
