package words

import (
	"strings"

	snowballenglish "github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/hungarian"
	"github.com/kljensen/snowball/norwegian"
	snowballrussian "github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
	"github.com/kljensen/snowball/swedish"
)

// language is one of those with a stemmer.
type language uint8

const (
	// english is also what a text in Latin letters is that no other language claims.
	english language = iota
	frenchText
	hungarianText
	norwegianText
	spanishText
	swedishText
	// russian is never guessed: its words are told by their letters.
	russian
)

const (
	// enough is how many small words of a language it takes to be the language of a text.
	enough = 2
	// looked is how many words of a text are looked at, at most.
	looked = 256
)

// guess is the language of a text in Latin letters by its small words. A wrong guess costs little: it adds terms, and takes
// none away but small words.
func guess(text string) language {
	var counts [russian]int
	n := 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return scriptOf(r) != letters }) {
		if n++; n > looked {
			break
		}
		word = strings.ToLower(word)
		if stopWord(word) {
			counts[english]++
		}
		for l := frenchText; l < russian; l++ {
			if l.small(word) {
				counts[l]++
			}
		}
	}
	best := english
	for l := frenchText; l < russian; l++ {
		if counts[l] >= enough && counts[l] > counts[best] {
			best = l
		}
	}
	return best
}

// small reports the words that are in nearly every text of the language.
func (l language) small(word string) bool {
	switch l {
	case frenchText:
		return word == "les" || word == "cette" || french.IsStopWord(word) // its list has the one without the others
	case hungarianText:
		return hungarian.IsStopWord(word)
	case norwegianText:
		return norwegian.IsStopWord(word)
	case spanishText:
		return spanish.IsStopWord(word)
	case swedishText:
		return swedish.IsStopWord(word)
	case russian:
		return snowballrussian.IsStopWord(word)
	case english:
	}
	return false
}

// drops reports the words that say nothing in a text of the language.
func (l language) drops(word string) bool {
	return (l.small(word) || russian.small(word)) && !negation(word)
}

// negation reports the small words that say that something is not so.
func negation(word string) bool {
	switch word {
	case "ne", "pas", "ni", "sans", "no", "sin", "nada", "inte", "utan", "ikke", "ikkje", "nei", "uten", "nem", "не", "нет", "ни", "без",
		"никогда", "ничего", "нельзя":
		return true
	}
	return false
}

// stem takes off the endings of a word in lower case.
func (l language) stem(word string) string {
	switch l {
	case english:
		return snowballenglish.Stem(word, true)
	case frenchText:
		return french.Stem(word, true)
	case hungarianText:
		return hungarian.Stem(word, true)
	case norwegianText:
		return norwegian.Stem(word, true)
	case spanishText:
		return spanish.Stem(word, true)
	case swedishText:
		return swedish.Stem(word, true)
	case russian:
		return snowballrussian.Stem(word, true)
	}
	return word
}

// stemmed is a word as the guessed language stems it, empty if nothing was guessed.
func (l language) stemmed(word string) string {
	if l == english {
		return ""
	}
	return fold(l.stem(word))
}
