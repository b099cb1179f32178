package projectors

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// digest sums the hashes of records lane by lane, with wrap-around, so that it does not depend on their order and can be
// kept while rows come and go. It finds damage and mistakes; it is no defence against someone who chooses the rows.
type digest [4]uint64

// rowDigest is the digest of one record: the lanes of SHA-256(len(key) | key | value).
func rowDigest(key, value []byte) digest {
	var scratch [1024]byte
	b := binary.AppendUvarint(scratch[:0], uint64(len(key)))
	b = append(b, key...)
	b = append(b, value...)
	sum := sha256.Sum256(b)
	var d digest
	for i := range d {
		d[i] = binary.LittleEndian.Uint64(sum[8*i:])
	}
	return d
}

func (d *digest) add(o digest) {
	for i := range d {
		d[i] += o[i]
	}
}

func (d *digest) sub(o digest) {
	for i := range d {
		d[i] -= o[i]
	}
}

func (d *digest) String() string {
	return hex.EncodeToString(d.bytes())
}

func (d *digest) bytes() []byte {
	b := make([]byte, 0, 32)
	for _, lane := range d {
		b = binary.LittleEndian.AppendUint64(b, lane)
	}
	return b
}

func digestFrom(b []byte) (d digest, ok bool) {
	if len(b) != 32 {
		return digest{}, false
	}
	for i := range d {
		d[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return d, true
}
