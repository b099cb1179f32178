package producers

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/annals-memory/annals/producers/embed"
)

// refusal is an error of a model that knows whether to ask again helps.
type refusal interface {
	error
	// Temporary says that the same texts may be taken later.
	Temporary() bool
}

// errRefused says that a model does not take a text, but others.
var errRefused = errors.New("the model refuses the text")

// canary is a text that every model takes.
const canary = "canary"

// isRefusal says that the model answered, and that it will not take these
// texts. What the network says of itself is not a refusal.
func isRefusal(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return false
	}
	r, ok := errors.AsType[refusal](err)
	return ok && !r.Temporary()
}

// vectors embeds texts and does not give up. A batch that is refused is halved,
// down to the texts that are to blame; those have no vector.
func (e *Embedder) vectors(ctx context.Context, records []pendingText, texts []string) ([][]float32, error) {
	halve := false
	list, err := persist(ctx, e, "embed texts", records[0].position, func() ([][]float32, error) {
		v, err := e.ask(ctx, texts)
		if !isRefusal(err) {
			return v, err
		}
		if len(texts) == 1 {
			return e.insist(ctx, texts)
		}
		halve = true
		return nil, nil
	})
	if errors.Is(err, errRefused) {
		e.skip(ctx, records[0].position, errRefused)
		return [][]float32{nil}, nil
	}
	if err != nil || !halve {
		return list, err
	}
	half := len(texts) / 2
	left, err := e.vectors(ctx, records[:half], texts[:half])
	if err != nil {
		return nil, err
	}
	right, err := e.vectors(ctx, records[half:], texts[half:])
	return append(left, right...), err
}

// insist finds out whether a refusal is about this very text: then the model
// takes another right now and refuses this one again. If it takes no text, its
// operator has something to set right, and nothing is skipped.
func (e *Embedder) insist(ctx context.Context, texts []string) ([][]float32, error) {
	if _, err := e.ask(ctx, []string{canary}); err != nil {
		return nil, err
	}
	v, err := e.ask(ctx, texts)
	if isRefusal(err) {
		return [][]float32{nil}, errRefused
	}
	return v, err
}

func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	v, err := e.c.Model.Embed(ctx, texts, embed.Document)
	if err != nil {
		return nil, fmt.Errorf("ask model: %w", err)
	}
	if err := embed.Check(e.c.Model.ID(), len(texts), v); err != nil {
		return nil, fmt.Errorf("check vectors: %w", err)
	}
	return v, nil
}
