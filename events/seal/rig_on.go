//go:build plaintextrig

package seal

import "bytes"

// PlaintextRig says that this build leaves values readable beside their seal,
// for the test that a scan of the disk finds what is there. Never build what
// keeps anyone's memory with the tag plaintextrig.
const PlaintextRig = true

// rigFormat is the first byte of a value that was not encrypted. A build without
// the rig does not open it.
const rigFormat byte = 0xff

// sealValue appends the value as it is, bound to its key and its label by a seal
// of nothing, as rigFormat, plaintext, nonce, tag.
func (b box) sealValue(dst, plaintext, aad []byte) ([]byte, error) {
	empty, err := b.seal(nil, nil, append(bytes.Clone(aad), plaintext...))
	if err != nil {
		return nil, err
	}
	dst = append(append(dst, rigFormat), plaintext...)
	return append(dst, empty[1:]...), nil
}

// openValue appends the value to dst, or returns [ErrTampered].
func (b box) openValue(dst, sealed, aad []byte) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != rigFormat {
		return nil, ErrTampered
	}
	end := len(sealed) - Overhead + 1
	plaintext := sealed[1:end]
	if _, err := b.open(nil, append([]byte{format}, sealed[end:]...), append(bytes.Clone(aad), plaintext...)); err != nil {
		return nil, err
	}
	return append(dst, plaintext...), nil
}
