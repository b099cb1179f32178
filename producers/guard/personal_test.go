package guard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/producers/guard"
)

// TestPersonal has examples that are published as such, each with a twin that
// differs in a digit, a word or a sign.
func TestPersonal(t *testing.T) {
	t.Parallel()
	s := guard.Default()
	for _, c := range []struct{ kind, text, want, twin string }{
		{guard.KindEmail, "write to jo.smith+x@mail.example.org.", "jo.smith+x@mail.example.org", "the rate @ home is 3.5"},
		{guard.KindEmail, "<jo@site.example>", "jo@site.example", "follow @jo on the site"},
		{guard.KindCard, "paid with 4111 1111 1111 1111 today", "4111 1111 1111 1111", "paid with 4111 1111 1111 1112 today"},
		{guard.KindCard, "3782-822463-10005", "3782-822463-10005", "3782-822463-10006"},
		{guard.KindCard, "5555555555554444", "5555555555554444", "order 9555555555554444"},
		{guard.KindIBAN, "to DE89 3704 0044 0532 0130 00, please", "DE89 3704 0044 0532 0130 00", "to DE88 3704 0044 0532 0130 00, please"},
		{guard.KindIBAN, "GB82WEST12345698765432", "GB82WEST12345698765432", "XX82WEST12345698765432"},
		{guard.KindIP, "the host is 203.0.113.7.", "203.0.113.7", "the version 3.0.113.7"},
		{guard.KindIP, "2001:db8::8a2e:370:7334 is up", "2001:db8::8a2e:370:7334", "std::vector and 12:30:45"},
		{guard.KindSSN, "it is 078-05-1120", "078-05-1120", "it is 078-05-112"},
		{guard.KindSSN, "my SSN is 078051120", "078051120", "my SSN is 000051120"},
		{guard.KindPhone, "+49 30 901820", "+49 30 901820", "+49 30"},
		{guard.KindPhone, "(212) 555-0123", "(212) 555-0123", "(2012) 55"},
		{guard.KindPhone, "+49(0)30 901820", "+49(0)30 901820", "49(0)30 901820"},
		{guard.KindPhone, "1 (212) 555-0123", "1 (212) 555-0123", "1(212)(555) 0123"},
		{guard.KindPhone, "212-555-0123 ext. 45", "212-555-0123 ext. 45", "212-5555-0123-9"},
		{guard.KindPhone, "call me at 69 987 88 37", "69 987 88 37", "we are 69 987 88 37"},
		{guard.KindPhone, "my mobile: 0171 1234567", "0171 1234567", "the code 171 1234567"},
		{guard.KindBirthDate, "she was born on 12/27/1986", "12/27/1986", "it was sold on 12/27/1986"},
		{guard.KindBirthDate, "birthday: 3 May 1990", "3 May 1990", "meeting: 3 May 1990"},
		{guard.KindBirthDate, "geboren am 1. Mai 1990", "1. Mai 1990", "gekauft am 1. Mai 1990"},
		{guard.KindCrypto, "to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"},
		{guard.KindCrypto, "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdp"},
		{guard.KindCrypto, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj1"},
		{guard.KindCrypto, "0x" + strings.Repeat("ab12", 10), "0x" + strings.Repeat("ab12", 10), "0x" + strings.Repeat("ab12", 9)},
	} {
		var got []string
		for _, f := range s.Find(c.text) {
			got = append(got, f.Kind+" "+c.text[f.From:f.To])
		}
		if d := cmp.Diff([]string{c.kind + " " + c.want}, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
		if g := s.Scan(c.text); !slices.Equal(g.Personal, []string{c.kind}) {
			t.Errorf("%q: a scan says %v", c.text, g.Personal)
		}
		for _, f := range s.Find(c.twin) {
			if f.Kind == c.kind {
				t.Errorf("%q: found %+v", c.twin, f)
			}
		}
	}
}

// TestNothingPersonal has numbers that are something else.
func TestNothingPersonal(t *testing.T) {
	t.Parallel()
	s := guard.Default()
	for _, text := range []string{
		"on 2024-05-06 at 12:30:45", "06.05.2024", "05/06/24", "it costs 1,234,567.89 in all", "pi is 3.14159265358979", "page 1234567",
		"rows 1000000-2000000", "version 1.2.3.4", "127.0.0.1 and ::1 are this machine", "size 1920x1080", "ISBN 978-3-16-148410-0",
		"the years 1914-1918 and 1939-1945", "4 5 6 7 8 9 10 11 12", "0.0001 0002 00030", "2^31 = 2147483648", "id 550e8400-e29b-41d4-a716-446655440000",
		"1234567890123", "10-20-30", "call it 42", "a@b", "x = y@z.1", "git@", "50% of 1200000000",
		"sqrt(15(15-8)(15-10)(15-12))", "(212)(555)(0123)",
	} {
		if found := s.Find(text); len(found) != 0 {
			t.Errorf("%q: found %+v", text, found)
		}
	}
}

// TestNational has a published example of each country, and the same with its
// last digit or letter changed. Where a check digit is the only mark, a word
// before it is needed.
func TestNational(t *testing.T) {
	t.Parallel()
	examples := map[string]struct {
		number string
		strong bool
	}{
		"au": {"123 456 782", false}, "be": {"85.07.30-033.28", true}, "br": {"111.444.777-35", true}, "ca": {"193 456 787", false},
		"ch": {"756.9217.0769.85", true}, "cn": {"11010519491231002X", true}, "de": {"86095742719", false}, "dk": {"070761-4285", false},
		"es": {"12345678Z", true}, "fi": {"131052-308T", true}, "fr": {"2 55 08 14 168 025 38", true}, "gb": {"943 476 5919", false},
		"in": {"2341 2341 2346", false}, "it": {"RSSMRA85T10A562S", true}, "nl": {"111222333", false}, "no": {"11077941012", true},
		"pl": {"44051401359", false}, "pt": {"123456789", false}, "se": {"811218-9876", false}, "tr": {"10000000146", true},
	}
	if d := cmp.Diff(guard.Locales(), slices.Sorted(func(yield func(string) bool) {
		for l := range examples {
			if !yield(l) {
				return
			}
		}
	})); d != "" {
		t.Fatalf("countries (-known +tested):\n%s", d)
	}
	for l, e := range examples {
		s, err := guard.New([]byte("version: \"1\"\npersonal: {locales: [" + l + "], id: [id, tax]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		found := func(text string) bool {
			f := s.Find(text)
			return len(f) == 1 && f[0].Kind == guard.KindNationalID && text[f[0].From:f[0].To] == e.number
		}
		if !found("tax id " + e.number + ".") {
			t.Errorf("%s: %s is not found", l, e.number)
		}
		if got := found("see " + e.number + "."); got != e.strong {
			t.Errorf("%s: %s without a word: %v", l, e.number, got)
		}
		if l == "dk" {
			continue // it has no check
		}
		last := e.number[len(e.number)-1]
		wrong := e.number[:len(e.number)-1] + string(rune('0'+(last-'0'+1)%10))
		if last > '9' {
			wrong = e.number[:len(e.number)-1] + string(rune('A'+(last-'A'+1)%26))
		}
		if f := s.Find("tax id " + wrong); len(f) != 0 {
			t.Errorf("%s: a wrong number is found: %+v", l, f)
		}
		if f := guard.Default().Find(e.number); slices.ContainsFunc(f, func(x guard.Span) bool { return x.Kind == guard.KindNationalID }) {
			t.Errorf("%s: found though no country is asked for", l)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	const good = "version: \"1\"\nclasses: {a: [alpha]}\nrules: [{id: r, score: 50, any: [\"a\"]}]\n"
	first, err := guard.New([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	same, err := guard.New([]byte("# a remark\nrules:\n- {any: ['a'], id: r, score: 50}\nversion: \"1\"\nclasses:\n  a:\n  - alpha\n"))
	if err != nil || same.Rules() != first.Rules() {
		t.Errorf("another layout: %v, hash %s, want %s", err, same.Rules(), first.Rules())
	}
	other, err := guard.New([]byte(strings.Replace(good, "50", "51", 1)))
	if err != nil || other.Rules() == first.Rules() || len(other.Rules()) != 64 {
		t.Errorf("another score: %v, hash %s", err, other.Rules())
	}
	for name, text := range map[string]string{
		"empty":             "",
		"no version":        strings.Replace(good, "version: \"1\"", "", 1),
		"not YAML":          "{",
		"two documents":     good + "---\nversion: \"2\"\n",
		"unknown field":     good + "rule: []\n",
		"unknown class":     strings.Replace(good, "\"a\"", "\"b\"", 1),
		"unknown unless":    strings.Replace(good, "score: 50", "score: 50, unless: [b]", 1),
		"unknown not":       strings.Replace(good, "score: 50", "score: 50, not: [b]", 1),
		"class name":        strings.Replace(good, "a: [alpha]", "A: [alpha]", 1),
		"entry":             strings.Replace(good, "alpha", "'--'", 1),
		"score":             strings.Replace(good, "50", "101", 1),
		"no score":          strings.Replace(good, "score: 50, ", "", 1),
		"id":                strings.Replace(good, "id: r", "id: R", 1),
		"no id":             strings.Replace(good, "id: r, ", "", 1),
		"id twice":          good + "markers: [{id: r, score: 5, any: ['<x>']}]\n",
		"id of our own":     strings.Replace(good, "id: r", "id: too_long", 1),
		"nothing":           strings.Replace(good, "\"a\"", "", 1),
		"no step":           strings.Replace(good, "\"a\"", "\"..3\"", 1),
		"gap":               strings.Replace(good, "\"a\"", "\"a ..x a\"", 1),
		"gap too long":      strings.Replace(good, "\"a\"", "\"a ..31 a\"", 1),
		"open quote":        strings.Replace(good, "\"a\"", "\"'alpha\"", 1),
		"empty quote":       strings.Replace(good, "\"a\"", "\"''\"", 1),
		"short marker":      good + "markers: [{id: m, score: 5, any: [x]}]\n",
		"secret set":        good + "secrets: [{id: s, prefix: [ab], chars: odd, min: 1, max: 2}]\n",
		"secret check":      good + "secrets: [{id: s, prefix: [ab], chars: hex, min: 1, max: 2, check: odd}]\n",
		"secret length":     good + "secrets: [{id: s, prefix: [ab], chars: hex, min: 3, max: 2}]\n",
		"secret prefix":     good + "secrets: [{id: s, prefix: [a], chars: hex, min: 1, max: 2}]\n",
		"secret no prefix":  good + "secrets: [{id: s, chars: hex, min: 1, max: 2}]\n",
		"secret no id":      good + "secrets: [{prefix: [ab], chars: hex, min: 1, max: 2}]\n",
		"assign lengths":    good + "assign: {names: [pass], min: 5, max: 2}\n",
		"assign name":       good + "assign: {names: [Pass], min: 1, max: 2}\n",
		"personal kind":     good + "personal: {kinds: [face]}\n",
		"personal locale":   good + "personal: {locales: [xx]}\n",
		"personal word":     good + "personal: {phone: [Call]}\n",
		"hidden not number": good + "hidden: {tags: much}\n",
	} {
		s, err := guard.New([]byte(text))
		if !errors.Is(err, guard.ErrRules) || s != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
