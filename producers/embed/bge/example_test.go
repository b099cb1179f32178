package bge_test

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/bge"
)

// The model finds the answer of a question, without a word in common.
func Example() {
	model, err := bge.New()
	if err != nil {
		panic(err)
	}

	answers := []string{"My sister flies in from Lisbon on Friday.", "I cannot eat anything with peanuts."}

	documents, err := model.Embed(context.Background(), answers, embed.Document)
	if err != nil {
		panic(err)
	}

	query, err := model.Embed(context.Background(), []string{"Is she allergic to some food?"}, embed.Query)
	if err != nil {
		panic(err)
	}

	best, highest := 0, float32(-1)

	for i, document := range documents {
		var cosine float32
		for j, x := range document {
			cosine += x * query[0][j]
		}

		if cosine > highest {
			best, highest = i, cosine
		}
	}

	fmt.Println(answers[best])
	// Output: I cannot eat anything with peanuts.
}
