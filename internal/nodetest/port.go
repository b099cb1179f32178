package nodetest

import (
	"context"
	"fmt"

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
