package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

// frozen explains why there is no flag that would make a failure go away.
const frozen = `a type that was written once keeps its shape for ever, since the log keeps what was written.
Give the new shape a new version: a new constant in event.go, the old struct and a step in upcast.go, the old type
in OldTypes, and -update for the files of the new one. Only a type that no release has written may change in place:
delete its file and run with -update.`

// goTypes are the Go types of the data of every version ever written.
func goTypes() map[string]reflect.Type {
	out := events.OldTypes()
	for _, typ := range eventstest.Types() {
		out[typ] = reflect.TypeOf(eventstest.Sample(typ))
	}
	return out
}

func enum[S ~string](values ...S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// infer is the schema of a type as it is written, in bytes.
func infer(typ string, goType reflect.Type) ([]byte, error) {
	trust := &jsonschema.Schema{Type: "string"}
	for v := events.TrustExternal; v <= events.TrustSystem; v++ {
		trust.Enum = append(trust.Enum, v.String())
	}
	s, err := jsonschema.ForType(goType, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[events.Trust](): trust,
		reflect.TypeFor[events.Decision](): enum(events.DecisionPromote, events.DecisionReview,
			events.DecisionQuarantine, events.DecisionReject),
		reflect.TypeFor[events.Judgement](): enum(events.JudgedUseful, events.JudgedIrrelevant,
			events.JudgedStale, events.JudgedWrong),
		reflect.TypeFor[events.Verdict](): enum(events.VerdictApprove, events.VerdictReject, events.VerdictEdit),
		reflect.TypeFor[time.Time]():      {Type: "string", Format: "date-time"},
		reflect.TypeFor[[]byte]():         {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		return nil, err
	}
	noNull(s)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = typ
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}

// noNull takes null from the types of lists: the codec writes an empty one as
// [], never as null.
func noNull(s *jsonschema.Schema) {
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	for _, p := range s.Properties {
		noNull(p)
	}
	if s.Items != nil {
		noNull(s.Items)
	}
}

func schemaPath(typ string) string { return filepath.Join("testdata", "schema", typ+".json") }

func TestSchemas(t *testing.T) {
	t.Parallel()
	types := goTypes()
	for typ, goType := range types {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			got, err := infer(typ, goType)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(schemaPath(typ))
			if errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("%s has no schema; run: go test ./events -update", typ)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the schema of %s has changed: %s\nit is now\n%s", typ, frozen, got)
			}
		})
	}
	t.Run("no others", func(t *testing.T) {
		t.Parallel()
		files, err := filepath.Glob(schemaPath("*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if typ := strings.TrimSuffix(filepath.Base(file), ".json"); types[typ] == nil {
				t.Errorf("%s is the schema of no type that can be read: a version that was written is read for ever", file)
			}
		}
	})
}

// resolved reads a golden schema.
func resolved(t *testing.T, typ string) *jsonschema.Resolved {
	t.Helper()
	data, err := os.ReadFile(schemaPath(typ))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written is the data of the first event of a message, as any reader of JSON
// sees it.
func written(data []byte) (map[string]any, error) {
	var body struct {
		Events []struct {
			Data map[string]any `json:"data"`
		} `json:"events"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, err
	}
	return body.Events[0].Data, nil
}

// TestSchemasDescribeWhatIsWritten holds the schemas against the bytes, since
// they were inferred from the Go types by rules that need not be the codec's.
func TestSchemasDescribeWhatIsWritten(t *testing.T) {
	t.Parallel()
	for _, typ := range eventstest.Types() {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			schema := resolved(t, typ)
			rapid.Check(t, func(t *rapid.T) {
				m, err := events.Encode(eventstest.CommitOf(t, eventstest.EventOf(t, typ)))
				if err != nil {
					t.Fatal(err)
				}
				data, err := written(m.Data)
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(data); err != nil {
					t.Fatalf("%s\ndoes not fit the schema: %v", m.Data, err)
				}
				more := maps.Clone(data)
				more["mood"] = "good"
				if schema.Validate(more) == nil {
					t.Fatal("the schema allows a field that the codec refuses")
				}
			})
		})
	}
}
