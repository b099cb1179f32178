package words

import (
	"strings"
	"unicode/utf8"
)

// arabicStem takes the article with what is written in one with it, and the common endings of nouns, off a folded word: the
// light stemming of Larkey, Ballesteros and Connell (2002). What is left has two letters at least.
func arabicStem(word string) string {
	const least = 2
	if rest, ok := strings.CutPrefix(word, "و"); ok && utf8.RuneCountInString(rest) > least {
		word = rest
	}
	for _, article := range [...]string{"ال", "بال", "كال", "فال", "لل"} {
		if rest, ok := strings.CutPrefix(word, article); ok && utf8.RuneCountInString(rest) >= least {
			word = rest
			break
		}
	}
	for _, ending := range [...]string{"ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && utf8.RuneCountInString(rest) >= least {
			word = rest
		}
	}
	return word
}
