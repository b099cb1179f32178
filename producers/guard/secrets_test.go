package guard

import (
	"encoding/base64"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maker makes tokens when the test runs, so that none is in the sources.
type maker struct{ *rand.Rand }

func newMaker() maker { return maker{rand.New(rand.NewPCG(1, 2))} }

// of returns n characters of a set.
func (m maker) of(set *charset, n int) string {
	var all []byte
	for c := range set.has {
		// The signs of base64 are at its end only, and a dot is set apart.
		if set.has[c] && c != '=' && c != '.' {
			all = append(all, byte(c))
		}
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = all[m.IntN(len(all))]
	}
	// A token ends with a letter or digit.
	b[0], b[n-1] = 'A', 'B'
	if !set.has['A'] {
		b[0], b[n-1] = 'a', 'b'
	}
	if !set.has['a'] && !set.has['A'] {
		b[0], b[n-1] = '1', '2'
	}
	return string(b)
}

// token returns one of a rule.
func (m maker) token(r *secretRule, prefix string) string {
	body := func() string { return m.of(r.set, r.Min) }
	switch r.Check {
	case "github":
		b := m.of(r.set, 30)
		return prefix + b + base62(crc32.ChecksumIEEE([]byte(b)))
	case "jwt":
		part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
		return part(`{"alg":"none"}`) + "." + part(`{"sub":"nobody"}`) + "." + m.of(r.set, 43)
	case "pem":
		return prefix + "RSA PRIVATE KEY-----\n" + m.of(charsets()["alnum"], 64) + "\n-----END RSA PRIVATE KEY-----"
	case "url":
		return prefix + "user:" + m.of(charsets()["alnum"], 12) + "@db.example:5432/x"
	case "dots1":
		return prefix + m.of(r.set, r.Min/2) + "." + m.of(r.set, r.Min-r.Min/2-1)
	case "mixed":
		return prefix + "1a" + body()
	}
	return prefix + body()
}

// TestSecretClasses makes a token of every prefix of every rule.
func TestSecretClasses(t *testing.T) {
	t.Parallel()
	s := Default()
	m := newMaker()
	if n := len(s.secrets.rules); n < 40 {
		t.Errorf("only %d classes", n)
	}
	for i := range s.secrets.rules {
		r := &s.secrets.rules[i]
		for _, prefix := range r.Prefix {
			if r.Max > 0 && r.Min == r.Max && r.Check == "mixed" {
				t.Fatalf("%s: the maker does not know it", r.ID)
			}
			token := m.token(r, prefix)
			text := "use " + token + " for it"
			if r.Check == "url" {
				text = "use postgres" + token + " for it"
			}
			found := s.Find(text)
			if len(found) != 1 || found[0].Kind != KindSecret || !strings.Contains(text[found[0].From:found[0].To], token) && !strings.Contains(token, text[found[0].From:found[0].To]) {
				t.Errorf("%s: found %+v", r.ID, found)
			}
			if got := s.Scan(text).Secrets; got != 1 {
				t.Errorf("%s: %d secrets", r.ID, got)
			}
			if r.Check == "pem" || r.Check == "url" {
				continue
			}
			// What is too short, and a placeholder, are none.
			short := "use " + prefix + m.of(r.set, max(1, r.Min/3)) + " for it"
			if found := s.Find(short); len(found) > 0 && found[0].Rule == r.ID {
				t.Errorf("%s: a token that is too short is found: %+v", r.ID, found)
			}
			same := "use " + prefix + strings.Repeat(m.of(r.set, 1), r.Min) + " for it"
			if found := s.Find(same); len(found) > 0 && found[0].Rule == r.ID {
				t.Errorf("%s: a placeholder is found: %+v", r.ID, found)
			}
		}
	}
}

func TestGithubChecksum(t *testing.T) {
	t.Parallel()
	s := Default()
	m := newMaker()
	body := m.of(charsets()["alnum"], 30)
	sum := base62(crc32.ChecksumIEEE([]byte(body)))
	wrong := []byte(sum)
	wrong[5] ^= 1
	if !githubChecksum(body + sum) {
		t.Error("a right checksum is not taken")
	}
	if found := s.Find("ghp_" + body + string(wrong)); len(found) != 0 {
		t.Errorf("a wrong checksum is taken: %+v", found)
	}
	// Known answers: the base is 62, the digits come before the letters.
	for n, want := range map[uint32]string{0: "000000", 9: "000009", 10: "00000A", 61: "00000z", 62: "000010"} {
		if got := base62(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestAssigned(t *testing.T) {
	t.Parallel()
	s := Default()
	value := "k9" + newMaker().of(charsets()["alnum"], 10)
	for text, want := range map[string]string{
		"password: " + value:                        value,
		"PASSWORD=" + value + ".":                   value,
		`{"api_key": "` + value + `", "a": 1}`:      value,
		"my password is " + value + ", keep it":     value,
		"the wifi passcode was " + value:            value,
		"export DB_PASSWORD='" + value + "'":        value,
		"client_secret => `" + value + "`":          value,
		"Kennwort und passwort: " + value:           value,
		"?access_token=" + value + "&x=1":           value,
		"password = \"correcthorse\"":               "correcthorse",
		"password: correcthorse":                    "", // a word, unquoted
		"password is important":                     "",
		"password: str":                             "",
		"password = os.environ['X1']":               "",
		"password=request.form['password1']":        "",
		"password: ${DB_PASSWORD1}":                 "",
		"password: <your-password-1>":               "",
		"password: YOUR_PASSWORD_1":                 "",
		"password == " + value:                      "",
		"check_password_hash(password, " + value:    "",
		"passwords: " + value:                       "",
		"mypassword " + value:                       "",
		"the token: https://site.example/a1/b2/c3?": "",
	} {
		var got string
		if found := s.Find(text); len(found) == 1 {
			got = text[found[0].From:found[0].To]
		} else if len(found) > 1 {
			t.Errorf("%q: found %+v", text, found)
		}
		if got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

// TestSecretSpans cuts a text where secrets are.
func TestSecretSpans(t *testing.T) {
	t.Parallel()
	s := Default()
	key := "-----BEGIN EC PRIVATE KEY-----\nabc+/=\n-----END EC PRIVATE KEY-----"
	text := "first https://me:s3cr3tpass@host.example/ then " + key + ", and that is all"
	var got []string
	for _, f := range s.Find(text) {
		got = append(got, f.Rule+" "+text[f.From:f.To])
	}
	want := []string{"url_password ://me:s3cr3tpass@host.example/", "private_key " + key}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, none := range []string{
		"-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----", "https://host.example/a:b@c", "https://user@host.example/", "mailto://<user>:<pass>@x",
	} {
		if found := s.findSecrets(none, asciiLower(none)); len(found) > 0 {
			t.Errorf("%q: found %+v", none, found)
		}
	}
}
