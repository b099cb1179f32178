package events

// ValueSuppressed says that values that were forgotten are not to come back. The
// aggregate is the tenant's only one of its kind, with the id SharedID.
type ValueSuppressed struct {
	// Suppression is the id by which they are let in again; one may have several
	// such events.
	Suppression string `json:"suppression"`
	// Hashes are keyed hashes of the normalised values: they tell whether a value
	// is one of them, to who holds the tenant's key, and nothing else.
	Hashes []string `json:"hashes"`
}

// SuppressionRemoved lets the values of a suppression in again, but for those that
// another one names.
type SuppressionRemoved struct {
	Suppression string `json:"suppression"`
}
