// Package tombstones forgets: one record, what a filter or a source names, or
// everything about a subject.
//
// # The saga
//
// Every step can be repeated, and a step that finds its work done is done:
//
//  1. The tombstone, an event without a value, is appended under the expected
//     position of its aggregate.
//  2. The saga waits until every serving view has folded it: denied.
//  3. What was derived from it is reached through the views and decided on the
//     slot itself, as the log has it: a fact with no other source is forgotten
//     too, one with others loses this source.
//  4. The keys of all that was forgotten are destroyed: shredded. More than a
//     few dozen are left to [Eraser.Run], and the answer is denied.
//  5. The saga waits for the views again.
//
// # Guarantees
//
//   - When a call returns a level, no read that goes by the views returns the
//     value, and none will: not after a replay, a redelivery or a late write.
//   - With [LevelShredded], nothing opens the sealed bytes any more, wherever
//     copies of them are.
//   - A tombstone names ids and an erasure, and holds nothing of the record.
//   - Forgetting a record that was forgotten gives the first answer again, at
//     the level that has been reached by then, and so does any call under its
//     key. What is not there and what is another
//     tenant's are one error, and have no effect.
//   - A filter forgets every record that matched when the call began, however
//     many; or none, if there are more than the caller's maximum.
//   - A saga that failed or was cut off is finished by the same call again, or
//     by [Eraser.Run] at the next start; by nothing else.
//   - [Eraser.Run] ends with its context alone. What it cannot finish it tries
//     again, and goes on with the rest meanwhile.
//   - A record whose key row is damaged can be forgotten by its id.
//
// # Not guaranteed
//
//   - Keys that are left to [Eraser.Run] are there until it gets to them: it must
//     be running, and if its process ends, until the next start.
//   - The bytes of events and of old key rows leave the disk later than this.
//   - An id that is made for a subject's name after the name was forgotten is
//     another subject: nothing links the two, so nothing keeps a caller from
//     telling the same again.
//   - Keyrings of other processes may keep a subject's key for as long as their
//     cache does; they do not get to serve it, for the tombstone comes first.
//   - The reason of a forget is not kept, in no form.
package tombstones
