package events_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
)

// recordedFile is a message as it was on the wire. The body stands on a line
// of its own, byte for byte.
type recordedFile struct {
	Subject string            `json:"subject"`
	Header  map[string]string `json:"header"`
	Body    jsontext.Value    `json:"body"`
}

// message reads the headers as an adapter does.
func (f recordedFile) message(t *testing.T) events.Message {
	t.Helper()
	for name, want := range map[string]string{
		"ce-type": events.CommitType, "ce-specversion": events.SpecVersion, "ce-source": "annals",
		"content-type": "application/json",
	} {
		if f.Header[name] != want {
			t.Errorf("header %s is %q, want %q", name, f.Header[name], want)
		}
	}
	at, err := time.Parse(time.RFC3339Nano, f.Header["ce-time"])
	if err != nil {
		t.Fatal(err)
	}
	return events.Message{
		Subject: f.Subject,
		Header: events.Header{
			ID: f.Header["ce-id"], Time: at, Principal: f.Header["annals-principal"],
			TraceParent: f.Header["traceparent"], Types: strings.Split(f.Header["annals-events"], ","),
		},
		Data: f.Body,
	}
}

func readRecorded(t *testing.T, path string) recordedFile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f recordedFile
	if err := json.Unmarshal(data, &f, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	return f
}

func recordedPaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "recorded", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// recordedType is the type in the name <type>.<case>.json.
func recordedType(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	return name[:strings.LastIndexByte(name, '.')]
}

func TestEveryTypeIsRecorded(t *testing.T) {
	t.Parallel()
	var have []string
	for _, path := range recordedPaths(t) {
		have = append(have, recordedType(path))
	}
	for typ := range goTypes() {
		if !slices.Contains(have, typ) {
			t.Errorf("%s has no recorded event; run: go test ./events -update", typ)
		}
		if _, err := os.Stat(schemaPath(typ)); err != nil {
			t.Errorf("%s has no schema: %v", typ, err)
		}
	}
	for _, typ := range have {
		if goTypes()[typ] == nil {
			t.Errorf("there is a recorded %s, which no code reads", typ)
		}
	}
}

func TestRecordedDecodeForEver(t *testing.T) {
	t.Parallel()
	for _, path := range recordedPaths(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			typ := recordedType(path)
			m := readRecorded(t, path).message(t)
			if !slices.Contains(m.Header.Types, typ) {
				t.Fatalf("the file holds %v", m.Header.Types)
			}
			data, err := written(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if err := resolved(t, typ).Validate(data); err != nil {
				t.Errorf("does not fit the schema: %v", err)
			}
			got, err := events.Decode(m)
			if err != nil {
				t.Fatalf("what was written once can no longer be read: %v", err)
			}
			again, err := events.Encode(got.Commit)
			if err != nil {
				t.Fatal(err)
			}
			if _, old := events.OldTypes()[typ]; !old && !bytes.Equal(again.Data, m.Data) {
				t.Errorf("the same event is now written otherwise: %s\nwas %s\nis  %s", frozen, m.Data, again.Data)
			}
			twice, err := events.Decode(again)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, twice); diff != "" {
				t.Errorf("another event after writing it anew:\n%s", diff)
			}
		})
	}
}

func TestUpcastEpisodeCaptured(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]events.EpisodeCaptured{
		"full": {
			Subject: "mfrggzdfmztwq2lknnwg23tpoa", Class: "ge3tqnbrgq2dcmjqgy4dgmjzge",
			OccurredAt: time.Date(2026, 1, 1, 9, 30, 0, 0, time.UTC), Trust: events.TrustHuman,
			Session: "kn3xg3dpnzswk3tbnvsxezlbnq", Entities: []string{"mvxhi2lupfxw4zi"},
			Content: []byte("\x01sealed bytes of a record"),
		},
		"bare": {
			Subject: "mfrggzdfmztwq2lknnwg23tpoa", Class: "ge3tqnbrgq2dcmjqgy4dgmjzge",
			OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 123_456_000, time.UTC), OccurredUnknown: true,
			Trust: events.TrustAgent, Content: []byte("\x01sealed bytes of a record"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "recorded", "annals.episode.captured.v1."+name+".json")
			got, err := events.Decode(readRecorded(t, path).message(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]events.Event{want}, got.Events); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			m, err := events.Encode(got.Commit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{events.TypeEpisodeCaptured}, m.Header.Types); diff != "" {
				t.Errorf("written anew as (-want +got):\n%s", diff)
			}
		})
	}
}
