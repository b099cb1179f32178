package bge

import (
	"strings"
	"testing"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/internal/builtin"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// BenchmarkEmbed embeds one text at a time: 20 tokens is a sentence, 126 a full window.
func BenchmarkEmbed(b *testing.B) {
	for _, k := range gemm.Kernels() {
		for _, bench := range []struct {
			name string
			text string
		}{{"20-tokens", words(20)}, {"126-tokens", words(126)}} {
			b.Run(k.String()+"/"+bench.name, func(b *testing.B) {
				m := builtin.New(builtin.Config{
					ID: embed.ModelID{Dim: Dim}, Network: network(b, k), Windows: maxWindows, Tokens: maxTokens - 2,
				})

				b.ReportAllocs()

				for b.Loop() {
					if _, err := m.Embed(b.Context(), []string{bench.text}, embed.Query); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkTokenizer(b *testing.B) {
	e := network(b, gemm.Auto)
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

// words makes a text of n tokens.
func words(n int) string {
	list := []string{"river", "meeting", "blue", "account", "never", "Tuesday", "engine", "paper", "happy", "server", "the"}

	var b strings.Builder
	for i := range n {
		b.WriteString(list[(i*i+i/7)%len(list)])
		b.WriteByte(' ')
	}

	return b.String()
}
