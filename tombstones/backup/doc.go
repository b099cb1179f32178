// Package backup copies a memory into three artefacts and puts it back from them
// without bringing back what was forgotten in between.
//
// # Artefacts
//
//	data     the log: sealed events, of no use without keys; kept for long
//	keys     the wrapped keys, of no use without the root key; kept for days
//	ledger   tombstones and proofs, free of values; taken often, kept for years
//
// Each is a file of its own: a snapshot of one stream, and behind it a manifest
// that the ledger's key has signed, with the hash of everything before it and the
// anchor of the moment. The root key and the ledger's key are in none of them.
//
// # Guarantees
//
//   - [Take] needs no writer to stop. An artefact has what its part held at one
//     moment: the live messages, with their positions and times.
//   - [NewPlan] writes nothing. It refuses artefacts that are damaged, were not
//     signed by one and the same key, do not fit each other, and a ledger that is
//     missing or older than any anchor it is shown, also those in the artefacts.
//   - [Plan.Apply] holds the log against the ledger position by position before
//     it changes anything. When it returns, the log has what the ledger has: legal
//     holds and their end, consents and withdrawals, in their order, every
//     tombstone, and what follows for facts that were taken from what is gone; the
//     keys of all that is gone and not held are destroyed; positions that were erased are
//     deleted; and a new epoch, whose checkpoint covers everything, is begun.
//   - What was written behind the data artefact and is lost is told by its number.
//   - No error has a word of a memory in it.
//
// # Not guaranteed
//
//   - Whoever has the ledger's key, or all artefacts and no anchor is kept
//     elsewhere, can forge artefacts: name the public key or an anchor that you
//     trust. Without any, artefacts vouch for themselves.
//   - Keys that the artefact has and that were destroyed without a tombstone are
//     back: rotate the root key to end them.
//   - The keys of what is under a legal hold are kept, as the artefact has them: also
//     that of what was destroyed before the hold, if the artefact is older than both.
//     Nothing shows it, and it goes when the hold is lifted.
//   - A consent that was given behind the data artefact comes back without its words:
//     they were sealed in the log.
//   - Values that were kept out, exports that were written down and the progress of
//     erasures are in the log alone: what was written of them behind the data artefact
//     is lost with it. A value that was to be kept out since can come in again.
//   - What was in quarantine is not in a backup.
package backup
