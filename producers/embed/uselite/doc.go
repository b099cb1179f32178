// Package uselite is the built-in embedder: the English Universal Sentence Encoder Lite, 512 dimensions, with its
// weights inside the binary. It needs no network, no cgo and no files.
//
// Guarantees:
//
//   - [Model] keeps the contract of embed.Embedder, and is deterministic: one build on one machine gives the same
//     bits for the same text, whatever the batch, the order and the concurrency.
//   - Work and memory per text are bounded: at most the first 32,768 characters are read, and of their tokens at most
//     the first 16 windows of 128; the window vectors are averaged by their number of tokens. A model computes at
//     most GOMAXPROCS windows at once, over all calls, one fewer of documents, with 2 MB of working memory for each.
//   - Damaged weights are an error, never a panic and never a silent other model: the revision in the model
//     id is a hash of the weights.
//
// It does not guarantee the same bits on another processor: the kernels add in another order. Vectors of different
// kernels differ by rounding (cosine above 0.99999) and may be mixed in one index, so the kernel is no part of the
// model id.
//
// What it is good for: telling paraphrases apart from other short English sentences. It knows little of other
// languages (a text without a single known token gets a nil vector) and is weak at matching a question to a chat
// turn; use it beside lexical search, not in its place.
package uselite
