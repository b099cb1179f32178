package uselite_test

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/uselite"
)

// The model finds the sentence that means the same, without a word in common.
func Example() {
	model, err := uselite.New()
	if err != nil {
		panic(err)
	}

	texts := []string{
		"The bakery opens at seven on Sundays.",
		"She cannot stand bright screens and always picks the dark theme.",
		"Our train was two hours late.",
	}

	documents, err := model.Embed(context.Background(), texts, embed.Document)
	if err != nil {
		panic(err)
	}

	query, err := model.Embed(context.Background(), []string{"what color scheme for her editor?"}, embed.Query)
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

	fmt.Println(texts[best])
	// Output: She cannot stand bright screens and always picks the dark theme.
}
