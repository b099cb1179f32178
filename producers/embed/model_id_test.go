package embed_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/producers/embed"
)

func TestModelIDKey(t *testing.T) {
	t.Parallel()

	id := embed.ModelID{Provider: "builtin", Model: "org/name", Revision: "r1", Dim: 512, Prep: "a;b c"}
	if got, want := id.Key(), "builtin/org%2Fname/r1/512/a%3Bb+c"; got != want {
		t.Fatalf("Key = %q, want %q", got, want)
	}
}

func TestModelIDKeyIsInjective(t *testing.T) {
	t.Parallel()

	part := rapid.StringOfN(rapid.SampledFrom([]rune("a/%+ 2F")), 0, 3, -1)
	draw := func(t *rapid.T, label string) embed.ModelID {
		return embed.ModelID{
			Provider: part.Draw(t, label+"provider"),
			Model:    part.Draw(t, label+"model"),
			Revision: part.Draw(t, label+"revision"),
			Dim:      rapid.IntRange(1, 3).Draw(t, label+"dim"),
			Prep:     part.Draw(t, label+"prep"),
		}
	}

	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if (a == b) != (a.Key() == b.Key()) {
			t.Fatalf("%#v and %#v have keys %q and %q", a, b, a.Key(), b.Key())
		}

		if strings.ContainsAny(a.Key(), " \t\n") {
			t.Fatalf("key %q has a space", a.Key())
		}
	})
}

func TestKindString(t *testing.T) {
	t.Parallel()

	for kind, want := range map[embed.Kind]string{embed.Document: "document", embed.Query: "query", 7: "kind(7)"} {
		if got := kind.String(); got != want {
			t.Errorf("String of %d = %q, want %q", kind, got, want)
		}
	}
}
