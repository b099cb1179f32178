package guard

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// KindSecret is the kind of a span that is a credential.
const KindSecret = "secret"

// secretRule is a class of credentials that are known by their form: a prefix,
// then so many characters of a set, and nothing of the set after them.
type secretRule struct {
	ID     string   `json:"id" yaml:"id"`
	Prefix []string `json:"prefix" yaml:"prefix"`
	// Chars is the set: lower, upper, alnum, hex, word (alnum, _ and -), base64,
	// digits, upper32 (A-Z, 2-7) or dotted (word and dots).
	Chars string `json:"chars" yaml:"chars"`
	Min   int    `json:"min" yaml:"min"`
	Max   int    `json:"max" yaml:"max"`
	// Check is what else must be true: github, jwt, pem, url, digit or nothing.
	Check string `json:"check" yaml:"check"`

	set *charset
}

// assignRule finds values that are assigned to something with a telling name.
type assignRule struct {
	Names []string `json:"names" yaml:"names"`
	// Placeholders are values that stand for one that is not there.
	Placeholders []string `json:"placeholders" yaml:"placeholders"`
	Min          int      `json:"min" yaml:"min"`
	Max          int      `json:"max" yaml:"max"`
}

// longestSecret bounds what is read for one credential; a PEM key may be longer
// and is not read to its end character by character but searched for.
const longestSecret = 4096

type secretTable struct {
	rules    []secretRule
	sets     int
	prefixes *trie
	names    *trie
	// placeholders are looked for at the beginning of a value.
	placeholders []string
	min, max     int
}

func (s *Scanner) compileSecrets(f *ruleFile) error {
	t := &s.secrets
	prefixes, names := newTrieBuilder(), newTrieBuilder()
	seen, sets := map[string]bool{}, charsets()
	t.sets = len(sets)
	for i, r := range f.Secrets {
		switch {
		case r.ID == "" || seen[r.ID]:
			return fmt.Errorf("secret %d: the id is missing or taken", i)
		case len(r.Prefix) == 0:
			return fmt.Errorf("secret %s: no prefix", r.ID)
		case r.Check != "pem" && (r.Min < 1 || r.Max < r.Min || r.Max > longestSecret):
			return fmt.Errorf("secret %s: the lengths are not from 1 to %d", r.ID, longestSecret)
		case sets[r.Chars] == nil:
			return fmt.Errorf("secret %s: the set of characters is unknown", r.ID)
		case !knownCheck(r.Check):
			return fmt.Errorf("secret %s: the check is unknown", r.ID)
		}
		seen[r.ID] = true
		r.set = sets[r.Chars]
		for _, p := range r.Prefix {
			if len(p) < 2 {
				return fmt.Errorf("secret %s: a prefix is too short", r.ID)
			}
			prefixes.add(p, entry{id: int32(len(t.rules))}) //nolint:gosec // Rules are small.
		}
		t.rules = append(t.rules, r)
	}
	if len(f.Assign.Names) > 0 && (f.Assign.Min < 1 || f.Assign.Max < f.Assign.Min || f.Assign.Max > longestSecret) {
		return errors.New("assign: the lengths are not usable")
	}
	for _, n := range f.Assign.Names {
		if len(n) < 3 || strings.ToLower(n) != n {
			return errors.New("assign: a name is too short or not in lower case")
		}
		names.add(n, entry{})
	}
	t.placeholders, t.min, t.max = f.Assign.Placeholders, f.Assign.Min, f.Assign.Max
	t.prefixes, t.names = prefixes.build(), names.build()
	return nil
}

// findSecrets looks at every place where a word begins.
func (s *Scanner) findSecrets(text, lower string) []Span {
	var found []Span
	t := &s.secrets
	runs := make(runEnds, t.sets)
	next := 0
	for i := range len(text) {
		if i < next || i > 0 && inWord(text[i-1]) && inWord(text[i]) {
			continue
		}
		node := int32(0)
		for j := i; j < len(text); j++ {
			if node = t.prefixes.step(node, text[j]); node == 0 {
				break
			}
			for _, e := range t.prefixes.ends(node) {
				r := &t.rules[e.id]
				if to := r.ends(text, runs, i, j+1); to > next {
					found = append(found, Span{Kind: KindSecret, Rule: r.ID, From: i, To: to})
					next = to
				}
			}
		}
		if i < next {
			continue
		}
		if from, to := t.assigned(text, lower, i); to > next {
			found = append(found, Span{Kind: KindSecret, Rule: "assigned", From: from, To: to})
			next = to
		}
	}
	return found
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func inWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}

