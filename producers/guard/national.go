package guard

import "strings"

// Locales are the countries whose national numbers can be looked for.
func Locales() []string {
	return []string{"au", "be", "br", "ca", "ch", "cn", "de", "dk", "es", "fi", "fr", "gb", "in", "it", "nl", "no", "pl", "pt", "se", "tr"}
}

// nationalEnd is where the national number at i ends, or 0. A number whose only
// mark is one check digit needs a word before it, because one of ten numbers
// has a right one.
func (t *personalTable) nationalEnd(text string, c *context, i int) int {
	s, to := compact(text, i)
	if to == 0 {
		return 0
	}
	for _, l := range t.locales {
		if ok, strong := national(l, s); ok && (strong || c.near(nearID, i)) {
			return to
		}
	}
	return 0
}

// compact reads letters and digits with single separators between them, up to
// 24 bytes.
func compact(text string, i int) (string, int) {
	var b [24]byte
	n, to, digits := 0, i, 0
	for j := i; j < len(text) && j-i < len(b); j++ {
		c := text[j]
		if isDigit(c) || isUpper(c) {
			if isDigit(c) {
				digits++
			}
			b[n] = c
			n++
			to = j + 1
			continue
		}
		if strings.IndexByte(" -./+", c) < 0 || j != to {
			break
		}
	}
	if digits < 5 || to < len(text) && inWord(text[to]) {
		return "", 0
	}
	return string(b[:n]), to
}

// national reports whether s is a number of a locale; strong says that a
// chance match is rare.
func national(locale, s string) (ok, strong bool) {
	d := allDigits(s)
	n := len(s)
	switch locale {
	case "au": // tax file number
		return d && n == 9 && weighed(s, 1, 4, 3, 7, 5, 8, 6, 9, 10)%11 == 0, false
	case "be": // rijksregisternummer
		if !d || n != 11 || !monthDay(s[2:6]) {
			return false, false
		}
		check := atoi(s[9:])
		return 97-atoi(s[:9])%97 == check || 97-(2_000_000_000+atoi(s[:9]))%97 == check, true
	case "br": // CPF
		return d && n == 11 && !repeated(s) && cpf(s), true
	case "ca": // social insurance number
		return d && n == 9 && s[0] != '0' && s[0] != '8' && luhn(s), false
	case "ch": // AHV
		return d && n == 13 && strings.HasPrefix(s, "756") && weighed(s, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)%10 == 0, true
	case "cn": // resident identity card
		return n == 18 && allDigits(s[:17]) && monthDay(s[10:14]) && chinese(s), true
	case "de": // tax identification number
		return d && n == 11 && s[0] != '0' && mod1110(s), false
	case "dk": // CPR: has no check any more
		return d && n == 10 && dayMonth(s[:4]), false
	case "es": // DNI, NIE
		return spanish(s), true
	case "fi": // henkilötunnus, the sign of the century left out
		return finnish(s), true
	case "fr": // NIR
		return french(s), true
	case "gb": // NHS number
		return d && n == 10 && weighed(s, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)%11 == 0, false
	case "in": // Aadhaar
		return d && n == 12 && s[0] > '1' && verhoeff(s), false
	case "it": // codice fiscale
		return n == 16 && italian(s), true
	case "nl": // burgerservicenummer
		return d && n == 9 && (weighed(s, 9, 8, 7, 6, 5, 4, 3, 2, 0)-int(s[8]-'0'))%11 == 0, false
	case "no": // fødselsnummer
		return d && n == 11 && dayMonth(s[:4]) && weighed(s, 3, 7, 6, 1, 8, 9, 4, 5, 2, 1, 0)%11 == 0 &&
			weighed(s, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)%11 == 0, true
	case "pl": // PESEL
		return d && n == 11 && weighed(s, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)%10 == 0 && atoi(s[4:6]) >= 1 && atoi(s[4:6]) <= 31, false
	case "pt": // NIF
		return d && n == 9 && strings.IndexByte("12356789", s[0]) >= 0 && portuguese(s), false
	case "se": // personnummer
		if n == 12 {
			s = s[2:]
		}
		return d && len(s) == 10 && monthDay(s[2:6]) && luhn(s), false
	case "tr": // T.C. kimlik no
		return d && n == 11 && s[0] != '0' && turkish(s), true
	}
	return false, false
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" && s != "" }

func repeated(s string) bool { return strings.Trim(s, s[:1]) == "" }

func monthDay(s string) bool {
	m, d := atoi(s[:2]), atoi(s[2:])
	return 1 <= m && m <= 12 && 1 <= d && d <= 31
}

func dayMonth(s string) bool { return monthDay(s[2:] + s[:2]) }

func weighed(s string, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += w * int(s[i]-'0')
	}
	return sum
}

