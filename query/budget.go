package query

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// counter counts tokens of a text as o200k_base has them. The vocabulary is
// loaded at the first question with a budget.
type counter struct {
	load func() (tokenizer.Codec, error)
}

func newCounter() *counter {
	return &counter{load: sync.OnceValues(func() (tokenizer.Codec, error) {
		return tokenizer.Get(tokenizer.O200kBase)
	})}
}

func (c *counter) count(text string) (int, error) {
	codec, err := c.load()
	if err != nil {
		return 0, fmt.Errorf("load token vocabulary: %w", err)
	}
	n, err := codec.Count(text)
	if err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	return n, nil
}

// fit keeps, in order, the items that still fit the budget and counts those that
// do not. An item is never cut; a smaller one behind one that is too large may
// still fit.
func fit[T any](items []T, budget int, cost func(T) (int, error)) (kept []T, omitted int, err error) {
	kept = make([]T, 0, len(items))
	for _, item := range items {
		n, err := cost(item)
		if err != nil {
			return nil, 0, err
		}
		if n > budget {
			omitted++
			continue
		}
		budget -= n
		kept = append(kept, item)
	}
	return kept, omitted, nil
}
