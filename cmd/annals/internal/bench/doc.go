// Package bench measures a node beside raw references of the same run, so
// that a figure says something on any machine: a ratio to what JetStream alone
// does with the same bytes at the same durability.
//
// Replays are measured over a log of a hundred thousand messages of every kind at
// least, and a replay that does not come to the digest of the live view fails
// the run. Scopes too large for the built-in model are measured with [StandIn],
// and the names of those figures end in _stand_in_vectors.
//
// Forgetting is measured on the node of the large scopes, from the call to each
// level: some single records, a subject with a thousand memories, and the largest
// scope. What denies and shreds a subject must not take longer the more is kept of
// it.
//
// Not guaranteed: that absolute figures repeat. Compare ratios, on a quiet
// machine.
package bench
