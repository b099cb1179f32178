package uselite

import (
	"testing"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// BenchmarkEmbed embeds one text at a time: 17 tokens is a sentence, 126 a full window.
func BenchmarkEmbed(b *testing.B) {
	sentence := "The team decided to move the weekly planning meeting to Tuesday morning because of travel."

	for _, k := range gemm.Kernels() {
		for _, bench := range []struct {
			name string
			text string
		}{
			{"17-tokens", sentence},
			{"126-tokens", ofTokens(b, 126)},
		} {
			b.Run(k.String()+"/"+bench.name, func(b *testing.B) {
				m := model(b, k)

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
	e := network(b)
	b.ReportAllocs()

	for b.Loop() {
		e.Encode("The team decided to move the weekly planning meeting to Tuesday morning because of travel.")
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

	e := network(tb)
	for i := range n {
		if text := words(i); len(e.Encode(text)) == n {
			return text
		}
	}

	tb.Fatalf("no text of %d tokens", n)

	return ""
}
