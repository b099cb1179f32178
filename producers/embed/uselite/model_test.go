package uselite

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

func TestGolden(t *testing.T) {
	t.Parallel()

	for _, k := range gemm.Kernels() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()

			e := newNetwork(t, k)
			pass := e.NewPass()
			worst, vectors := 1.0, 0

			for _, c := range golden(t) {
				ids := e.Encode(c.Text)
				if diff := cmp.Diff(c.IDs, ids); diff != "" {
					t.Errorf("token ids of %q (-want +got):\n%s", c.Text, diff)
				}

				if c.Emb == nil {
					continue
				}

				got := make([]float32, Dim)
				pass.Forward(ids[:min(len(ids), maxTokens)], got)
				embed.Normalize(got)

				worst = min(worst, cosine(got, c.Emb))
				vectors++
			}

			t.Logf("%d vectors, worst cosine %.6f", vectors, worst)

			if worst < 0.9993 || vectors < 16 { // Quantisation alone costs 0.0006.
				t.Errorf("%d vectors, worst cosine %.6f", vectors, worst)
			}
		})
	}
}

// TestGoldenTellsTextsApart is the positive control of TestGolden: the threshold is far above what another text gets.
func TestGoldenTellsTextsApart(t *testing.T) {
	t.Parallel()

	cases := golden(t)
	for i, a := range cases {
		for _, b := range cases[i+1:] {
			if a.Emb != nil && b.Emb != nil && cosine(a.Emb, b.Emb) > 0.99 {
				t.Errorf("%q and %q are too close", a.Text, b.Text)
			}
		}
	}
}

func TestKernelsAgree(t *testing.T) {
	t.Parallel()

	texts := []string{"hello", "Invoices are due within thirty days of the delivery.", words(150)}
	want, err := model(t, gemm.Generic).Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}

	vectors := map[gemm.Kernel][][]float32{}

	for _, k := range gemm.Kernels() {
		got, err := model(t, k).Embed(t.Context(), texts, embed.Document)
		if err != nil {
			t.Fatal(err)
		}

		vectors[k] = got

		for i := range texts {
			if c := cosine(want[i], got[i]); c < 0.99999 {
				t.Errorf("text %d: cosine of %s and generic is %.7f", i, k, c)
			}
		}
	}

	if wide, ok := vectors[gemm.AVX512]; ok {
		if diff := cmp.Diff(vectors[gemm.AVX2], wide); diff != "" {
			t.Errorf("AVX2 and AVX-512 differ:\n%s", diff)
		}
	}
}

func TestMeaning(t *testing.T) {
	t.Parallel()

	v, err := model(t, gemm.Auto).Embed(t.Context(), []string{
		"How do I reset my password?",
		"I forgot my login credentials and need to recover my account.",
		"The bakery opens at seven on Sundays.",
	}, embed.Query)
	if err != nil {
		t.Fatal(err)
	}

	if near, far := cosine(v[0], v[1]), cosine(v[0], v[2]); near < far+0.2 {
		t.Errorf("paraphrase %.3f, unrelated %.3f", near, far)
	}
}

func TestNothingToSay(t *testing.T) {
	t.Parallel()

	texts := []string{"", " ", "\t\r\n\u00a0\u3000", "\u65e5\u672c\u8a9e", "\x00", "\xff\xfe", "\u200b", "word"}
	v, err := model(t, gemm.Auto).Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}

	for i, text := range texts {
		if known := i == len(texts)-1; known != (v[i] != nil) {
			t.Errorf("%q: %d components", text, len(v[i]))
		}
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()

	m := model(t, gemm.Auto)
	full := words(maxWindows * maxTokens) // Each word is at least one token.
	texts := []string{
		words(100),
		words(200),
		full + " and whatever follows the last window",
		full + strings.Repeat(" x", 1<<20),
	}

	v, err := m.Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}

	if cosine(v[0], v[1]) > 0.99999 {
		t.Error("the second window makes no difference")
	}

	if diff := cmp.Diff(v[2], v[3]); diff != "" {
		t.Error("text behind the last window makes a difference")
	}
}

// TestDeterministic embeds the same texts in other batches, all at once, and wants the same bits.
func TestDeterministic(t *testing.T) {
	t.Parallel()

	for _, k := range gemm.Kernels() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()

			m := model(t, k)
			texts := make([]string, 6)

			for i := range texts {
				texts[i] = words(i * 3)
			}

			want, err := m.Embed(t.Context(), texts, embed.Document)
			if err != nil {
				t.Fatal(err)
			}

			var group sync.WaitGroup

			for size := 1; size <= len(texts); size += 2 {
				group.Go(func() {
					var got [][]float32

					for start := 0; start < len(texts); start += size {
						part, err := m.Embed(t.Context(), texts[start:min(start+size, len(texts))], embed.Query)
						if err != nil {
							t.Error(err)

							return
						}

						got = append(got, part...)
					}

					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("batches of %d differ", size)
					}
				})
			}

			group.Wait()
		})
	}
}

func TestID(t *testing.T) {
	t.Parallel()

	want := embed.ModelID{
		Provider: "builtin",
		Model:    "use-lite-en-i8",
		Revision: "6b80de18b3ffa55c",
		Dim:      512,
		Prep:     "nfkc;max-32768-chars;windows-16x128-mean",
	}
	for _, k := range gemm.Kernels() {
		if diff := cmp.Diff(want, model(t, k).ID()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k, diff)
		}
	}
}

// words makes a text of n short words that differ.
func words(n int) string {
	list := []string{"river", "meeting", "blue", "account", "never", "Tuesday", "engine", "paper", "happy", "server", "the"}

	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s ", list[(i*i+i/7)%len(list)])
	}

	return b.String()
}
