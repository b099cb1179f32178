package query

import "github.com/annals-memory/annals/events"

// Consistency says how far a recall trusts the views.
type Consistency string

// The consistencies.
const (
	// Local answers from the views as they are.
	Local Consistency = "local"
	// Strong checks the log's last word on each result first.
	Strong Consistency = "strong"
)

// Include says whether what holds no more is asked for.
type Include string

// What a list of facts, or a recall, includes.
const (
	// IncludeCurrent lists the facts that are true at the time asked about. A recall
	// has the memories that hold then, and behind them the best of those that do not.
	IncludeCurrent Include = "current"
	// IncludeHistory lists every fact that ever was one, as it is known now. A recall
	// ranks what holds no more by its score, as all else.
	IncludeHistory Include = "history"
)

// Period is a stretch of time, From inclusive, To exclusive; a nil end is open.
type Period struct {
	From *events.Time `json:"from,omitempty"`
	To   *events.Time `json:"to,omitempty"`
}

// RecallRequest asks for the memories that answer a question. Every condition
// that is given must hold; a list holds if any of its values does. Sessions,
// entities and metadata belong to episodes and scopes to facts: a condition on
// one leaves the other kind out.
type RecallRequest struct {
	Query   string `json:"query"`
	Subject string `json:"subject,omitempty"`
	Session string `json:"session,omitempty"`
	// Kinds are of "episode", "fact" and "trajectory"; none is all.
	Kinds      []string `json:"kinds,omitempty"`
	Categories []string `json:"categories,omitempty"`
	Scopes     []string `json:"scopes,omitempty"`
	Entities   []string `json:"entities,omitempty"`
	// Occurred bounds when an episode happened and when a fact was observed.
	Occurred *Period `json:"occurred,omitempty"`
	Filter   Filter  `json:"filter,omitempty"`
	// AsOf asks for what was true then: facts valid at that time, episodes that
	// had happened. KnownAt asks for what had been recorded by then.
	AsOf    *events.Time `json:"as_of,omitempty"`
	KnownAt *events.Time `json:"known_at,omitempty"`
	// Include is IncludeCurrent if it is empty.
	Include Include `json:"include,omitempty"`
	// K is the most results wanted, 1 to 100; nil is 10.
	K *int `json:"k,omitempty"`
	// TokenBudget bounds the tokens (o200k_base) of all texts together; nil is
	// no bound.
	TokenBudget *int           `json:"token_budget,omitempty"`
	Weights     *WeightsChoice `json:"weights,omitempty"`
	Explain     bool           `json:"explain,omitempty"`
	Consistency Consistency    `json:"consistency,omitempty"`
	// WaitFor is a position that the views must have reached.
	WaitFor uint64 `json:"wait_for,omitempty"`
}

// FactsRequest lists facts of one subject.
type FactsRequest struct {
	Subject   string       `json:"subject"`
	Predicate string       `json:"predicate,omitempty"`
	Scope     string       `json:"scope,omitempty"`
	Category  string       `json:"category,omitempty"`
	AsOf      *events.Time `json:"as_of,omitempty"`
	KnownAt   *events.Time `json:"known_at,omitempty"`
	Include   Include      `json:"include,omitempty"`
	Cursor    string       `json:"cursor,omitempty"`
	// Limit is the most facts on a page, 1 to 1,000; nil is 50.
	Limit   *int   `json:"limit,omitempty"`
	WaitFor uint64 `json:"wait_for,omitempty"`
}

// RecordRequest asks for one record, or for something about it.
type RecordRequest struct {
	ID      string `json:"id"`
	WaitFor uint64 `json:"wait_for,omitempty"`
}

// EpisodesRequest lists episodes of one subject in the order of their capture.
type EpisodesRequest struct {
	Subject string       `json:"subject"`
	Session string       `json:"session,omitempty"`
	From    *events.Time `json:"from,omitempty"`
	To      *events.Time `json:"to,omitempty"`
	Cursor  string       `json:"cursor,omitempty"`
	// Limit is the most episodes on a page, 1 to 1,000; nil is 50.
	Limit   *int   `json:"limit,omitempty"`
	WaitFor uint64 `json:"wait_for,omitempty"`
}
