package projectors

import (
	"errors"
	"fmt"
)

// Errors that callers decide on. None carries a value or a name.
var (
	// ErrConfig says that Open was called without something it needs.
	ErrConfig = errors.New("projectors: option is missing")
	// ErrUnknownProjection says that there is no projection of that name.
	ErrUnknownProjection = errors.New("projectors: unknown projection")
	// ErrBusy says that the projection is being replayed or verified already.
	ErrBusy = errors.New("projectors: projection is busy")
	// ErrDigest says that a rebuilt view differs from the serving one, which stays.
	ErrDigest = errors.New("projectors: digests differ")
	// ErrOtherModel says that a vector is of another model than the search index.
	ErrOtherModel = errors.New("projectors: vector is of another model than the search index")
	// ErrLogWentBack says that a message came with a position that had been passed.
	ErrLogWentBack = errors.New("projectors: log went back")
	// ErrUnpurged says that files with deleted rows are still there after they should have been written anew.
	ErrUnpurged = errors.New("projectors: deleted rows are still on disk")
	// ErrIndexUnavailable says that a search index outside of the views does not answer a query, or is being built anew.
	ErrIndexUnavailable = errors.New("projectors: search index does not answer")
	// ErrClosed says that the views are closed.
	ErrClosed = errors.New("projectors: closed")
	// ErrCorrupt says that a stored row is not what a fold wrote. The view must be built anew.
	ErrCorrupt = errors.New("projectors: corrupt row")
	// ErrFilter says that a filter lacks a field that it needs, or that its cursor is not one of ours.
	ErrFilter = errors.New("projectors: bad filter")
)

// OpenReadersError says that readers keep rows on disk that were deleted. The purge can be repeated when they are closed.
type OpenReadersError struct {
	// Projection is the view that they read, Open their number.
	Projection string
	Open       int
}

func (e *OpenReadersError) Error() string {
	return fmt.Sprintf("projectors: %d readers keep deleted rows of %s on disk", e.Open, e.Projection)
}
