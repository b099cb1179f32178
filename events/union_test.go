package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

// source is what the package's own files declare.
type source struct {
	members []string // the receivers of isEvent
	types   []string // the values of constants that name an event type
}

// readSource parses the files of package events, so that the tests below see
// a type that nobody told them about.
func readSource(t *testing.T) source {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^annals\.[a-z]+\.[a-z_]+\.v[0-9]+$`)
	var out source
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "isEvent" && n.Type.Params.NumFields() == 0 {
					if id, ok := n.Recv.List[0].Type.(*ast.Ident); ok {
						out.members = append(out.members, id.Name)
					}
				}
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && name.MatchString(s) {
					out.types = append(out.types, s)
				}
			}
			return true
		})
	}
	slices.Sort(out.members)
	slices.Sort(out.types)
	out.types = slices.Compact(out.types)
	return out
}

func TestUnionIsComplete(t *testing.T) {
	t.Parallel()
	src := readSource(t)
	if len(src.members) < 17 {
		t.Fatalf("found %d members of the union, so the parsing is at fault", len(src.members))
	}

	var members, types []string
	for _, typ := range eventstest.Types() {
		sample := eventstest.Sample(typ)
		if sample == nil {
			t.Errorf("eventstest.Sample knows no %s", typ)
			continue
		}
		if got := events.TypeOf(sample); got != typ {
			t.Errorf("the sample of %s is a %s", typ, got)
		}
		members = append(members, reflect.TypeOf(sample).Name())
		types = append(types, typ)
	}
	for typ := range events.OldTypes() {
		types = append(types, typ)
	}
	slices.Sort(members)
	slices.Sort(types)
	if diff := cmp.Diff(src.members, members); diff != "" {
		t.Errorf("types of the union without a sample in eventstest (-source +eventstest):\n%s", diff)
	}
	if diff := cmp.Diff(src.types, types); diff != "" {
		t.Errorf("type names without a current or old type (-source +known):\n%s", diff)
	}
}

func TestNotInTheUnion(t *testing.T) {
	t.Parallel()
	// Compare with an event, so that the assertion is known to be able to hold.
	if _, ok := any(events.FactProposed{}).(events.Event); !ok {
		t.Error("FactProposed is not an event")
	}
	if _, ok := any(events.SlotFact{}).(events.Event); ok {
		t.Error("SlotFact is an event")
	}
	if _, ok := any(&events.SlotFact{}).(events.Event); ok {
		t.Error("*SlotFact is an event")
	}
}
