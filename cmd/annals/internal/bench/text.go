package bench

import (
	"math/rand/v2"
	"strings"
)

// Writer makes sentences of a vocabulary whose words are as unequally frequent
// as those of a language (Zipf's law).
type Writer struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

const vocabulary = 20_000

// NewWriter returns a writer whose sentences follow from the seed.
func NewWriter(seed uint64) *Writer {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // Repeatable text, not a secret.
	return &Writer{rng: rng, zipf: rand.NewZipf(rng, 1.1, 8, vocabulary-1)}
}

// word is the i-th word: pronounceable, unique, its length growing with rarity.
func word(i uint64) string {
	const onsets, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for n := i + 30; n > 0; n /= uint64(len(onsets) * len(vowels)) {
		b.WriteByte(onsets[n%uint64(len(onsets))])
		b.WriteByte(vowels[n/uint64(len(onsets))%uint64(len(vowels))])
	}
	return b.String()
}

// Sentence is that many words, separated by blanks.
func (w *Writer) Sentence(words int) string {
	list := make([]string, words)
	for i := range list {
		list[i] = word(w.zipf.Uint64())
	}
	return strings.Join(list, " ")
}
