// Package projectors folds the log into the views that answer reads.
//
// A projection is the code that folds; a view is what it builds, a Pebble store of its own; a generation is one build of a
// view. There are three: facts, memories (episodes, and the search index over episodes and facts) and traces. Every one of
// them can be deleted and built again from the log, by the same code that keeps it up to date.
//
// # Guarantees
//
//   - Rows and the position of the last message that they hold move in one Pebble batch. A view that is killed at any
//     instant is, when opened again, exactly the fold of the log up to the position it says.
//   - The tombstone of a subject takes all of it from readers, counts and digest at once, whatever there is of it. Its rows are
//     cleared beside the commits that follow, also after a restart, and nothing that is folded meanwhile depends on them.
//   - A view is only used with the log it was built from: the identity of the stream, and the id of the commit at the
//     view's position, are kept with the position and compared at the start. On a difference the view is built anew.
//   - One error policy, live and in replay: a commit that cannot be decoded or folded is parked, later commits of the same
//     aggregate park behind it, and all others go on. Nothing is skipped silently: see [Status] and [Views.RetryParked].
//   - Forgetting does not depend on the order of the log: a subject with a tombstone has no rows and gets none again, an
//     episode or a fact with a tombstone keeps a value-free row only, and a fact all of whose sources are forgotten is
//     masked from every read.
//   - A new revision of a source retires what was taken from the one before by one row, however much that is: what is current
//     is told of each memory when it is read, by its snapshot. See [Snapshot.Sources].
//   - A search index has vectors of one model and terms of one tokenizer. Another one is made beside it and takes its place in
//     one step; what reads a [Snapshot] reads one of them to its end. See [Views.Build].
//   - Folds read no clock, no random number and no map order. Equal logs give equal digests.
//   - The memory a view takes does not grow with the log.
//
// # Not guaranteed
//
//   - [Views.Leftovers] does not know of a message that is parked, and of a commit that only retracts a fact of a subject whose
//     tombstone came before it.
//   - The views of one [Snapshot] are each consistent but may stand at different positions: see [Snapshot.Position].
//   - Rows hold the sealed bytes of the events. What a destroyed key protected stays on disk as ciphertext until Pebble
//     compacts the deleted rows away, or until [Views.Purge]. Words and vectors in the search index are derivatives in clear;
//     the tombstone of a record deletes them in the batch that folds it, and they leave the disk as the rest does.
//   - While a forgotten subject is cleared, its documents take up places among the candidates of a search that is not about one
//     subject; they are the first to go.
//   - A view does not notice a change of its own files by others, beyond Pebble's checksums; [Views.Verify] does.
//   - As of an earlier time of record a fact is also current by sources that were added to it since.
//   - The time of record is the log's clock. Where that went back, a revision may have an empty time of record.
//
// # Keys
//
// Every key begins with one byte for its sort. lp(x) is one byte of length and then x, so that no component is a prefix of
// another: acme never sees acme-corp. Positions are 8 bytes, an order (of proposal: position, then place in the commit) is
// 10 bytes, both big endian. Rows marked * are records and part of the digest; all others can be derived from them, from
// the log or from the keys.
//
//	sort view           key after the sort                            value
//	!    all            "state"                                       identity, position, commit id, digest, counts, format
//	#    all            lp(subject of the aggregate) position         cause of parking
//	?    all            lp(subject of the aggregate)                  marks an aggregate with parked commits
//	D *  all            lp(tenant) lp(sid)                            tombstone of a subject
//	T *  facts memories lp(tenant) lp(sid) kind lp(id)                tombstone of an episode or a fact
//	I    facts memories lp(tenant) kind lp(id)                        sid, and where the row or the tombstone is
//	S    facts memories lp(tenant) lp(slot)                           sid of the slot
//	F *  facts memories lp(tenant) lp(sid) lp(slot) order             a fact of a slot
//	B    facts memories lp(tenant) lp(episode) lp(slot) order         facts taken from an episode: sid
//	C    facts memories lp(tenant) lp(source sid) lp(slot) order      facts taken from a subject's episodes: sid
//	N    facts          lp(tenant) lp(sid) lp(slot)                   what a current read needs of a slot
//	R *  facts          lp(tenant) lp(sid) lp(slot) order position    a revision of a fact
//	Q    facts          lp(tenant) order lp(fact)                     a candidate that waits for a review: lp(sid) lp(slot)
//	q    facts          lp(tenant) order lp(fact)                     one that does, ever did, or was reviewed: the same
//	W *  facts memories lp(tenant) lp(source)                         the revisions of a source
//	E *  memories       lp(tenant) lp(sid) position                   an episode
//	O    memories       lp(tenant) position                           the episodes of a tenant in log order: sid
//	V    memories       lp(tenant) lp(sid) lp(id) lp(model)           a sealed vector of a fact, or of an episode that is parked
//	H *  facts memories lp(tenant) lp(sid) lp(hold)                   a legal hold: since which position
//	J    all            lp(tenant) lp(sid)                            counts and digest of the records of a subject
//	Z    all            lp(tenant) lp(sid)                            a forgotten subject whose rows are not all cleared: tombstone
//	K    all            lp(tenant) lp(sid) kind lp(id) position       a message about a living record; 1 if it seals some of it
//	M    all            lp(tenant) position                           a message about several records: how many live
//	L    all            lp(tenant) position lp(erasure)               a message with content of what is forgotten: sid
//	P    all            lp(tenant)                                    a tombstone came since the last purge: its position
//	Y    memories       lp(tenant) lp(erasure) kind lp(sid) lp(id)    leads from an erasure to its tombstones
//	U    memories       lp(tenant) lp(sid) kind lp(id)                a record whose key is gone and whose tombstone is not here
//	X    memories       see package projectors/index/pebbleindex      the search index, unless it is in Qdrant
//	A *  traces         lp(tenant) lp(trace)                          a trace
//	G    traces         lp(tenant) lp(sid) lp(trace)                  the traces of a subject
package projectors
