package projectors

import (
	"strings"

	"github.com/annals-memory/annals/projectors/index/words"
)

// Recipe is what the search index of a generation of the memories is made with. Vectors and terms of two recipes are never
// in one index.
type Recipe struct {
	// Model is the key of the embedding model whose vectors are indexed; empty indexes those of every model.
	Model string `json:"model"`
	// Tokenizer is the name of what cuts a text into terms.
	Tokenizer string `json:"tokenizer"`
	// Place is where the index is: PlaceStore or PlaceQdrant.
	Place string `json:"place"`
}

// Where a search index may be.
const (
	PlaceStore  = "store"
	PlaceQdrant = "qdrant"
)

// Tokenizer cuts a text into terms.
type Tokenizer struct {
	// Name tells it from what cuts otherwise. It has no spaces.
	Name  string
	Terms func(text string) []string
}

// firstTokenizer is the one of formats that name none.
const firstTokenizer = "1"

// memoriesVersion begins the format of the memories. It changes when a row of an older version cannot be read any more.
const memoriesVersion = "memories/6"

// format names the recipe in the state of a view.
func (r Recipe) format() string {
	f := memoriesVersion + " model=" + r.Model
	if r.Place == PlaceQdrant {
		f += " index=" + PlaceQdrant
	}
	if r.Tokenizer != firstTokenizer {
		f += " words=" + r.Tokenizer
	}
	return f
}

// parseRecipe is the recipe of a format; ok is false if it is of another version.
func parseRecipe(format string) (r Recipe, ok bool) {
	version, rest, _ := strings.Cut(format, " ")
	if version != memoriesVersion {
		return Recipe{}, false
	}
	r = Recipe{Tokenizer: firstTokenizer, Place: PlaceStore}
	for part := range strings.FieldsSeq(rest) {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "model":
			r.Model = value
		case "index":
			r.Place = value
		case "words":
			r.Tokenizer = value
		}
	}
	return r, r.format() == format
}

// wanted is the recipe of a view that is begun.
func (c *Config) wanted() Recipe {
	r := Recipe{Model: c.Model, Tokenizer: c.Tokenizers[0].Name, Place: PlaceStore}
	if c.Qdrant != nil {
		r.Place = PlaceQdrant
	}
	return r
}

// readable reports whether an index of a recipe can be reached. One whose tokenizer is not known any more can: it is
// searched by meaning alone.
func (c *Config) readable(r Recipe) bool { return r.Place == PlaceStore || c.Qdrant != nil }

// terms cuts with the tokenizer of a name; one that is not known finds no term in any text.
func (c *Config) terms(name string) func(text string) []string {
	for _, t := range c.Tokenizers {
		if t.Name == name {
			return t.Terms
		}
	}
	return func(string) []string { return nil }
}

// DefaultTokenizers are what the package words has.
func DefaultTokenizers() []Tokenizer {
	return []Tokenizer{{Name: words.Version, Terms: words.Terms}}
}
