package events

// Guard is what a scan of a text or value found: rules and counts, nothing of
// what was scanned. The zero value is that of a record that was never scanned.
type Guard struct {
	// Rules is the hex SHA-256 of the rules that it was scanned with.
	Rules string `json:"rules"`
	// Score is how much it looks like an instruction to the agent, 0 to 100.
	Score int `json:"score,omitempty"`
	// Hits are the ids of the rules that matched, in order and distinct.
	Hits []string `json:"hits,omitempty"`
	// Secrets is the number of credentials that were found.
	Secrets int `json:"secrets,omitempty"`
	// Personal are the kinds of personal data that were found, in order.
	Personal []string `json:"personal,omitempty"`
}

// IsZero reports whether nothing was scanned.
func (g Guard) IsZero() bool { return g.Rules == "" }