// ends is where the credential with the prefix from start to at ends, or 0.
func (r *secretRule) ends(text string, runs runEnds, start, at int) int {
	if r.Check == "pem" {
		return pemEnd(text, at)
	}
	if r.Check != "url" && start > 0 && r.set.has[text[start-1]] {
		return 0 // inside a run that was looked at
	}
	to := runs.end(r.set, text, at)
	if to-at > r.Max {
		return 0 // longer than such a credential is
	}
	for to > at && (text[to-1] == '.' || text[to-1] == '-' && r.Chars == "dotted") {
		to-- // the end of a sentence
	}
	if to-at < r.Min || !r.checked(text[start:to], text[at:to]) {
		return 0
	}
	return to
}

// runEnds remembers, for each set of characters, where the last run that was
// read ends, so that no run is read twice.
type runEnds []int

func (r runEnds) end(set *charset, text string, at int) int {
	to := r[set.index]
	if at < to {
		return to
	}
	for to = at; to < len(text) && set.has[text[to]]; {
		to++
	}
	r[set.index] = to
	return to
}

// charset says which bytes are in a set.
type charset struct {
	has [256]bool
	// index is the place of the set among all.
	index int
}

// charsets makes the sets by their names.
func charsets() map[string]*charset {
	const digits, lower, upper = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	const printable = lower + upper + digits + "!#$%&()*+,-./:;=?@[\\]^_{|}~"
	sets := map[string]*charset{}
	for i, def := range [][2]string{
		{"lower", lower + digits},
		{"upper", upper + digits},
		{"alnum", lower + upper + digits},
		{"hex", "abcdefABCDEF" + digits},
		{"word", lower + upper + digits + "_-"},
		{"base64", lower + upper + digits + "+/="},
		{"digits", digits},
		{"upper32", upper + "234567"},
		{"dotted", lower + upper + digits + "_-."},
		{"url", printable},
	} {
		set := &charset{index: i}
		for _, c := range []byte(def[1]) {
			set.has[c] = true
		}
		sets[def[0]] = set
	}
	return sets
}

func knownCheck(check string) bool {
	switch check {
	case "", "github", "jwt", "pem", "url", "mixed", "dots2", "dots1", "bot":
		return true
	}
	return false
}

// checked reports whether a whole token, and what follows its prefix, are more
// than the form: the right check digits, or at least not a placeholder.
func (r *secretRule) checked(token, body string) bool {
	switch r.Check {
	case "github":
		return githubChecksum(body)
	case "jwt":
		return isJWT(token)
	case "url":
		return hasPassword(body)
	case "dots2":
		return strings.Count(body, ".") == 2 && random(body)
	case "dots1":
		return strings.Count(body, ".") == 1 && random(body)
	case "bot":
		return random(body)
	case "mixed":
		return random(body) && strings.ContainsAny(body, "0123456789") && strings.ContainsAny(body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	}
	return random(body)
}

// random reports whether a token has as many different characters as one that
// was made at random: a placeholder has few.
func random(s string) bool {
	var seen [256]bool
	different := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			different++
		}
	}
	return different >= min(7, len(s)/2)
}

// githubChecksum checks the last six characters: the CRC-32 of those before
// them, in base 62.
func githubChecksum(body string) bool {
	if len(body) < 7 {
		return false
	}
	at := len(body) - 6
	return base62(crc32.ChecksumIEEE([]byte(body[:at]))) == body[at:]
}

func base62(n uint32) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := []byte("000000")
	for i := len(out) - 1; n > 0 && i >= 0; i-- {
		out[i] = digits[n%62]
		n /= 62
	}
	return string(out)
}

// isJWT reports whether a token has three parts of which the first two are JSON
// objects.
func isJWT(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(parts[2]) < 16 {
		return false
	}
	for _, p := range parts[:2] {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil || len(b) < 2 || b[0] != '{' || b[len(b)-1] != '}' {
			return false
		}
	}
	return true
}

