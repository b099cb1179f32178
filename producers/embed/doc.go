// Package embed is the port between Annals and whatever turns text into vectors: the [Embedder] interface, the
// [ModelID] that says which model made a vector, and the check that every vector passes before anyone stores it.
//
// Guarantees, for every implementation that ends its Embed with [Check]:
//
//   - a vector has exactly ModelID.Dim components, all finite, and length 1;
//   - a text that the model can say nothing about (empty, white space, no known token) has a nil vector, never a
//     zero or NaN one, so that it is left to lexical search rather than ranked at random;
//   - errors name positions and rules; they hold neither the text nor any credential.
//
// Two vectors may be compared only when the keys of their model ids are equal. A vector can be inverted to something
// close to its text, so it is as sensitive as the text and is sealed and forgotten with it.
//
// The package does not guarantee that a remote model is deterministic, nor that it stays the model that it was under
// the same name: its operator states that in ModelID.Revision.
//
// Implementations: openai (any OpenAI-compatible endpoint), and two that are built in and need no network: bge, which
// finds more, and uselite, which is several times as fast.
package embed
