// Package events is the language of the Annals log: the event types, the
// commits that carry them, their subjects and encoding, and the port through
// which a log is written and read.
//
// # The log
//
// Every aggregate (one episode, one fact slot, one subject, ...) owns exactly
// one NATS subject,
//
//	annals.<shard>.<tenant>.<kind>.<id>
//
// and one [Commit] is one message on it: one or more events that happen
// together or not at all. The position of a commit is its stream sequence. It
// is the one clock of the system: every write returns one and every read can
// wait for one.
//
// # What stands in clear
//
// Ids are opaque tokens. Whatever a person could recognise (text, values,
// names, predicates, sources) is inside a Content field, sealed under the key
// of its record; see package seal. What must be compared or filtered without
// opening it is a keyed hash of it, called a token here.
//
// # Guarantees
//
//  1. A commit is applied whole or not at all.
//  2. An append names what it expects of its own subject; of any number of
//     writers that expect the same, one wins.
//  3. An append that is retried with the same commit id is one commit.
//  4. Every type version ever written decodes for ever: old ones are upcast on
//     reading, and testdata keeps one of each.
//  5. Decoding never panics and never guesses: an unknown type, an unknown
//     field or a malformed token is a typed error.
//
// # Not guaranteed
//
// The order of two tenants' commits says nothing. The time in a commit is its
// writer's clock; the time of record is the log's (Recorded.RecordedAt).
package events
