package guard

import "strings"

// longestNumber is how many bytes are read for one number with its separators.
const longestNumber = 32

// number is digits with separators between them.
type number struct {
	digits [longestNumber]byte
	n      int
	// groups are the lengths of the groups of digits.
	groups [longestNumber]uint8
	m      int
	// separators is a set of the separators.
	separators uint
	// product says that a bracket follows a digit, or that there are several.
	product  bool
	from, to int
}

// Sets of separators.
const (
	space uint = 1 << iota
	dash
	dot
	slash
	brackets
)

func separator(c byte) uint {
	switch c {
	case ' ':
		return space
	case '-':
		return dash
	case '.':
		return dot
	case '/':
		return slash
	case '(', ')':
		return brackets
	}
	return 0
}

// readNumber reads the number at i: digits in groups, with up to three spaces,
// dashes, dots, slashes or brackets between two groups.
func readNumber(text string, i int) number {
	n := number{from: i, to: i}
	group, gap, opens := uint8(0), 0, 0
	var between uint
	j := i
	if text[j] == '+' {
		j++
	}
	for ; j < len(text) && j-i < longestNumber; j++ {
		c := text[j]
		if isDigit(c) {
			if gap > 0 && group > 0 {
				n.groups[n.m] = group
				n.m++
				n.separators |= between
				group = 0
			}
			n.digits[n.n] = c
			n.n++
			group++
			gap, between = 0, 0
			n.to = j + 1
			continue
		}
		sep := separator(c)
		if gap++; sep == 0 || gap > 3 {
			break
		}
		if c == '(' {
			if opens++; opens > 1 || j > i && isDigit(text[j-1]) {
				n.product = true
			}
		}
		between |= sep
	}
	if group > 0 {
		n.groups[n.m] = group
		n.m++
	}
	return n
}

// number recognises what begins with a digit, plus or bracket at i: its kind
// and where it ends, or 0.
func (t *personalTable) number(text, lower string, c *context, i int) (kind string, to int) {
	if i > 1 && strings.IndexByte(".,-/(", text[i-1]) >= 0 && isDigit(text[i-2]) || i > 0 && text[i] == '(' && text[i-1] == ')' {
		return "", 0 // a part of another number
	}
	if t.ip {
		if to := ipv4End(text, lower, i); to > 0 {
			return KindIP, to
		}
	}
	n := readNumber(text, i)
	if n.n == 0 {
		return "", 0
	}
	if to := extension(lower, n.to); to > 0 && t.phone {
		if phoneEnd(text, &n, true) > 0 {
			return KindPhone, to
		}
		return "", 0
	}
	if n.to < len(text) && (inWord(text[n.to]) || text[n.to] == '%') {
		return "", 0
	}
	if t.card && n.n >= 12 {
		if to := cardEnd(text, i); to > 0 {
			return KindCard, to
		}
	}
	if t.birth && c.near(nearBirth, i) {
		if to := dateEnd(lower, i); to > 0 {
			return KindBirthDate, to
		}
	}
	if t.ssn && n.n >= 9 {
		if to := ssnEnd(text, i, c.near(nearSSN, i)); to > 0 {
			return KindSSN, to
		}
	}
	if t.phone {
		return KindPhone, phoneEnd(text, &n, c.near(nearPhone, i))
	}
	return "", 0
}

// extension is where the extension of a telephone number at i ends, or 0: x123,
// ext. 123.
func extension(lower string, i int) int {
	if i == len(lower) || lower[i] != ' ' && lower[i] != 'x' && lower[i] != 'e' {
		return 0
	}
	rest := lower[i:min(len(lower), i+16)]
	all := len(rest)
	rest = strings.TrimPrefix(rest, " ")
	for _, word := range []string{"extension ", "ext. ", "ext.", "ext ", "x"} {
		after, ok := strings.CutPrefix(rest, word)
		if !ok {
			continue
		}
		n := 0
		for n < len(after) && isDigit(after[n]) {
			n++
		}
		if n < 1 || n > 6 || n < len(after) && inWord(after[n]) {
			return 0
		}
		return i + all - len(after) + n
	}
	return 0
}

// cardEnd is where the card number at i ends, or 0: the length and prefix of a
// known brand, Luhn's check, and groups as on a card.
func cardEnd(text string, i int) int {
	var digits [19]byte
	n, j := 0, i
	sep := byte(0)
	for ; j < len(text) && n < len(digits); j++ {
		c := text[j]
		if isDigit(c) {
			digits[n] = c
			n++
			continue
		}
		if (c != ' ' && c != '-') || sep != 0 && c != sep || j+1 >= len(text) || !isDigit(text[j+1]) || n < 3 {
			break
		}
		sep = c
	}
	// A number that goes on after a space may end before it.
	for _, length := range []int{19, 16, 15, 14, 13} {
		if length > n || !cardPrefix(string(digits[:length]), length) || !luhn(string(digits[:length])) {
			continue
		}
		to := after(text, i, length)
		if to < len(text) && inWord(text[to]) {
			continue
		}
		return to
	}
	return 0
}

// after is the place behind so many digits from i on.
func after(text string, i, digits int) int {
	for ; digits > 0; i++ {
		if isDigit(text[i]) {
			digits--
		}
	}
	return i
}