// hasPassword reports whether what follows :// begins with user:password@.
func hasPassword(s string) bool {
	if end := strings.IndexAny(s, "/?#"); end >= 0 {
		s = s[:end]
	}
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return false
	}
	_, password, ok := strings.Cut(s[:at], ":")
	return ok && len(password) >= 3 && !strings.ContainsAny(password, "<>{}[]$*")
}

// pemEnd is the end of a private key whose heading was begun before at.
func pemEnd(text string, at int) int {
	line := text[at:min(len(text), at+60)]
	end := strings.Index(line, "PRIVATE KEY")
	if end < 0 || strings.Contains(line[:end], "\n") {
		return 0
	}
	begin := at + end + len("PRIVATE KEY")
	body := text[begin:min(len(text), begin+2*longestSecret)]
	if stop := strings.Index(body, "-----END"); stop >= 0 {
		rest := body[stop+len("-----END"):]
		if dashes := strings.Index(rest[:min(len(rest), 64)], "-----"); dashes >= 0 {
			return begin + stop + len("-----END") + dashes + len("-----")
		}
		return begin + stop
	}
	// Cut off: what is there of it, as long as it looks like a key.
	to := begin
	for to < len(text) && to-begin < longestSecret && (isAlnum(text[to]) || strings.IndexByte("+/=- \r\n\\", text[to]) >= 0) {
		to++
	}
	return to
}

// assigned finds name = value at i, where value is not a placeholder.
func (t *secretTable) assigned(text, lower string, i int) (from, to int) {
	node := int32(0)
	at := 0
	for j := i; j < len(lower); j++ {
		if node = t.names.step(node, lower[j]); node == 0 {
			break
		}
		if len(t.names.ends(node)) > 0 && (j+1 == len(lower) || !inWord(lower[j+1])) {
			at = j + 1
		}
	}
	if at == 0 {
		return 0, 0
	}
	from, quoted, strict := value(text, at)
	if from == 0 {
		return 0, 0
	}
	to = from
	for to < len(text) && to-from <= t.max && !ends(text[to], quoted) {
		to++
	}
	v := strings.TrimRight(text[from:to], ".,;:!?)]}")
	if len(v) < t.min || len(v) > t.max || !secretValue(v, strict) {
		return 0, 0
	}
	l := strings.ToLower(v)
	for _, p := range t.placeholders {
		if strings.HasPrefix(l, p) {
			return 0, 0
		}
	}
	return from, from + len(v)
}

// value finds where a value begins after a name: behind =, :, => or "is". strict
// says that it was said in words, where only what no word looks like counts.
func value(text string, at int) (from int, quoted byte, strict bool) {
	i := at
	for i < len(text) && i < at+3 && (text[i] == '"' || text[i] == '\'' || text[i] == ']' || text[i] == ' ') {
		i++
	}
	rest := text[i:]
	switch {
	case strings.HasPrefix(rest, ":="), strings.HasPrefix(rest, "=>"):
		i += 2
	case strings.HasPrefix(rest, "=="):
		return 0, 0, false
	case strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":"):
		i++
	case strings.HasPrefix(rest, "is "), strings.HasPrefix(rest, "to "):
		i, strict = i+2, true
	case strings.HasPrefix(rest, "was "):
		i, strict = i+3, true
	default:
		return 0, 0, false
	}
	for n := 0; n < 3 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		return i + 1, text[i], strict
	}
	return i, 0, true
}

func ends(c, quoted byte) bool {
	if quoted != 0 {
		return c == quoted || c == '\n'
	}
	return c <= ' ' || c == '"' || c == '\'' || c == '`' || c == ',' || c == ';' || c == '&' || c == '|'
}

// secretValue reports whether a value may be a secret: no reference to one and,
// if strict, with a digit or sign among letters.
func secretValue(v string, strict bool) bool {
	if strings.ContainsAny(v, "(){}<>[]") || strings.HasPrefix(v, "$") || strings.HasPrefix(v, "%") || strings.Contains(v, " ") {
		return false
	}
	letters, digits, signs := 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80:
			letters++
		case c == '.' || c == '_' || c == '-' || c == '/' || c == ':':
			// These are in the names of things, too.
		default:
			signs++
		}
	}
	if strict {
		return (letters > 0 && (digits > 0 || signs > 0)) && !strings.Contains(v, "://")
	}
	return letters > 0 || digits > 0
}
