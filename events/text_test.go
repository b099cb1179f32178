package events_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

func TestEpisodeSearchText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content events.EpisodeContent
		want    string
	}{
		"text only": {events.EpisodeContent{Text: "hello"}, "hello"},
		"one actor": {events.EpisodeContent{Text: "hello", Actors: []events.Actor{{ID: "ann", Role: "user"}}}, "ann: hello"},
		"all": {events.EpisodeContent{
			Text: "hello", Action: "greet", Outcome: "greeted",
			Actors: []events.Actor{{ID: "ann"}, {ID: "bob"}},
		}, "ann, bob: hello\ngreet\ngreeted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.content.SearchText(); got != tt.want {
				t.Fatalf("SearchText = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFactSearchText(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"Paris"`: "lives in town Paris",
		`7`:       "lives in town 7",
		`true`:    "lives in town true",
		`null`:    "lives in town",
		``:        "lives in town",
		`{"city":"Paris","zip":[75001,"x"],"at":{"floor":2}}`: "lives in town Paris 75001 x 2",
		`{"city":`: "lives in town",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			c := events.FactContent{Predicate: "lives_in-town", Value: jsontext.Value(value)}
			if got := c.SearchText(); got != want {
				t.Fatalf("SearchText = %q, want %q", got, want)
			}
		})
	}
}
