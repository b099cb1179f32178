package tombstones

import (
	"slices"

	"github.com/annals-memory/annals/events"
)

// The names of stores in accounts.
const (
	storeKeys       = "keys"
	storeLog        = "log"
	storeFacts      = "facts"
	storeMemories   = "memories"
	storeTraces     = "traces"
	storeQuarantine = "quarantine"
	storeBackups    = "backups"
	// storeRotation counts the keys above what was erased that had to be replaced:
	// those of subjects, and that of the tenant.
	storeRotation = "rotation"
)

// progressOf is the progress of one store as an account has it.
func progressOf(s *events.ErasureState, store string) events.StoreProgress {
	for _, p := range s.Stores {
		if p.Store == store {
			return p
		}
	}
	return events.StoreProgress{Store: store}
}

// changed are the stores that differ from what the account has.
func changed(s *events.ErasureState, stores []events.StoreProgress) []events.StoreProgress {
	return slices.DeleteFunc(slices.Clone(stores), func(p events.StoreProgress) bool { return progressOf(s, p.Store) == p })
}
