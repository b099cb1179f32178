// Package bge is the built-in embedder that finds most: the English model bge-small-en-v1.5, a BERT of 12 layers and 384
// dimensions, with its weights inside the binary. It needs no network, no cgo and no files.
//
// Guarantees:
//
//   - [Model] keeps the contract of embed.Embedder, and is deterministic: one build on one machine gives the same
//     bits for the same text, whatever the batch, the order and the concurrency.
//   - Its vectors are those of onnxruntime with the same weights: a cosine of 0.999999 or more over the texts in
//     testdata. Its token ids are those of the reference tokenizer, for every character that was in Unicode 8; of
//     newer ones some 570 marks and punctuation signs are kept apart or dropped here as what they are, and are
//     unknown letters there. The names of special tokens have no meaning in a text.
//   - Work and memory per text are bounded: at most the first 32,768 characters are read, and of their tokens at most
//     the first 16 windows of 126; the window vectors are averaged by their number of tokens. A model computes at
//     most GOMAXPROCS windows at once, over all calls, one fewer of documents, with 2 MB of working memory for each.
//   - Damaged weights are an error, never a panic and never a silent other model: the revision in the model id is a
//     hash of the weights.
//
// It does not guarantee the same bits on another processor: the kernels add in another order. Vectors of different
// kernels differ by rounding (cosine above 0.99999) and may be mixed in one index, so the kernel is no part of the
// model id.
//
// The model knows English. A text without a single known token has a nil vector; case and accents make no difference.
//
// # Choices
//
// The weights stay bytes in memory, and a panel of them at a time becomes floats in the processor's cache. The whole as
// floats would be 85 MB that every sentence reads once, which takes as long as the arithmetic. To multiply bytes by
// bytes, as the ONNX graph does, would be faster where a processor has instructions for it, but it rounds the activations of a
// whole text to 8 bits: its vectors have a cosine of 0.984 to 0.999 with these, and would depend on the processor.
//
// Questions have no prefix. The one that the model's authors name for questions finds less in conversations than none
// does, and costs nine tokens.
//
// A window has 128 tokens rather than the 512 that the model takes, for a question to wait for no longer than that.
package bge
