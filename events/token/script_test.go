package token_test

import (
	"testing"

	"github.com/annals-memory/annals/events/token"
)

func TestMixesScripts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"health":       false,
		"sant\u00e9 2": false,
		"\u0437\u0434\u043e\u0440\u043e\u0432\u044c\u0435": false, // Russian
		"\u03c5\u03b3\u03b5\u03af\u03b1":                   false, // Greek
		"\u5065\u5eb7\u60c5\u5831 SNS \u30c7\u30fc\u30bf":  false, // Japanese with Latin
		"\uac74\u0061":  false,
		"\u5065\u3105":  false,
		"":              false,
		"7 _":           false,
		"h\u0435alth":   true, // Cyrillic e
		"he\u03b1lth":   true, // Greek alpha
		"\u0441are":     true,
		"health \u0438": true,
		"\u0430\u03b1":  true, // Cyrillic and Greek
		"\u30c7\uac74":  true,
		"\u13a1ealth":   true, // Cherokee
	} {
		if got := token.MixesScripts(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
