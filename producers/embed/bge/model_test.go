package bge

import (
	"context"
	"errors"
	"strings"
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

			e := network(t, k)
			pass := e.NewPass()
			worst, vectors := 1.0, 0

			for _, c := range golden(t) {
				if c.Emb == nil || k == gemm.Generic && len(c.IDs) > 16 {
					continue // Plain Go takes a second for a whole window on a slow machine.
				}

				got := make([]float32, Dim)
				pass.Forward(c.IDs[:min(len(c.IDs), maxTokens-2)], got)
				embed.Normalize(got)

				worst = min(worst, cosine(got, c.Emb))
				vectors++
			}

			t.Logf("%d vectors, worst cosine %.7f", vectors, worst)

			if worst < 0.99999 || vectors < 15 {
				t.Errorf("%d vectors, worst cosine %.7f", vectors, worst)
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
			if a.Emb != nil && b.Emb != nil && !cmp.Equal(window(a.IDs), window(b.IDs)) && cosine(a.Emb, b.Emb) > 0.999 {
				t.Errorf("%q and %q are too close", a.Text, b.Text)
			}
		}
	}
}

func window(ids []int32) []int32 { return ids[:min(len(ids), maxTokens-2)] }

// TestKernelsAgree also wants the same bits of AVX2 and AVX-512.
func TestKernelsAgree(t *testing.T) {
	t.Parallel()

	ids := network(t, gemm.Auto).Encode(words(21))
	vectors := map[gemm.Kernel][]float32{}

	for _, k := range gemm.Kernels() {
		vectors[k] = make([]float32, Dim)
		network(t, k).NewPass().Forward(ids, vectors[k])
		embed.Normalize(vectors[k])

		if c := cosine(vectors[k], vectors[gemm.Generic]); c < 0.99999 {
			t.Errorf("cosine of %s and generic is %.7f", k, c)
		}
	}

	if wide, ok := vectors[gemm.AVX512]; ok && !cmp.Equal(wide, vectors[gemm.AVX2]) {
		t.Error("AVX2 and AVX-512 differ")
	}
}

// TestModel makes the model as a server does: it tells meanings apart, has nothing to say of nothing, reads more than
// one window, and gives the same bits in any batch.
func TestModel(t *testing.T) {
	t.Parallel()

	m, err := New()
	if err != nil {
		t.Fatal(err)
	}

	texts := []string{
		"How do I reset my password?",
		"I forgot my login credentials and need to recover my account.",
		"The bakery opens at seven on Sundays.",
		"", " \t\n", "\U0001f600", "\x00\xff",
		words(126), words(140),
	}

	v, err := m.Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}

	if near, far := cosine(v[0], v[1]), cosine(v[0], v[2]); near < far+0.2 {
		t.Errorf("paraphrase %.3f, unrelated %.3f", near, far)
	}

	for i, text := range texts {
		if nothing := i > 2 && i < 7; nothing != (v[i] == nil) {
			t.Errorf("%q: %d components", text, len(v[i]))
		}
	}

	if cosine(v[7], v[8]) > 0.99999 {
		t.Error("the second window makes no difference")
	}

	alone, err := m.Embed(t.Context(), texts[:1], embed.Query)
	if err != nil {
		t.Fatal(err)
	}

	if !cmp.Equal(alone[0], v[0]) {
		t.Error("the batch or the kind makes a difference")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if v, err := m.Embed(ctx, []string{"secret plan"}, embed.Document); !errors.Is(err, context.Canceled) || v != nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("cancelled: %v, %v", v, err)
	}

	want := embed.ModelID{
		Provider: "builtin",
		Model:    "bge-small-en-v1.5-i8",
		Revision: "a7e93a009b67d6ba",
		Dim:      384,
		Prep:     "uncased-wordpiece;max-32768-chars;windows-16x126-mean",
	}
	if diff := cmp.Diff(want, m.ID()); diff != "" {
		t.Errorf("id (-want +got):\n%s", diff)
	}
}
