// Package sealtest holds the contract that every implementation of [seal.Rows]
// must keep, as a test suite.
//
// It proves what one process can see: answers, atomicity under concurrency,
// revisions. It does not prove durability, nor that a destroyed value left the
// disk; an implementation tests those itself.
package sealtest
