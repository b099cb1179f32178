package events_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

// update writes the schemas and recorded events of types that have none. It
// never changes a file that is there: a released type does not change.
var update = flag.Bool("update", false, "write the test data of new event types; existing files stay as they are")

func TestMain(m *testing.M) {
	flag.Parse()
	if *update {
		if err := writeTestdata(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func writeTestdata() error {
	for typ, goType := range goTypes() {
		schema, err := infer(typ, goType)
		if err != nil {
			return err
		}
		if err := writeNew(schemaPath(typ), schema); err != nil {
			return err
		}
	}
	for _, typ := range eventstest.Types() {
		recorded, err := record(typ)
		if err != nil {
			return err
		}
		if err := writeNew(filepath.Join("testdata", "recorded", typ+".full.json"), recorded); err != nil {
			return err
		}
	}
	return nil
}

// record is the sample of a type, written the way recordedFile says.
func record(typ string) ([]byte, error) {
	kind, id := events.Kind(strings.Split(typ, ".")[1]), "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a01"
	if kind == events.KindVector || kind == events.KindTrace || kind == events.KindSuppression {
		id = events.SharedID
	}
	c := eventstest.NewCommit(kind, id, eventstest.Sample(typ))
	c.ID, c.Principal = "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0aff", "obzgs3tdnfygc3bnmfwgc3tome"
	c.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	m, err := events.Encode(c)
	if err != nil {
		return nil, err
	}
	header, err := json.Marshal(map[string]string{
		"ce-id": m.Header.ID, "ce-type": events.CommitType, "ce-source": "annals",
		"ce-specversion": events.SpecVersion, "ce-time": m.Header.Time.Format(time.RFC3339Nano),
		"annals-events": strings.Join(m.Header.Types, ","), "content-type": "application/json",
		"annals-principal": m.Header.Principal, "traceparent": m.Header.TraceParent,
	}, json.Deterministic(true), jsontext.WithIndentPrefix("  "), jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\n  \"subject\": %q,\n  \"header\": %s,\n  \"body\": %s\n}\n", m.Subject, header, m.Data), nil
}

// writeNew writes a file that is not there yet.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
