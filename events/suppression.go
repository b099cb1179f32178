package events

// ValueSuppressed says that values that were forgotten are not to come back. The
// aggregate is the tenant's only one of its kind, with the id SharedID.
type ValueSuppressed struct {
	// Hashes are keyed hashes of the normalised values: they tell whether a value
	// is one of them, to who holds the tenant's key, and nothing else.
	Hashes []string `json:"hashes"`
}