func cardPrefix(d string, length int) bool {
	p2, p3, p4 := atoi(d[:2]), atoi(d[:3]), atoi(d[:4])
	switch {
	case d[0] == '4':
		return length == 13 || length == 16 || length == 19
	case 51 <= p2 && p2 <= 55, 2221 <= p4 && p4 <= 2720:
		return length == 16
	case p2 == 34, p2 == 37:
		return length == 15
	case 300 <= p3 && p3 <= 305, p2 == 36, p2 == 38, p2 == 39:
		return length == 14
	case p4 == 6011, p2 == 65, 644 <= p3 && p3 <= 649, p2 == 62:
		return length == 16 || length == 19
	case 3528 <= p4 && p4 <= 3589:
		return length == 16
	case p4 == 2131, p4 == 1800:
		return length == 15
	case p2 == 50, 56 <= p2 && p2 <= 58, p2 == 60, p2 == 61, p2 == 63, p2 == 67:
		return length == 16 || length == 13 || length == 19 // Maestro, RuPay
	}
	return false
}

func atoi(s string) int {
	n := 0
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	return n
}

// luhn reports whether the last digit is the check of the others.
func luhn(d string) bool {
	sum := 0
	same := true
	for i := range len(d) {
		v := int(d[len(d)-1-i] - '0')
		same = same && d[i] == d[0]
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0 && !same
}

// ssnEnd is where the US social security number at i ends, or 0. Without its
// dashes it needs a word before it.
func ssnEnd(text string, i int, near bool) int {
	groups := [3]string{}
	j := i
	sep := byte(0)
	for g, length := range []int{3, 2, 4} {
		if g > 0 && j < len(text) && (text[j] == '-' || text[j] == ' ') {
			if g == 2 && sep != text[j] {
				return 0
			}
			sep = text[j]
			j++
		} else if g == 2 && sep != 0 {
			return 0
		}
		from := j
		for j < len(text) && isDigit(text[j]) && j-from < length {
			j++
		}
		if j-from != length {
			return 0
		}
		groups[g] = text[from:j]
	}
	area := groups[0]
	switch {
	case j < len(text) && (inWord(text[j]) || text[j] == '-' && j+1 < len(text) && isDigit(text[j+1])),
		area == "000", area == "666", area[0] == '9', groups[1] == "00", groups[2] == "0000",
		sep != '-' && !near:
		return 0
	}
	return j
}

// phoneEnd is where a telephone number ends, or 0: with a plus, in brackets and
// dashes as in North America, or with a word before it.
func phoneEnd(text string, n *number, near bool) int {
	first := n.digits[0]
	switch {
	case n.separators&slash != 0 && !near:
		return 0
	case n.product && text[n.from] != '+':
		return 0
	case text[n.from] == '+':
		if n.n < 8 || n.n > 15 || first == '0' {
			return 0
		}
	case n.n < 7 || n.n > 15:
		return 0
	case text[n.from] == '(':
		if closing := strings.IndexByte(text[n.from:n.to], ')'); closing < 3 || closing > 7 {
			return 0
		}
	case isDate(n):
		return 0
	case n.n == 10 && n.m == 3 && n.groups[0] == 3 && n.groups[1] == 3,
		n.n == 11 && first == '1' && n.m == 4 && n.groups[1] == 3 && n.groups[2] == 3:
		if s := n.separators &^ space &^ brackets; s&(s-1) != 0 || first == '0' {
			return 0
		}
	case near && (n.m > 1 || n.n >= 9 || first == '0'):
	case n.m >= 2 && n.m <= 5 && n.groups[0] >= 2 && first == '0' && (n.digits[1] != '0' && n.n >= 9 || n.n >= 11) && n.separators&dot == 0:
	default:
		return 0
	}
	return n.to
}

// isDate reports whether a number has the groups of a date.
func isDate(n *number) bool {
	if n.m < 3 {
		return false
	}
	a, b, c := n.groups[0], n.groups[1], n.groups[2]
	return a == 4 && b <= 2 && c <= 2 || a <= 2 && b <= 2 && c == 4 || a <= 2 && b <= 2 && c == 2 && n.m == 3
}

// dateEnd is where the date at i ends, or 0: 1990-02-01, 1.2.1990, 2/1/90,
// 1 February 1990. The text is in lower case.
func dateEnd(lower string, i int) int {
	n := readNumber(lower, i)
	if isDate(&n) && n.n >= 6 && n.n <= 8 && n.separators&brackets == 0 {
		return n.to
	}
	j := i
	for j < len(lower) && isDigit(lower[j]) {
		j++
	}
	if j-i > 2 {
		return 0
	}
	for _, skip := range []string{"st", "nd", "rd", "th", "."} {
		if strings.HasPrefix(lower[j:], skip) {
			j += len(skip)
			break
		}
	}
	for _, skip := range []string{" of ", " de ", " "} {
		if strings.HasPrefix(lower[j:], skip) {
			j += len(skip)
			break
		}
	}
	from := j
	for j < len(lower) && inWord(lower[j]) && !isDigit(lower[j]) {
		j++
	}
	if j-from < 3 || j-from > 12 {
		return 0
	}
	for j < len(lower) && strings.IndexByte(" ,.", lower[j]) >= 0 {
		j++
	}
	if strings.HasPrefix(lower[j:], "de ") {
		j += 3
	}
	from = j
	for j < len(lower) && isDigit(lower[j]) {
		j++
	}
	if j-from != 4 {
		return 0
	}
	return j
}
