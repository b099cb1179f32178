package node

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/query"
)

// traces lets queries leave traces through the producers: the one thing that a
// query writes.
type traces struct{ *producers.Gateway }

// RecordRecall appends the trace of one answer.
func (t traces) RecordRecall(ctx context.Context, caller events.Caller, r query.Recalled) (string, uint64, error) {
	return t.Gateway.RecordRecall(ctx, caller, producers.Recall(r))
}

// encoder embeds questions with the model that embeds memories.
type encoder struct{ embed.Embedder }

// Key names the model.
func (e encoder) Key() string { return e.ID().Key() }

// EncodeQuery returns the vector of a question, nil if the model can say
// nothing of it.
func (e encoder) EncodeQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.Embed(ctx, []string{text}, embed.Query)
	if err != nil {
		return nil, fmt.Errorf("encode query: %w", err)
	}
	return v[0], nil
}
