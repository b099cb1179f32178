package retention

import (
	"context"
	"iter"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones"
)

// Memory is what has to be known of an episode or a fact to tell whether its time
// is over.
type Memory struct {
	// Kind is events.KindEpisode or events.KindFact, for candidates too.
	Kind events.Kind
	ID   string
	// Subject is the id of the subject, Class the token of the category.
	Subject, Class string
	// RecordedAt is the log's time of an episode or a proposal, ChangedAt that of
	// the last change to a fact. ExpiresAt is that of a fact, zero if it has none.
	RecordedAt, ChangedAt, ExpiresAt time.Time
	// Status is that of a fact.
	Status events.FactStatus
	// Waits says that a candidate was decided on, or reopened, and waits for a
	// review. Reopened says that it waits since its last change, and not since it was
	// proposed.
	Waits, Reopened bool
	// Sources are the episodes of a fact that exist.
	Sources []string
}

// Memories lists what is kept, page by page. An empty cursor begins, and the
// cursor after the last page is empty.
type Memories interface {
	// WaitFor returns when the position has been folded.
	WaitFor(ctx context.Context, position uint64) error
	// Episodes lists them in the order in which they were recorded.
	Episodes(ctx context.Context, tenant, after string, limit int) (page []Memory, next string, err error)
	// Facts lists facts and candidates.
	Facts(ctx context.Context, tenant, after string, limit int) (page []Memory, next string, err error)
}

// Keys know the tenants.
type Keys interface {
	// Tenants yields the token of every tenant.
	Tenants(ctx context.Context) iter.Seq2[string, error]
	TenantByToken(ctx context.Context, token string) (*seal.Tenant, error)
	Tenant(ctx context.Context, name string, create bool) (*seal.Tenant, error)
}

// Log tells of legal holds, and where it stands.
type Log interface {
	events.AggregateReader
	State(ctx context.Context) (events.State, error)
}

// Eraser ends memories. It is a *tombstones.Eraser.
type Eraser interface {
	ForgetDue(ctx context.Context, tenant string, cause events.Cause, ids []string) (tombstones.Erasure, error)
}
