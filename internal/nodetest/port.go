package nodetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/query"
)

// traces lets query write its traces through a gateway, as the binary does.
type traces struct{ gateway *producers.Gateway }

func (t traces) RecordRecall(ctx context.Context, caller events.Caller, r query.Recalled) (string, uint64, error) {
	trace, position, err := t.gateway.RecordRecall(ctx, caller, producers.Recall(r))
	if err != nil {
		return "", 0, fmt.Errorf("record recall: %w", err)
	}
	return trace, position, nil
}

// encoder lets query embed its questions, as the binary does.
type encoder struct{ model embed.Embedder }

func (e encoder) Key() string { return e.model.ID().Key() }

func (e encoder) EncodeQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.model.Embed(ctx, []string{text}, embed.Query)
	if err != nil {
		return nil, fmt.Errorf("embed question: %w", err)
	}
	return v[0], nil
}

// pen is a quarantine in memory.
type pen struct {
	mu   sync.Mutex
	held map[string]events.Message
}

func newPen() *pen { return &pen{held: make(map[string]events.Message)} }

func (p *pen) Get(_ context.Context, tenant, id string) (events.Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.held[tenant+"."+id]
	if !ok {
		return events.Message{}, events.ErrNoCommits
	}
	return m, nil
}

func (p *pen) Remove(_ context.Context, tenant, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, tenant+"."+id)
	return nil
}

func (p *pen) Age() time.Duration { return 15 * time.Minute }

func (p *pen) Put(_ context.Context, tenant, id string, m events.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := tenant + "." + id
	if there, ok := p.held[key]; ok && there.Header.ID != m.Header.ID {
		return events.ErrConflict
	}
	p.held[key] = m
	return nil
}
