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