func cpf(s string) bool {
	for k := 9; k <= 10; k++ {
		sum := 0
		for i := range k {
			sum += (k + 1 - i) * int(s[i]-'0')
		}
		if sum*10%11%10 != int(s[k]-'0') {
			return false
		}
	}
	return true
}

func chinese(s string) bool {
	sum := weighed(s, 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
	return "10X98765432"[sum%11] == s[17]
}

func mod1110(s string) bool {
	p := 10
	for i := range len(s) - 1 {
		m := (int(s[i]-'0') + p) % 10
		if m == 0 {
			m = 10
		}
		p = m * 2 % 11
	}
	return (11-p)%10 == int(s[len(s)-1]-'0')
}

func spanish(s string) bool {
	if len(s) != 9 {
		return false
	}
	if i := strings.IndexByte("XYZ", s[0]); i >= 0 {
		s = string(byte('0'+i)) + s[1:] //nolint:gosec // From 0 to 2.
	}
	return allDigits(s[:8]) && "TRWAGMYFPDXBNJZSQVHLCKE"[atoi(s[:8])%23] == s[8]
}

func finnish(s string) bool {
	// DDMMYY, A or - or +, three digits, check; the letter may be there or not.
	if len(s) == 11 && isUpper(s[6]) {
		s = s[:6] + s[7:]
	}
	return len(s) == 10 && allDigits(s[:9]) && dayMonth(s[:4]) && "0123456789ABCDEFHJKLMNPRSTUVWXY"[atoi(s[:9])%31] == s[9]
}

func french(s string) bool {
	if len(s) != 15 || s[0] != '1' && s[0] != '2' {
		return false
	}
	body := s[:13]
	less := 0
	switch {
	case strings.HasPrefix(body[5:], "2A"):
		body, less = body[:5]+"20"+body[7:], 1_000_000
	case strings.HasPrefix(body[5:], "2B"):
		body, less = body[:5]+"20"+body[7:], 2_000_000
	}
	return allDigits(body) && allDigits(s[13:]) && 97-(atoi(body)-less)%97 == atoi(s[13:])
}

func verhoeff(s string) bool {
	const mul = "0123456789123406789523401789563401289567401239567859876043216598710432765982104387659321049876543210"
	const perm = "01234567891576283094580379614289160435279453126870428657390127938064157046913258"
	c := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		c = int(mul[10*c+int(perm[10*(i%8)+d]-'0')] - '0')
	}
	return c == 0
}

func italian(s string) bool {
	const odd = "\x01\x00\x05\x07\x09\x0d\x0f\x11\x13\x15\x02\x04\x12\x14\x0b\x03\x06\x08\x0c\x0e\x10\x0a\x16\x19\x18\x17"
	for i, c := range []byte("LLLLLLDDLDDLDDDL") {
		// A digit may be written as a letter when two people share a code.
		if c == 'L' && !isUpper(s[i]) || c == 'D' && !isDigit(s[i]) && strings.IndexByte("LMNPQRSTUV", s[i]) < 0 {
			return false
		}
	}
	sum := 0
	for i := range 15 {
		v := int(s[i] - 'A')
		if isDigit(s[i]) {
			v = int(s[i] - '0')
		}
		if i%2 == 0 {
			v = int(odd[v])
		}
		sum += v
	}
	return byte('A'+sum%26) == s[15]
}

func portuguese(s string) bool {
	check := 11 - weighed(s, 9, 8, 7, 6, 5, 4, 3, 2)%11
	if check >= 10 {
		check = 0
	}
	return check == int(s[8]-'0')
}

func turkish(s string) bool {
	odd := weighed(s, 1, 0, 1, 0, 1, 0, 1, 0, 1)
	even := weighed(s, 0, 1, 0, 1, 0, 1, 0, 1)
	return ((odd*7-even)%10+10)%10 == int(s[9]-'0') && (odd+even+int(s[9]-'0'))%10 == int(s[10]-'0')
}
