package projectors

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

func wordsOf(text string) []string { return strings.Fields(strings.ToLower(text)) }

func wordKey(k []byte, term string) uint64 {
	m := hmac.New(sha256.New, k)
	_, _ = m.Write([]byte(term))
	return binary.BigEndian.Uint64(m.Sum(nil))
}
