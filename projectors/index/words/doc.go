// Package words turns text into the terms that the lexical channel of the memory search index compares.
//
// It guarantees that equal text gives equal terms in the order of the text on every machine, that the work is linear in
// the size of the text, and that any bytes are taken: what is not valid UTF-8 separates words. Terms are plaintext and are
// never stored; only their keyed hashes by [Key] are.
//
// A word is what Unicode calls letters, marks and numbers side by side, in the normal form NFKC, in lower case, without the
// accents and points that people leave out, and without the endings that its script tells: words in the letters a to z are
// stemmed as English, Cyrillic ones as Russian, Arabic ones lightly. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese
// put no spaces between words, or none that would help: their runs are cut into overlapping pairs, and a Chinese character
// or Korean syllable is a term by itself too.
//
// The language of a text in Latin letters is guessed by its small words. The guess of French, Hungarian, Norwegian, Spanish
// or Swedish only adds the stem of that language beside the usual one, and leaves the small words out: a question too short
// to be guessed, or guessed wrong, still has the usual terms in common with what it asks for. Other languages, German among
// them, have no stems of their own.
//
// A change of any rule changes the terms, so that an index must be rebuilt from the log with the version that queries it:
// see [Version].
package words
