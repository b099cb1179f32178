package events_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

func TestFreeText(t *testing.T) {
	t.Parallel()
	episode := events.EpisodeContent{
		Text: "It rains.", Outcome: "wet", Metadata: map[string]jsontext.Value{
			"b": jsontext.Value(`"caf\u00e9"`), "a": jsontext.Value(`7`),
		},
	}
	if got, want := episode.FreeText(), "It rains.\n\nwet\na\n7\n\nb\ncafé\n"; got != want {
		t.Errorf("episode: %q, want %q", got, want)
	}
	fact := events.FactContent{Predicate: "likes", Value: jsontext.Value(`{"t\u0065a":["green",true,null]}`)}
	if got, want := fact.FreeText(), "likes\ntea\ngreen\n"; got != want {
		t.Errorf("fact: %q, want %q", got, want)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	episode := events.EpisodeContent{
		Subject: "maria", Session: "s1", Category: "health", Actors: []events.Actor{{ID: "ada", Role: "nurse"}},
		Source: events.Source{Kind: "chat", Ref: "m1", Revision: "2"}, Entities: []string{"ward", "bed"},
	}
	if got, want := episode.Names(), "maria\ns1\nhealth\nada\nnurse\nchat\nm1\n2\nward\nbed"; got != want {
		t.Errorf("episode: %q, want %q", got, want)
	}
	fact := events.FactContent{
		Subject: "maria", Category: "health", Scope: "at work", Provenance: []events.Source{{Kind: "mail", Ref: "m2"}},
	}
	if got, want := fact.Names(), "maria\nhealth\nat work\nmail\nm2\n"; got != want {
		t.Errorf("fact: %q, want %q", got, want)
	}
}
