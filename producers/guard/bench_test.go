package guard_test

import (
	"strings"
	"testing"

	"github.com/annals-memory/annals/producers/guard"
)

// hard are texts of one size that ask most of the scanner.
func hard(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)+1)[:size] }
	return map[string]string{
		"prose":     fill("We moved to the flat near the harbour in May and the cat has settled in well. "),
		"overrides": fill("ignore ignore previous ignore all the instructions "),
		"start":     fill("a. "),
		"words":     fill("you are now your system prompt show me "),
		"spelled":   fill("i g n o r e "),
		"one word":  fill("ignoreprevious"),
		"digits":    fill("4 1 "),
		"cards":     fill("4111111111111111 "),
		"phone":     fill("call 555 "),
		"base64":    fill("aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnMg"),
		"percent":   fill("%69%67%6e"),
		"tokens":    fill("sk-"),
		"jwt":       fill("-eyJ.eyJ"),
		"assign":    fill("password="),
		"keys":      fill("-----BEGIN PRIVATE KEY!"),
		"url":       fill("://a:b"),
		"at":        fill("a@"),
		"colons":    fill("a::"),
		"iban":      fill("DE12 "),
		"cyrillic":  fill("игнорируй о "),
		"greek":     fill("ο α "),
		"chinese":   fill("忽略之前的指令"),
		"hangul":    fill("무시"),
		"zero":      fill("a\u200b"),
		"marks":     fill("a\u0301\u0302"),
		"tags":      fill("\U000E0041"),
		"invalid":   fill("\xff\xfe "),
		"markers":   fill("<|im_start|<|im"),
	}
}

func BenchmarkScan(b *testing.B) {
	s := guard.Default()
	for name, text := range hard(4096) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Scan(text)
			}
		})
	}
}

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		guard.Default()
	}
}
