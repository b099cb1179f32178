// Package node plugs everything together, in the order of the data's way:
// log, keys, producers, embedder, views, query, forgetting, door. It owns the
// data directory.
//
// Layout of a data directory, mode 0700:
//
//	LOCK         held while a process has it open
//	root.key     K0, which wraps every other key; without it nothing opens
//	auth.key     signs tokens
//	local.token  the secret of the single-user token
//	server.json  where the running server listens; gone when it has stopped
//	log/         the embedded NATS server's store: events and wrapped keys
//	views/       projections; may be deleted at any time while stopped
//	embedder/    how far each embedding model has come; may be deleted too
//
// Guarantees: one process at a time; a missing root key beside an existing log
// is an error, never a new key; whatever Run starts has ended when it returns.
package node
