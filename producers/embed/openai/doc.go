// Package openai is an embedder for endpoints that speak OpenAI's embeddings API: OpenAI itself, Ollama, vLLM, Text
// Embeddings Inference and many others.
//
// Guarantees:
//
//   - every vector that it returns has passed embed.Check: the configured dimension, finite, length 1 (it normalises
//     what comes in);
//   - what is sent and what is read is bounded: texts per request, bytes per text, bytes per response, tries, time;
//   - no error holds a text, a vector, the credential or anything that the server wrote, only codes and rules;
//   - a redirect is an error: the texts and the credential go to the configured address and nowhere else.
//
// A request is tried again after status 429 or 5xx and after a failure of the transport, with exponential delays or
// after what Retry-After asks for. The same texts may therefore be computed, and billed, more than once.
//
// It does not guarantee that the model behind the name stays the same one. [Config].Revision is the operator's
// statement; [Client.Canary] is a vector to compare over time, to find out. Whoever runs the endpoint sees the texts.
package openai
