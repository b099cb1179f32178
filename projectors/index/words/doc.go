// Package words turns text into the terms that the lexical channel of the memory search index compares.
//
// It guarantees that equal text gives equal terms in the order of the text on every machine, that the work is linear in
// the size of the text, and that any bytes are taken: what is not valid UTF-8 separates words. Terms are plaintext and are
// never stored; only their keyed hashes by [Key] are.
//
// It does not guess languages. Words in the letters a to z are stemmed as English; runs of Chinese, Japanese and Korean script
// are cut into overlapping pairs; all other words are compared whole. A change of any rule changes the terms,
// so an index must be rebuilt from the log with the version that queries it.
package words
