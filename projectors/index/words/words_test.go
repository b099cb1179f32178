package words

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                        nil,
		" \t\n.,;":                nil,
		"The cats are running":    {"cat", "run"},
		"It's Anna's bicycle":     {"anna", "bicycl"},
		"never again, not once":   {"never", "again", "not", "onc"},
		"Flight LH-1234 at 10:45": {"flight", "lh", "1234", "10", "45"},
		"ｆｕｌｌ ｗｉｄｔｈ":              {"full", "width"},
		"Cafe\u0301 CAFÉ cafés":   {"cafe", "cafe", "cafe"},
		"Straße STRASSE":          {"strass", "strass"},
		"東京都":                     {"東", "東京", "京", "京都", "都"},
		"猫 cat猫":                  {"猫", "cat", "猫"},
		"コーヒー":                    {"コー", "ーヒ", "ヒー"},
		"한국어":                     {"한", "한국", "국", "국어", "어"},
		"猫が好き":                    {"猫", "猫が", "が好", "好", "好き"},
		"Привет, мир":             {"привет", "мир"},
		"Она не читает книги в ёлках":      {"не", "чита", "книг", "елк"},
		"where would it be, and when":      nil,
		"αθήνα ΑΘΗΝΑΣ":                     {"αθηνα", "αθηνασ"},
		"مُدَرِّسَة والمدرسة مدرســة":      {"مدرس", "مدرس", "مدرس"},
		"שָׁלוֹם שלום":                     {"שלום", "שלום"},
		"किताबें":                          {"किताबें"},
		"แมว":                              {"แม", "มว"},
		"ก":                                {"ก"},
		"Las gatas viven en la montaña":    {"gata", "gat", "viven", "viv", "montana", "montan"},
		"les gens cherchent dans les rues": {"gen", "cherchent", "rue", "ru"},
		"no hay nada":                      {"no", "nada", "nad"},
		"a\xffb\xfe":                       {"b"},
		"snake_case camelCase":             {"snake", "case", "camelcas"},
		strings.Repeat("x", 200):           {strings.Repeat("x", MaxWord)},
		"x" + strings.Repeat("é", 40):      {"x" + strings.Repeat("e", 31)},
		"running runs runner":              {"run", "run", "runner"},
		"user@example.com +49 170 55501":   {"user", "exampl", "com", "49", "170", "55501"},
	} {
		if diff := cmp.Diff(want, Terms(text)); diff != "" {
			t.Errorf("terms of %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	// RFC 4231, test case 2.
	if got, want := Key([]byte("Jefe"), "what do ya want for nothing?"), uint64(0x5bdcc146bf60754e); got != want {
		t.Fatalf("key is %x, want %x", got, want)
	}
	k := NewKeyer([]byte("one"))
	first := k.Key("word")
	if k.Key("other") == first || k.Key("word") != first || Key([]byte("one"), "word") != first {
		t.Fatal("a keyer does not agree with itself")
	}
	if Key([]byte("two"), "word") == first {
		t.Fatal("two tenants share a token")
	}
}

// TestLarge takes the hardest inputs of 128 KB: what grows with the square of the input would take far longer than it may.
func TestLarge(t *testing.T) {
	t.Parallel()
	const size = 1 << 17
	for name, piece := range map[string]string{
		"one word":   "a",
		"words":      "running ",
		"marks":      "e\u0301\u0301\u0301",
		"only marks": "\u0301\u0316",
		"han":        "東京",
		"thai":       "ก็",
		"spanish":    "las gatas ",
		"arabic":     "والمدرسات ",
		"cyrillic":   "ёлками ",
		"invalid":    "\xff",
		"vowels":     "yaya",
		"expanding":  strings.Repeat(" ", 30) + "\ufdfa", // grows by the normal form
	} {
		text := strings.Repeat(piece, size/len(piece))
		start := time.Now()
		n := len(Terms(text))
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: %v for %d terms", name, took, n)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "The cats", "東京都", "a\xffb", "Cafe\u0301", "İstanbul", "\ufdfa", "'s", "ﬁnal ½", "las gatas de", "المدرسة", "แมว", "ёлка й", "한국 責"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := Terms(text)
		if diff := cmp.Diff(terms, Terms(text)); diff != "" {
			t.Fatalf("terms differ from one time to the next:\n%s", diff)
		}
		for _, term := range terms {
			if term == "" || len(term) > 32*MaxWord || !utf8.ValidString(term) || strings.ContainsAny(term, " .,\t\n") {
				t.Fatalf("bad term %q", term)
			}
		}
	})
}
