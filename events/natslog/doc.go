// Package natslog keeps the log, the wrapped keys and the quarantine in NATS
// JetStream. It is the one package, besides the commands, that knows NATS.
//
// [StartServer] runs a server inside the process, [Connect] reaches one that
// runs elsewhere, and [Open] creates or verifies the streams on either. From
// the [Streams] come the [Log], the [Keys], the [Quarantine] and the [Eraser].
//
// # Streams
//
//	EVENTS      annals.>             the log: no limits, no purge, no rollup, no TTL, no schedules
//	KEYS        annals-keys.>        one subject per row, the last message is the row
//	QUARANTINE  annals-quarantine.>  what is not trusted yet, for 15 minutes
//	LEDGER      annals-ledger.>      value-free records; nothing can be deleted
//
// A stream that exists with other settings is an error that names the setting;
// it is never changed.
//
// [Streams.Snapshot] copies one of EVENTS, KEYS and LEDGER while it is written, and
// [Restore] puts the copy back on a server that does not have it.
//
// # Guarantees
//
//  1. An acknowledged append is in the log: after a crash of the process with
//     [DurabilityProcess], after a power cut with [DurabilityPower].
//  2. Expectations are checked by the server on the exact subject. A conflict
//     has the position the aggregate really is at.
//  3. A retry of an aggregate's last commit with the expectation it had is
//     recognised for ever, any other retry within the duplicate window of the
//     stream.
//  4. Reads of aggregates and of keys see every write that was acknowledged
//     before, on one replica and on several. With several, what must be fresh
//     is asked of the leader, because a follower that answers a direct get may
//     lag.
//  5. A follower sees every message once, in order, across resets of its
//     consumer and reconnects. A log that went backwards is an error.
//  6. A key that was overwritten by [Keys.Put] or destroyed is in no block file of
//     the store any more when the call returns. [Keys.Replace] and [Keys.Discard]
//     leave bytes that a key above them has died for, or is about to.
//  7. Rows of [Keys.Journaled] are removed only after a journal has been told of
//     them, by revision and hash; those that are removed together, together.
//  8. No error and no log line holds a payload, a subject or a header.
//  9. Every write is answered within [Config.Timeout]. On a server in this process that
//     could not write to its disk the answer is a *WriteError, from then on at once and
//     until the server is started again, and [Server.Health] says the same.
//
// # Not guaranteed
//
// With several replicas the Raft logs keep a deleted message until they are
// compacted. One that is away when a row of the keys or a message in quarantine is
// removed may learn no more than that it is gone, and keep its bytes until the server
// makes use of the space; no message of the log is removed then, see
// [Eraser.SecureDelete]. A leader that was cut off may answer a read once more before
// it notices. Encryption at rest of an external server cannot be seen from
// here; it would turn secure deletion into plain deletion, so it must be off. Nor can
// what such a server was deleting when it was killed be finished from here, which
// [StartServer] does for its own.
// A commit that is retried after the duplicate window is a second commit if its
// expectation holds: with ExpectAny when others followed it, or when the
// expectation was read again. [Log.MessageAt] of a removed position
// may still be answered for a moment by a replica that lags. A message that
// expires from the quarantine, sealed as it is, stays in its block file until
// the block is dropped.
package natslog
