// Package qdrantindex is the memory search index in a Qdrant server of version 1.19 or a later 1.x.
//
// A collection is an index. Each document is a point, whose id comes from the tenant and the document's id, with the
// document's fields as payload, a sparse vector of its words and one dense vector for each model. Texts never go there: words
// are keyed hashes, names the tokens that the caller made.
//
// Writing goes through a [Writer], one for each batch of events. It reads what is stored of the documents that the batch
// touches, works out what they come to, and writes that on Flush; the position of whoever reads the log moves after that and
// not before. Doing a batch again from any earlier position gives the same.
//
// # What is guaranteed
//
// The lists are those of the contract in package index, to the last bit as the Pebble index has them: the server finds
// documents, and the scores and the order are computed here.
//
//   - Dense: the server searches exactly, in float32. Here the first of its list are scored again, until no document beyond
//     them can be among the best K by the greatest error its arithmetic can have.
//   - Lexical: BM25 needs the statistics of the scope, which no weight that is stored can know. The stored weights are those
//     of a scope whose documents have 32 words on average, and the server's list by them is scored again until no document
//     beyond can be among the best K: a score differs by no more than the average length does. Terms have 64 bits and the
//     server's dimensions 32; terms that share one make a document's weight greater, never smaller, and are told apart here.
//   - Filters are conditions on indexed fields, and strict mode refuses others. Numbers of 64 bits are stored in two halves,
//     for the server compares numbers as float64.
//
// A write is done when the server says that it is completed. What it has only acknowledged is asked for again. Its version is
// its [Mark], where its batch ends in the log, and it replaces nothing of that version or a later one: an attempt that was
// given up and arrives late does nothing, however the events are batched when they are folded again. A removed document
// leaves a tombstone with nothing but the tenant and the time, for without it such an attempt would bring the document back.
// [Index.Sweep] deletes tombstones that are older than any such attempt.
//
// The last write of a batch is its mark, in a point of its own. A collection whose mark is before that of the last batch has
// lost what the server had said was applied; so has one without a mark.
//
// # What it costs
//
// A query is about six requests and one for each distinct word: what the model is, what is eligible, the frequency of each
// word, how many documents of the scope have which length, and two for each list. A scope is counted through on the server,
// so that a query costs it time in proportion. Ties in great number, or a common word alone, have more of the list read:
// twice as much each time.
//
// # What is not guaranteed
//
// At most 16384 documents of a list are read. A list that is not settled by then is the best of those. Requests of one query
// see several instants, and a query beside a write may find one document as it was and another as it is. A tenant's dimension
// of a model stays, in a point of its own, after the last of its vectors. There must be one writer at a time, which nothing
// here enforces, and the bytes of what was removed leave the server's disk when it optimizes its segments, which cannot be
// asked for. The order in which a server loses writes is that of one shard.
package qdrantindex
