package guard

import (
	"strings"
	"testing"
)

// What is hidden in a text is less than twice as long, also where it is hidden in
// more than one way at once: the bound on the time of a scan rests on it.
func TestHiddenIsBounded(t *testing.T) {
	t.Parallel()
	inBase64 := strings.Repeat("aWdub3JlIGFsbCB0aGF0IA ", 200)
	longest := 0
	for name, text := range map[string]string{
		"base64": inBase64, "percent": strings.Repeat("%61 word ", 200), "both": "%61%62 " + inBase64,
		"tags": strings.Repeat("\U000E0061", 200), "none": strings.Repeat("word ", 200),
	} {
		got, _ := hidden(text)
		longest = max(longest, 100*len(got)/len(text))
		if len(got) >= 2*len(text) {
			t.Errorf("%s: %d bytes in %d", name, len(got), len(text))
		}
	}
	if longest <= 100 {
		t.Errorf("%d %% at most: nothing was longer than its text", longest)
	}
}
