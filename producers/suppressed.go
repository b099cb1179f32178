package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// Suppressed knows which values a tenant wants kept out.
type Suppressed interface {
	Has(ctx context.Context, t *seal.Tenant, values ...string) (bool, error)
}

// admit refuses a value that was forgotten and may not come back.
func (g *Gateway) admit(ctx context.Context, t *seal.Tenant, field, value string) error {
	if g.suppressed == nil {
		return nil
	}
	out, err := g.suppressed.Has(ctx, t, value)
	if err != nil {
		return fmt.Errorf("compare with what is kept out: %w", err)
	}
	if out {
		return &events.InputError{
			Kind: events.Refused, Code: "suppressed", Field: field, Rule: "was forgotten and is not to come back",
		}
	}
	return nil
}

// admitted are the items that are not refused; the others are answered.
func (g *Gateway) admitted(ctx context.Context, items []*item, out *BatchCaptured) ([]*item, error) {
	kept := items[:0]
	for _, it := range items {
		err := g.admit(ctx, it.work.tenant, index("items", it.index)+".text", it.request.Text)
		if err == nil {
			kept = append(kept, it)
			continue
		}
		if _, refused := errors.AsType[*events.InputError](err); !refused {
			return nil, err
		}
		out.Results[it.index].Error = itemError(err)
	}
	return kept, nil
}
