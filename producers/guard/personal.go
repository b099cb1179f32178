package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kinds of personal data.
const (
	KindEmail      = "email"
	KindPhone      = "phone"
	KindCard       = "credit_card"
	KindIBAN       = "iban"
	KindIP         = "ip"
	KindSSN        = "us_ssn"
	KindBirthDate  = "birth_date"
	KindCrypto     = "crypto_address"
	KindNationalID = "national_id"
)

// personalRule says what is looked for.
type personalRule struct {
	// Kinds are what is looked for everywhere.
	Kinds []string `json:"kinds" yaml:"kinds"`
	// Locales are the countries, in two small letters, whose national numbers
	// are looked for, too.
	Locales []string `json:"locales" yaml:"locales"`
	// Phone, Birth, SSN and ID are words near which a number is one.
	Phone []string `json:"phone" yaml:"phone"`
	Birth []string `json:"birth" yaml:"birth"`
	SSN   []string `json:"ssn" yaml:"ssn"`
	ID    []string `json:"id" yaml:"id"`
}

type personalTable struct {
	// What is looked for.
	email, phone, card, iban, ip, ssn, birth, crypto bool

	locales []string
	words   *trie
}

func (s *Scanner) compilePersonal(r personalRule) error {
	t := personalTable{locales: r.Locales}
	for _, k := range r.Kinds {
		switch k {
		case KindEmail:
			t.email = true
		case KindPhone:
			t.phone = true
		case KindCard:
			t.card = true
		case KindIBAN:
			t.iban = true
		case KindIP:
			t.ip = true
		case KindSSN:
			t.ssn = true
		case KindBirthDate:
			t.birth = true
		case KindCrypto:
			t.crypto = true
		default:
			return fmt.Errorf("personal: kind %q is unknown", k)
		}
	}
	for _, l := range r.Locales {
		if !slices.Contains(Locales(), l) {
			return fmt.Errorf("personal: locale %q is unknown", l)
		}
	}
	b := newTrieBuilder()
	for list, words := range [nearLists][]string{nearPhone: r.Phone, nearBirth: r.Birth, nearSSN: r.SSN, nearID: r.ID} {
		for _, w := range words {
			stem, open := strings.CutSuffix(w, "*")
			if len(stem) < 2 || asciiLower(stem) != stem {
				return errors.New("personal: a word is too short or not in lower case")
			}
			b.add(stem, entry{id: int32(list), open: open})
		}
	}
	t.words = b.build()
	s.personal = t
	return nil
}

// findPersonal goes over the text once. At each place where a word or number
// begins, it reads at most a fixed number of bytes.
func (s *Scanner) findPersonal(text, lower string) []Span {
	var found []Span
	t := &s.personal
	add := func(kind string, from, to int) {
		if to > from {
			found = append(found, Span{Kind: kind, Rule: kind, From: from, To: to})
		}
	}
	near := t.newContext()
	for i := range len(text) {
		c := text[i]
		if c == '@' && t.email {
			from, to := emailAt(text, i)
			add(KindEmail, from, to)
			continue
		}
		starts := i == 0 || !inWord(text[i-1]) && text[i-1] != '_'
		switch {
		case isDigit(c) && starts, c == '+' && starts, c == '(' && starts:
			kind, to := t.number(text, lower, &near, i)
			if to == 0 && t.ip && isDigit(c) {
				kind, to = KindIP, ipv6End(text, i)
			}
			add(kind, i, to)
		case t.ip && c == ':' && starts && i+1 < len(text) && text[i+1] == ':':
			add(KindIP, i, ipv6End(text, i))
		case starts && isHex(c) && t.ip:
			add(KindIP, i, ipv6End(text, i))
		}
		if starts && inWord(c) {
			near.read(lower, i)
		}
		if starts && isAlnum(c) {
			if t.iban && isLetter(c) {
				add(KindIBAN, i, ibanEnd(text, i))
			}
			if t.crypto && strings.IndexByte("013bB", c) >= 0 {
				add(KindCrypto, i, cryptoEnd(text, i))
			}
			if len(t.locales) > 0 {
				add(KindNationalID, i, t.nationalEnd(text, &near, i))
			}
		}
	}
	return disjoint(found)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isAlnum(c byte) bool { return isDigit(c) || isUpper(c) || 'a' <= c && c <= 'z' }

// nearBytes is how far before a number a word may lie.
const nearBytes = 40

// Lists of words near which a number is something.
const (
	nearPhone int32 = iota
	nearBirth
	nearSSN
	nearID
	nearLists
)

// context is where a word of each list was seen last.
type context struct {
	words *trie
	last  [nearLists]int
}

func (t *personalTable) newContext() context {
	return context{words: t.words, last: [nearLists]int{never, never, never, never}}
}

// read looks for words at i, where one begins.
func (c *context) read(lower string, i int) {
	node := int32(0)
	for j := i; j < len(lower); j++ {
		if node = c.words.step(node, lower[j]); node == 0 {
			return
		}
		for _, e := range c.words.ends(node) {
			if e.open || j+1 == len(lower) || !inWord(lower[j+1]) {
				c.last[e.id] = j + 1
			}
		}
	}
}

// near reports whether a word of a list is shortly before i.
func (c *context) near(list int32, i int) bool {
	return i-c.last[list] <= nearBytes && c.last[list] <= i
}
