package projectors

import "time"

// The names of the projections.
const (
	Facts    = "facts"
	Memories = "memories"
	Traces   = "traces"
)

// Status is where one view stands.
type Status struct {
	Projection string `json:"projection"`
	Node       string `json:"node,omitempty"`
	Generation uint64 `json:"generation"`
	// Position is that of the last message folded, Head that of the log's last message, Lag their difference.
	Position uint64 `json:"position"`
	Head     uint64 `json:"head"`
	Lag      uint64 `json:"lag"`
	// Digest is that of the view's records at Position, in hex.
	Digest  string `json:"digest"`
	Records uint64 `json:"records"`
	// Parked is the number of commits that are parked, Unopened that of records whose key is gone and whose tombstone has
	// not been folded. The latter is ordinary while the view is behind and corruption when it is not.
	Parked   uint64 `json:"parked"`
	Unopened uint64 `json:"unopened"`
	// Waiting is what the view waits for, empty if nothing: a search index outside that does not do what it is asked.
	Waiting string `json:"waiting,omitempty"`
	// Healthy is false if anything is parked, if a record stays unopened in a view that has caught up, if the store
	// reported an error, if the view waits for its search index, or if the log could not be asked for its head.
	Healthy bool `json:"healthy"`
	// Recipe is what the search index of the serving generation is made with, nil if it has none.
	Recipe *Recipe `json:"recipe,omitempty"`
	// Building is how far the next generation is, nil if none is built.
	Building *Build    `json:"building,omitempty"`
	At       time.Time `json:"at"`
}

// Build tells how far the next generation of a view is. It serves nobody before it is where the serving one is.
type Build struct {
	Generation uint64 `json:"generation"`
	Position   uint64 `json:"position"`
	Target     uint64 `json:"target"`
	// Recipe is what its search index is made with, nil if it has none.
	Recipe *Recipe `json:"recipe,omitempty"`
}

// Progress tells how far a replay or a verification is.
type Progress struct {
	Projection string `json:"projection"`
	Position   uint64 `json:"position"`
	Target     uint64 `json:"target"`
	// Events is the number of messages read so far.
	Events uint64 `json:"events"`
}

// ReplayResult is the outcome of a replay. Old and New are the digests at Position, where the new generation took over.
type ReplayResult struct {
	Projection string        `json:"projection"`
	Generation uint64        `json:"generation"`
	Old        string        `json:"old"`
	New        string        `json:"new"`
	Position   uint64        `json:"position"`
	Events     uint64        `json:"events"`
	Elapsed    time.Duration `json:"elapsed"`
}

// VerifyResult is the outcome of a verification at Position: the digest that the view keeps, the one of its stored rows,
// and the one of a fresh fold.
type VerifyResult struct {
	Projection string        `json:"projection"`
	Position   uint64        `json:"position"`
	Kept       string        `json:"kept"`
	Stored     string        `json:"stored"`
	Fresh      string        `json:"fresh"`
	Records    uint64        `json:"records"`
	Events     uint64        `json:"events"`
	Elapsed    time.Duration `json:"elapsed"`
	// Differing is the number of keys that are in one of view and fresh fold only, or with another value.
	Differing int  `json:"differing"`
	OK        bool `json:"ok"`
}

// RetryResult is the outcome of a retry of parked commits. Gone counts those whose message is no longer in the log.
type RetryResult struct {
	Projection string `json:"projection"`
	Folded     int    `json:"folded"`
	Gone       int    `json:"gone"`
	Parked     uint64 `json:"parked"`
}
