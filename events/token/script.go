package token

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// MixesScripts reports whether the letters of a name are of scripts that nobody
// writes together, as when a Cyrillic letter stands for the Latin one that looks like
// it. A name of one script mixes none, whichever it is; the scripts of Chinese,
// Japanese and Korean are written together and with Latin. Letters that look alike
// within one script are not told apart.
func MixesScripts(name string) bool {
	var found []string
	for _, r := range name {
		script := "Latin"
		switch {
		case !unicode.IsLetter(r):
			continue
		case r >= utf8.RuneSelf:
			script = scriptOf(r)
		}
		if script != "" && !slices.Contains(found, script) {
			found = append(found, script)
		}
	}
	if len(found) < 2 {
		return false
	}
	for _, together := range [][]string{
		{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"}, {"Latin", "Han", "Hangul"},
	} {
		if !slices.ContainsFunc(found, func(s string) bool { return !slices.Contains(together, s) }) {
			return false
		}
	}
	return true
}

// scriptOf is the script of a letter, "" if it belongs to several.
func scriptOf(r rune) string {
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			if name == "Common" || name == "Inherited" {
				return ""
			}
			return name
		}
	}
	return ""
}
