package projectors

import (
	"time"

	"github.com/annals-memory/annals/events"
)

// TraceRow is one recalled answer with what became of it. Content is sealed: it opens in the scope of Tenant, Subject and
// Class under the label of aggregate [events.KindTrace], record Subject, type [events.TypeTraceRecalled] and part Trace.
type TraceRow struct {
	// Tenant is the token of the tenant.
	Tenant string
	events.TraceRecalled
	// Used are the memories that went into an answer, in the order of the log and without repetition.
	Used []string
	// Judged is the last judgement of each memory.
	Judged     map[string]events.Judgement
	Position   uint64
	RecordedAt time.Time
	// Principal is the token of who asked.
	Principal string
}
