package tombstones

// The names of stores in accounts.
const (
	storeKeys = "keys"
)
