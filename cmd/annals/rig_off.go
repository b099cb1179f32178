//go:build !plaintextrig

package main

// rigFlags are the flags of a build that leaves values readable: none here.
type rigFlags struct{}

// refuse has nothing to refuse.
func (rigFlags) refuse() error { return nil }

// rigMark is what the version says of such a build: nothing here.
const rigMark = ""
