package guard

import (
	"crypto/sha256"
	"net/netip"
	"strings"
)

// emailAt returns the span of the e-mail address around the @ at i, or nothing.
func emailAt(text string, i int) (from, to int) {
	from = i
	for from > 0 && i-from < 64 && localChar(text[from-1]) {
		from--
	}
	for from < i && (text[from] == '.' || text[from] == '-') {
		from++
	}
	to = i + 1
	for to < len(text) && to-i < 254 && (isAlnum(text[to]) || text[to] == '-' || text[to] == '.' || text[to] >= 0x80) {
		to++
	}
	for to > i+1 && (text[to-1] == '.' || text[to-1] == '-') {
		to--
	}
	domain := text[i+1 : to]
	dot := strings.LastIndexByte(domain, '.')
	if from == i || dot < 1 || len(domain)-dot < 3 || strings.Contains(domain, "..") || isDigit(domain[len(domain)-1]) {
		return 0, 0
	}
	return from, to
}

func localChar(c byte) bool {
	return isAlnum(c) || strings.IndexByte("!#$%&'*+-/=?^_{|}~.", c) >= 0 || c >= 0x80
}

// ipv4End is where the IPv4 address at i ends, or 0. Versions of software have
// four parts, too, and are told by what stands before.
func ipv4End(text, lower string, i int) int {
	to, dots := i, 0
	for to < len(text) && to-i < 16 && (isDigit(text[to]) || text[to] == '.') {
		if text[to] == '.' {
			dots++
		}
		to++
	}
	if dots < 3 {
		return 0 // the parser makes an error, which costs
	}
	s := strings.TrimRight(text[i:to], ".")
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() || a.IsUnspecified() || a.IsLoopback() {
		return 0
	}
	if to = i + len(s); to < len(text) && inWord(text[to]) || near12(lower, i, "version") || i > 0 && text[i-1] == '.' {
		return 0
	}
	return to
}

// near12 reports whether a word is within 12 bytes before i.
func near12(lower string, i int, word string) bool {
	return strings.Contains(lower[max(0, i-12):i], word)
}

// ipv6End is where the IPv6 address at i ends, or 0.
func ipv6End(text string, i int) int {
	if i > 0 && text[i-1] == ':' {
		return 0 // inside of something else
	}
	to, colons := i, 0
	for to < len(text) && to-i < 46 && (isHex(text[to]) || text[to] == ':' || text[to] == '.') {
		if text[to] == ':' {
			colons++
		}
		to++
	}
	s := strings.TrimRight(text[i:to], ".")
	if colons < 2 || colons > 7 || len(s) < 6 || i+len(s) < len(text) && inWord(text[i+len(s)]) {
		return 0
	}
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return 0
	}
	return i + len(s)
}

// cryptoEnd is where the address of a coin at i ends, or 0: Bitcoin in base 58
// or bech32 and Ethereum.
func cryptoEnd(text string, i int) int {
	rest := text[i:min(len(text), i+100)]
	to := 0
	for to < len(rest) && isAlnum(rest[to]) {
		to++
	}
	s := rest[:to]
	switch {
	case len(s) == 42 && strings.HasPrefix(s, "0x"):
		for j := 2; j < len(s); j++ {
			if !isHex(s[j]) {
				return 0
			}
		}
		// The check is in the case of the letters, by a hash that the standard
		// library does not have. Forty hexadecimal digits are form enough.
		return i + to
	case len(s) >= 14 && (strings.HasPrefix(s, "bc1") || strings.HasPrefix(s, "BC1")):
		if bech32(strings.ToLower(s)) {
			return i + to
		}
	case len(s) >= 26 && len(s) <= 35 && (s[0] == '1' || s[0] == '3'):
		if base58Check(s) {
			return i + to
		}
	}
	return 0
}

// base58Check reports whether a Bitcoin address has the right checksum.
func base58Check(s string) bool {
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var n [25]byte
	for i := range len(s) {
		carry := strings.IndexByte(digits, s[i])
		if carry < 0 {
			return false
		}
		for j := len(n) - 1; j >= 0; j-- {
			carry += 58 * int(n[j])
			n[j] = byte(carry) //nolint:gosec // The low byte.
			carry >>= 8
		}
		if carry != 0 {
			return false
		}
	}
	first := sha256.Sum256(n[:21])
	second := sha256.Sum256(first[:])
	return string(second[:4]) == string(n[21:])
}

// bech32 reports whether a segwit address has the right checksum (BIP 173, or
// BIP 350 from version 1 on).
func bech32(s string) bool {
	const digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	sum := uint32(1)
	add := func(v uint32) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ v
		for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	for _, v := range []uint32{'b' >> 5, 'c' >> 5, 0, 'b' & 31, 'c' & 31} {
		add(v)
	}
	for i := 3; i < len(s); i++ {
		v := strings.IndexByte(digits, s[i])
		if v < 0 {
			return false
		}
		add(uint32(v)) //nolint:gosec // Below 32.
	}
	const bech32m = 0x2bc830a3
	return sum == 1 || sum == bech32m
}
