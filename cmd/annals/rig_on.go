//go:build plaintextrig

package main

import "errors"

// rigFlags are the flags of a build that leaves values readable.
type rigFlags struct {
	PlaintextRig bool `help:"Serve although this build does not encrypt what it stores." name:"plaintext-rig"`
}

// refuse serves nobody by mistake.
func (f rigFlags) refuse() error {
	if !f.PlaintextRig {
		return errors.New("this build does not encrypt what it stores; it is for tests, and serves with --plaintext-rig only")
	}
	return nil
}

// rigMark is what the version says of such a build.
const rigMark = " PLAINTEXT RIG: DOES NOT ENCRYPT WHAT IT STORES"
