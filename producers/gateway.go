package producers

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// ErrConfig says that a constructor was called without something it needs.
var ErrConfig = errors.New("configuration is incomplete")

// Log is what commands need of the log.
type Log interface {
	events.Appender
	events.AggregateReader
	// State tells where the log stands.
	State(ctx context.Context) (events.State, error)
	// MessageAt returns the message at a position, or events.ErrNoCommits.
	MessageAt(ctx context.Context, position uint64) (events.Message, error)
}

// Ledger keeps a copy of consents that a restore of an older log goes by. It is a
// *ledger.Ledger.
type Ledger interface {
	RecordSubject(ctx context.Context, list []ledger.SubjectChange) error
}

// Scanner is the guardrail: it says of a text whether it looks like an instruction
// to the agent, and whether it holds credentials or personal data. It is pure and
// safe for concurrent use. It is a *guard.Scanner.
type Scanner interface {
	Scan(text string) events.Guard
	// Rules is the hex SHA-256 of the rules.
	Rules() string
}

// Config is what a gateway is made of. Scanner, Suppressed, Ledger and Logger may be
// nil; all else is required.
type Config struct {
	Log        Log
	Keys       *seal.Keyring
	Quarantine Quarantine
	// Now is the clock of commands.
	Now func() time.Time
	// NewID makes the ids of commands without an idempotency key: UUIDs in
	// canonical lower case, ascending with time (version 7).
	NewID func() string
	// Scanner looks at all that is captured and proposed; nil looks at nothing.
	Scanner Scanner
	// Suppressed knows what may not come back; nil is nothing.
	Suppressed Suppressed
	// Ledger gets a copy of every consent; nil keeps none.
	Ledger Ledger
	// Logger is told of a policy that cannot be used any more; nil tells nobody.
	Logger *slog.Logger
}

// Gateway is where all commands come in. It is safe for concurrent use, and
// any number of gateways in any number of processes may share a log.
type Gateway struct {
	log        Log
	keys       *seal.Keyring
	quarantine Quarantine
	now        func() time.Time
	newID      func() string
	scanner    Scanner
	suppressed Suppressed
	ledger     Ledger
	names      *nameCache
	turns      turns
	traced     traced
	recalls    *recalls
	policies   *policies
}

// New returns a gateway. It reads and writes nothing yet and starts no
// goroutine. A missing part is [ErrConfig].
func New(c Config) (*Gateway, error) {
	if c.Log == nil || c.Keys == nil || c.Quarantine == nil || c.Now == nil || c.NewID == nil {
		return nil, ErrConfig
	}
	return &Gateway{
		log: c.Log, keys: c.Keys, quarantine: c.Quarantine, now: c.Now, newID: c.NewID,
		scanner: c.Scanner, suppressed: c.Suppressed, ledger: c.Ledger, names: newNameCache(), turns: newTurns(), recalls: newRecalls(),
		policies: newPolicies(c.Logger),
	}, nil
}

// clock is now, at the resolution of the log.
func (g *Gateway) clock() time.Time { return events.Micro(g.now()) }

// permit refuses callers without a role for the command, or without a trust,
// which no verified credential lacks.
func permit(c events.Caller, roles ...events.Role) error {
	if !c.Has(roles...) || c.Trust < events.TrustExternal || c.Trust > events.TrustSystem || c.Tenant == "" || c.Principal == "" {
		return events.ErrForbidden
	}
	return nil
}
