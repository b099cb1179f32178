// Package indextest is the contract of a memory search index: a suite that every backend runs, and a brute force oracle
// that the suite compares with.
//
// The oracle is plain on purpose: it keeps documents in a map and computes every answer from their fields, so that it
// shares neither code nor data layout with a backend. The suite demands from a backend the very ids of the oracle in the
// dense channel with scores within 1e-5, and in the lexical channel scores within 1e-9, where only documents whose scores
// are that close may stand for one another.
//
// It does not measure speed, and it does not look at how a backend stores what it knows; that a removal left no bytes is
// for the backend's own tests.
package indextest
