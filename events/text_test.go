package events_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

func TestEpisodeSearchText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content events.EpisodeContent
		want    string
	}{
		"text only": {events.EpisodeContent{Text: "It rains."}, "It rains."},
		"all of it": {
			events.EpisodeContent{
				Text: "It rains.", Action: "opened the window", Outcome: "wet floor",
				Actors: []events.Actor{{ID: "Ada", Role: "user"}, {ID: "Bob", Role: "agent"}},
			},
			"Ada, Bob: It rains.\nopened the window\nwet floor",
		},
		"no action": {events.EpisodeContent{Text: "It rains.", Outcome: "wet floor"}, "It rains.\nwet floor"},
		"what is not searched": {
			events.EpisodeContent{
				Text: "It rains.", Subject: canary, Session: canary, Category: canary, Entities: []string{canary},
				Source: events.Source{Kind: canary, Ref: canary}, Metadata: map[string]jsontext.Value{canary: jsontext.Value(`1`)},
			},
			"It rains.",
		},
	} {
		if got := test.content.SearchText(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestFactSearchText(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"Lisbon"`:                      "home town Lisbon",
		`" \u00e9t\u00e9 "`:             "home town  été ",
		`42`:                            "home town 42",
		`-1.50e+3`:                      "home town -1.50e+3",
		`true`:                          "home town true",
		`false`:                         "home town false",
		`null`:                          "home town",
		`""`:                            "home town",
		`{}`:                            "home town",
		`[]`:                            "home town",
		`["a",["b",2],{"k":"c"}]`:       "home town a b 2 c",
		`{"city":"Lisbon","since":1}`:   "home town Lisbon 1",
		`{"k":{"k2":"v","k3":["w"]}}`:   "home town v w",
		`{"a":"1","b":{"c":2},"d":"3"}`: "home town 1 2 3",
		``:                              "home town",
		`{"city":"Lisbon"`:              "home town", // no JSON adds nothing
		`Lisbon`:                        "home town",
	} {
		c := events.FactContent{Predicate: "home_town", Value: jsontext.Value(value), Subject: canary, Category: canary}
		if got := c.SearchText(); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func FuzzFactSearchText(f *testing.F) {
	for _, s := range []string{`{"a":["b",1,true,null,{"c":"d"}]}`, `"\ud800"`, `[[[[`, "\xff", `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := events.FactContent{Predicate: "p", Value: jsontext.Value(value)}.SearchText()
		if !utf8.ValidString(got) {
			t.Fatalf("%q gives text that is no UTF-8: %q", value, got)
		}
		if got != "p" && !strings.HasPrefix(got, "p ") {
			t.Fatalf("%q gives %q", value, got)
		}
		if got != "p" && !jsontext.Value(value).IsValid() {
			// A row of values is read as one after the other.
			d := jsontext.NewDecoder(strings.NewReader(value))
			for d.PeekKind() > 0 {
				if _, err := d.ReadValue(); err != nil {
					t.Fatalf("%q is no JSON and gives %q", value, got)
				}
			}
		}
	})
}
