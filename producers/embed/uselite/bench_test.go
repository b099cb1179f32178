package uselite

import (
	"testing"

	"github.com/annals-memory/annals/producers/embed"
)

// BenchmarkEmbed embeds one text at a time: 17 tokens is a sentence, 126 a full window.
func BenchmarkEmbed(b *testing.B) {
	sentence := "The team decided to move the weekly planning meeting to Tuesday morning because of travel."

	for _, k := range Kernels() {
		for _, bench := range []struct {
			name   string
			text   string
			tokens int
		}{
			{"17-tokens", sentence, 17},
			{"126-tokens", ofTokens(b, 126), 126},
		} {
			b.Run(k.String()+"/"+bench.name, func(b *testing.B) {
				m := model(b, k)
				if n := len(m.words.encode(bench.text)); n != bench.tokens {
					b.Fatalf("%d tokens", n)
				}

				b.ReportAllocs()

				for b.Loop() {
					if _, err := m.Embed(b.Context(), []string{bench.text}, embed.Document); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkTokenizer(b *testing.B) {
	m := model(b, KernelAuto)
	b.ReportAllocs()

	for b.Loop() {
		m.words.encode("The team decided to move the weekly planning meeting to Tuesday morning because of travel.")
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()

	for b.Loop() {
		if _, err := New(); err != nil {
			b.Fatal(err)
		}
	}
}

// ofTokens makes a text of exactly n tokens.
func ofTokens(tb testing.TB, n int) string {
	tb.Helper()

	m := model(tb, KernelAuto)
	for i := range n {
		if text := words(i); len(m.words.encode(text)) == n {
			return text
		}
	}

	tb.Fatalf("no text of %d tokens", n)

	return ""
}
