// Package tombstones forgets: one record, what a filter or a source names, or
// everything about a subject.
//
// # The saga
//
// Every step can be repeated, and a step that finds its work done is done:
//
//  1. The tombstone, an event without a value, is appended under the expected
//     position of its aggregate, and copied into the ledger.
//  2. The saga waits until every serving view has folded it: denied. While the
//     subject is under a legal hold it ends here: held.
//  3. What was derived from it is reached through the views and decided on the
//     slot itself, as the log has it: a fact with no other source is forgotten
//     too, one with others loses this source.
//  4. The keys of all that was forgotten are destroyed: shredded. More than a
//     few dozen are left to [Eraser.Run], and the answer is denied.
//  5. The saga waits for the views again, and answers.
//  6. In the background the messages that hold something of it are named in the
//     ledger and overwritten in the log, the views give up the bytes, quarantine
//     and dead key rows are emptied: purged. There is a signed receipt then.
//  7. The keys above it are replaced: those of its subjects soon, that of the
//     tenant right before the root's. When the root's former key is destroyed no
//     copy of the keys opens it: backups_dead.
//
// Each level is entered into the erasure's own aggregate, its account, with what
// was planned, done and failed in each store.
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
//   - An erasure that matched nothing has no account and no receipt, and is named by
//     no answer; any other has, even if its process ended before it was begun. What
//     stands in its way is shown as failed and tried again for ever.
//   - What a forget of a subject matched is one number in its answers, its account
//     and its receipt: that of the records that the log has before the tombstone.
//     Records that were acknowledged behind it are counted apart, as late, until it
//     is purged; each is forgotten by a tombstone of its own.
//   - On several servers no message is deleted while one of them is away.
//   - Each residue in a receipt has a deadline, or says why it has none.
//   - No message is deleted that a checkpoint of the ledger does not cover, or that
//     tells of something that is kept; the latter are residues in the receipt.
//
// # Not guaranteed
//
//   - Keys that are left to [Eraser.Run] are there until it gets to them: it must
//     be running, and if its process ends, until the next start.
//   - A hold that is put on while a forget destroys keys does not bring them back.
//   - With other processes on the log, what they deleted last may be counted in
//     their round and not in this one.
//   - An id that is made for a subject's name after the name was forgotten is
//     another subject: nothing links the two, so nothing keeps a caller from
//     telling the same again.
//   - Keyrings of other processes may keep a subject's key for as long as their
//     cache does; they do not get to serve it, for the tombstone comes first.
//   - A hold does not keep what waits in quarantine beyond its 15 minutes: what nobody
//     has let in is no record. That it came, and a keyed hash of it, stay in the log.
//   - A key row that is lost within a second of its writing, before an anchor names it,
//     is missed by no check of the keys; its record then reads as damaged.
//   - A forget that was cut off before its account walks its tenant once, however
//     little it had matched.
//   - The reason of a forget is not kept, in no form.
package tombstones
