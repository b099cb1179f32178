package projectors

import (
	"time"

	"github.com/annals-memory/annals/events"
)

// EpisodeRow is one episode. Content is sealed: it opens in the scope of Tenant, Subject and Class under the label of
// aggregate [events.KindEpisode], record ID and type ContentType.
type EpisodeRow struct {
	// Tenant is the token of the tenant, ID the episode's.
	Tenant, ID string
	events.EpisodeCaptured
	// ContentType is the type under which Content was sealed: that of the event as it was written.
	ContentType string
	Position    uint64
	RecordedAt  time.Time
	// Principal is the token of who captured it.
	Principal string
	// Forgotten is set on a tombstone: only Tenant, ID, Subject, Erasure, Position and RecordedAt are set then, and the
	// latter two are those of the tombstone.
	Forgotten bool
	Erasure   string
}

// EpisodeFilter says which episodes are wanted, in the order of the log. All names are tokens; empty ones are no condition.
type EpisodeFilter struct {
	Subject, Session string
	// From (included) and To (excluded) bound OccurredAt; nil is no bound.
	From, To *time.Time
	// After is the cursor that the page before returned.
	After string
	// Limit is the greatest number of rows, zero or less for 100.
	Limit int
}
