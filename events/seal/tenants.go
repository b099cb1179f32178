package seal

import (
	"context"
	"iter"
	"strings"
)

// Tenants yields the token of every tenant that has a key, in no particular order.
// It reads a row for each.
func (k *Keyring) Tenants(ctx context.Context) iter.Seq2[string, error] {
	const prefix = "k1"
	return func(yield func(string, error) bool) {
		for row, err := range k.rows.List(ctx, prefix) {
			if err != nil {
				yield("", wrapError("list tenants", err))
				return
			}
			if !yield(strings.TrimPrefix(row.Key, prefix+"."), nil) {
				return
			}
		}
	}
}
