package indextest

import (
	"context"

	"github.com/annals-memory/annals/projectors/index"
)

// Backend is an index under test. The suite calls it from one goroutine.
type Backend interface {
	// Candidates returns the ranked lists for q. A query that is out of range is refused with the errors of
	// [index.Query.Validate]; a vector that is not of the model's dimension with [index.ErrVectorDim].
	Candidates(ctx context.Context, q index.Query) (index.Candidates, error)
	// Count returns the number of documents that pass f.
	Count(ctx context.Context, f index.Filter) (int, error)
	// Apply applies ops in order as one batch; later searches see all of them. An operation that is refused changes
	// nothing, the others are applied, and the errors are joined. A [index.SubjectRemoval] is carried out to its end.
	Apply(ctx context.Context, ops []index.Op) error
	// Drop removes everything.
	Drop(ctx context.Context) error
}
