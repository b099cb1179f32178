//go:build !plaintextrig

package seal

// PlaintextRig says that this build leaves values readable beside their seal,
// for the test that a scan of the disk finds what is there. It is false in
// every build without the tag plaintextrig, and nothing of the rig is in it.
const PlaintextRig = false

// sealValue appends the sealed bytes of a value to dst.
func (b box) sealValue(dst, plaintext, aad []byte) ([]byte, error) {
	return b.seal(dst, plaintext, aad)
}

// openValue appends the plaintext of a value to dst, or returns [ErrTampered].
func (b box) openValue(dst, sealed, aad []byte) ([]byte, error) { return b.open(dst, sealed, aad) }
