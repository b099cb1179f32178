// Package index is the interface of the memory search index: the derivative of the log that finds candidate memories
// (episodes, facts, trajectories) by words and by vector inside a filter.
//
// A backend takes operations ([Doc], [Vector], [Update], [Removal], [SubjectRemoval]) and answers [Query] with one ranked
// list per channel. Everything that is a matter of judgement, such as fusion of the two channels, freshness, weights and
// reliability, belongs to the caller and is computed once for every backend.
//
// # What a backend guarantees
//
//   - The filter comes before the ranking in both channels: a document that does not pass never takes a place.
//   - The tenant is part of every operation and every filter; nothing crosses it, statistics included.
//   - Dense ranking is exact: the same ids in the same order as a scan of every eligible vector.
//   - Lexical ranking is BM25 with k1 = [BM25K1] and b = [BM25B]. The number of documents, the document frequencies and
//     the average length are those of the scope, that is of the tenant and the subjects of the filter and of nothing else.
//   - Operations are idempotent: in log order, delivered once or many times from any earlier position, they converge.
//     This asks of the log that one event puts a document at most once, before its vectors and updates, and does not
//     both remove and put it.
//   - A removal leaves no row that was derived from the document.
//
// # What it does not guarantee
//
// A backend keeps no tombstones: a put that is delivered after the removal of its id brings the document back, unless the
// removal is delivered again after it, which reading the log in order does. Names are opaque: a backend neither hashes nor
// checks that what it is given is a keyed hash. Freeing the disk blocks that held a removed row is left to the store's
// compaction.
package index
