// Package eventstest makes commits for tests: builders for a test that needs
// one that is ordinary but for what it says, and rapid generators for one that
// must hold for any.
//
// What it makes is valid: it encodes, decodes to an equal value, and holds
// what a writer would write (UTC times to the microsecond, tokens where tokens
// belong, ascending disjoint intervals). A history that [History] draws keeps
// to the shape of the events, not to the rules of the deciders: it may decide
// on a fact twice or touch one that was forgotten.
//
// The bytes in Content are random, not sealed; use package seal to make some
// that open. No binary may link this package.
package eventstest
