// Package ledger keeps the account that the log is held to: a Merkle tree over
// its messages, a second copy of every tombstone, hold and consent, the positions
// that may be empty, and the receipts of erasures. All of it is free of values.
//
// # Where it is
//
// The records are messages of a stream of their own, from which nothing can be
// removed, on these subjects:
//
//	tree                a checkpoint: the leaves it adds, the size, a signed note
//	tombstone.<tenant>  up to 1,000 tombstones
//	subject.<tenant>    legal holds and their end, consents and withdrawals
//	erased.<tenant>     positions whose bytes are about to be deleted
//	keys                up to 1,000 rows of the keys that are about to be removed
//	receipt.<erasure>   a signed receipt
//	epoch               a restore: the tree goes on from a size with new leaves
//
// Beside the log, not in it, are three files of the data directory: ledger.key,
// which signs, ledger.pub, which verifies, and anchor: a signed note of where
// tree, ledger and keys stood last. The anchor has a hash of all records of the
// ledger up to it, so that one signature vouches for every one of them.
//
// # The keys
//
// Every write of a row of the keys has a revision, and there is none between the
// first and the last that was never written. The anchor has the revision up to which
// it accounts for them, how many rows there are of those that were not named for
// removal, and the sum of their hashes modulo 2^256, which needs no order and can be
// kept while rows come and go: an account of 100,000 rows is one line.
//
// Before a row is removed, because it is destroyed or because another has taken its
// place, its revision and hash are named in the ledger, together with those that are
// removed with it. So what is missing is either named or lost. What was named and is
// there still when the ledger is opened is removed then, unless an anchor says that
// it was gone: then it is there again, and damage.
//
// A row behind the anchor is an addition. A revision behind the anchor without a row
// must be named.
//
// # The tree
//
// It is that of RFC 6962. The leaf of a position covers the position and a hash
// of the message there: subject, header, data, and the time at which the log
// took it. The leaf of position p has the index p-1.
//
// A leaf stays when its message is deleted: proofs of what was there go on to
// verify. A position that is empty before a checkpoint covers it has a leaf of
// its own, which says so.
//
// In memory are the hashes of every full block of 256 leaves and of what is above
// them, and the leaves of the last block: some 0.3 bytes for each leaf. The other
// leaves are read from the ledger when a proof needs them.
//
// # Guarantees
//
//   - [Open] returns a Ledger only if every message of the log up to the size of
//     the tree is the one that was there when its checkpoint was made, every empty
//     position is named as erased, log, ledger and keys reach at least as far as the
//     anchor says, and the rows of the keys are those that it accounts for. Anything
//     else is a *[DamageError], and nothing was written.
//   - A log that becomes shorter than the tree while the ledger is open is damage,
//     found by the next checkpoint once [Config.Patience] is over.
//   - A log without its anchor, an anchor without its log, and another log's
//     anchor are damage. Both missing is the first start.
//   - A position counts as erased in the log that it was named of, not in what a
//     restore has put in its place.
//   - [Ledger.Record], [Ledger.RecordSubject] and [Ledger.Erased] return when the
//     ledger has acknowledged.
//   - A crash at any instant leaves what opens again: the anchor may be behind the
//     ledger, never before it. What was named for removal among the keys is removed
//     then, and nothing that was removed comes back.
//   - Several processes can write the same ledger. One checkpoint wins, and the
//     others go on from it.
//   - No error has a word of a memory in it.
//
// # Not guaranteed
//
//   - What the log took after its last checkpoint, which is a second's worth,
//     is checked for gaps alone.
//   - The account of the keys tells damage, not forgery: who holds the disk can make
//     rows whose hashes have the same sum. It is kept in the anchor of this directory
//     alone, and begins with what there is: on a first start, when a directory joins
//     a log that others use, and when a restore ends. Where an older copy of the
//     anchor is put in place, a row that was destroyed since and is there again is
//     destroyed again rather than told of.
//   - Keys that are written behind the anchor, a second's worth, may be lost from the
//     end without a trace: a record whose key is gone without a tombstone is loud when
//     it is read. A row that has failed to be removed, and is then held, is removed
//     all the same by the next start.
//   - Records of the ledger after the anchor are not vouched for by a signature
//     of this directory, unless they are checkpoints that were signed here.
//   - Whoever can write the data directory can forge all of it. Keep copies of
//     checkpoints elsewhere.
//   - With a log that survives the process and not a power cut, a power cut that
//     takes acknowledged writes is damage, for it is.
package ledger
