package indextest

import (
	"context"

	"github.com/annals-memory/annals/projectors/index"
)

// Backend is an index under test. The suite calls it from one goroutine.
type Backend interface {
	index.Searcher

	// Apply applies ops in order as one batch; later searches see all of them. An operation that is refused changes
	// nothing, the others are applied, and the errors are joined. A [index.SubjectRemoval] is carried out to its end.
	Apply(ctx context.Context, ops []index.Op) error
	// Drop removes everything.
	Drop(ctx context.Context) error
}
