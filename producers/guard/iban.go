package guard

// ibanEnd is where the international bank account number at i ends, or 0: a
// country that has them, its length, and the check modulo 97.
func ibanEnd(text string, i int) int {
	if i+4 > len(text) || !isLetter(text[i]) || !isLetter(text[i+1]) || !isDigit(text[i+2]) || !isDigit(text[i+3]) {
		return 0
	}
	length := ibanLength(upperByte(text[i]), upperByte(text[i+1]))
	if length == 0 {
		return 0
	}
	var s [34]byte
	n, j := 0, i
	for ; j < len(text) && n < length; j++ {
		c := text[j]
		if isAlnum(c) {
			s[n] = upperByte(c)
			n++
			continue
		}
		if (c != ' ' && c != '-') || j+1 >= len(text) || !isAlnum(text[j+1]) {
			break
		}
	}
	if n < length || j < len(text) && inWord(text[j]) {
		return 0
	}
	rest := 0
	for k := range length {
		c := s[(k+4)%length]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return 0
	}
	return j
}

func isLetter(c byte) bool { return isUpper(c) || 'a' <= c && c <= 'z' }

func upperByte(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// ibanLength is the length of a country's numbers, or 0.
func ibanLength(a, b byte) int {
	switch string([]byte{a, b}) {
	case "NO":
		return 15
	case "BE":
		return 16
	case "DK", "FI", "FO", "GL", "NL", "SD", "FK":
		return 18
	case "MK", "SI":
		return 19
	case "AT", "BA", "EE", "KZ", "LT", "LU", "XK", "MN":
		return 20
	case "CH", "CR", "HR", "LI", "LV":
		return 21
	case "BG", "BH", "DE", "GB", "GE", "IE", "ME", "RS", "VA":
		return 22
	case "AE", "GI", "IL", "IQ", "TL", "OM", "SO":
		return 23
	case "AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG":
		return 24
	case "LY", "PT", "ST":
		return 25
	case "IS", "TR":
		return 26
	case "BI", "DJ", "FR", "GR", "IT", "MC", "MR", "SM":
		return 27
	case "AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV":
		return 28
	case "BR", "EG", "PS", "QA", "UA":
		return 29
	case "JO", "KW", "MU", "YE":
		return 30
	case "MT", "SC":
		return 31
	case "LC":
		return 32
	case "RU":
		return 33
	}
	return 0
}
