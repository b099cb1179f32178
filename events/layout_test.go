package events_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const module = "github.com/annals-memory/annals"

// edges says which of our folders may link which. Nothing imports cmd, and
// internal holds what several folders test with.
func edges() map[string][]string {
	return map[string][]string{
		"events":     {"events"},
		"tombstones": {"events", "tombstones"},
		"producers":  {"events", "tombstones", "producers"},
		"projectors": {"events", "tombstones", "projectors"},
		"query":      {"events", "tombstones", "projectors", "query"},
		"cmd":        {"events", "tombstones", "producers", "projectors", "query", "cmd"},
		"internal":   {"events", "tombstones", "producers", "projectors", "query", "internal"},
	}
}

// fences says below which of our packages a foreign library may be imported.
func fences() map[string][]string {
	return map[string][]string{
		"github.com/nats-io":              {"events/natslog", "cmd"},
		"github.com/synadia-io":           {"events/natslog", "cmd"},
		"github.com/cockroachdb":          {"projectors", "cmd"},
		"github.com/qdrant":               {"projectors", "cmd"},
		"github.com/danielgtaylor/huma":   {"cmd"},
		"github.com/modelcontextprotocol": {"cmd"},
		"github.com/alecthomas/kong":      {"cmd"},
		"github.com/prometheus":           {"cmd"},
		"go.opentelemetry.io":             {"cmd"},
		"go.yaml.in/yaml":                 {"tombstones/retention", "producers"},
		"cel.dev/cel-go":                  {"producers"},
		"github.com/google/cel-go":        {"producers"},
	}
}

// forTests are the libraries that only tests and their helpers use.
func forTests() []string {
	return []string{"pgregory.net/rapid", "github.com/google/go-cmp", "go.uber.org/goleak", "github.com/rogpeppe/go-internal/testscript"}
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath   string
	Name         string
	Doc          string
	Imports      []string
	Deps         []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
}

// path is the package's folder below the module's.
func (p listed) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// helper reports whether the package is there for tests only: it is named
// after what it tests.
func (p listed) helper() bool { return strings.HasSuffix(p.Name, "test") }

// below reports whether a path is root or in it.
func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// top is the first folder of a path.
func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

func packages(t *testing.T) []listed {
	t.Helper()
	touchSources(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", // what does not build is for the compiler to say
		"-json=ImportPath,Name,Doc,Imports,Deps,TestImports,XTestImports,GoFiles", "./...")
	cmd.Dir = ".."
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var list []listed
	for dec := jsontext.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			if dec.PeekKind() == 0 && len(list) > 0 {
				break
			}
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// touchSources looks at every source file, so that a change in any of them
// makes go test run these tests again rather than repeat the last result.
func touchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a file of somebody who is working just now
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			_, err = os.Stat(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// linksWrongly are our packages that link one of ours which they must not.
func linksWrongly(list []listed) []string {
	var out []string
	for _, p := range list {
		allowed, ok := edges()[top(p.path())]
		if !ok {
			out = append(out, p.path()+" is in no folder of the layout")
		}
		if top(p.path()) == "internal" && !p.helper() {
			out = append(out, p.path()+" is not for tests")
		}
		for _, dep := range p.Deps {
			if rest, ours := strings.CutPrefix(dep, module+"/"); ours && !slices.Contains(allowed, top(rest)) {
				out = append(out, p.path()+" links "+rest)
			}
		}
	}
	return out
}

// breaksFences are our packages that import a foreign library, in their tests
// too, which another folder is to hide.
func breaksFences(list []listed) []string {
	var out []string
	for _, p := range list {
		for lib, inside := range fences() {
			if slices.ContainsFunc(inside, func(root string) bool { return below(p.path(), root) }) {
				continue
			}
			for _, imported := range slices.Concat(p.Imports, foreignInTests(p)) {
				if below(imported, lib) {
					out = append(out, p.path()+" imports "+imported)
				}
			}
		}
	}
	return out
}

// foreignInTests are the imports of the package's tests that its fences hold
// back. A test may put the file system that loses what was not synced under
// the stores, and looks into none of them by that.
func foreignInTests(p listed) []string {
	return slices.DeleteFunc(slices.Concat(p.TestImports, p.XTestImports), func(imported string) bool {
		return imported == "github.com/cockroachdb/pebble/v2/vfs"
	})
}

// linksDatabases says what else package events links than its JSON codec: who
// reads the log with a program of their own needs no more.
func linksDatabases(list []listed) []string {
	var out []string
	for _, p := range list {
		for _, dep := range p.Deps {
			if p.path() == "events" && strings.Contains(top(dep), ".") && !below(dep, "github.com/go-json-experiment/json") {
				out = append(out, "events links "+dep)
			}
		}
	}
	return out
}

// linksTests are the packages that would bring test code into a binary.
func linksTests(list []listed) []string {
	helpers := forTests()
	for _, p := range list {
		if p.helper() {
			helpers = append(helpers, p.ImportPath)
		}
	}
	var out []string
	for _, p := range list {
		if p.helper() {
			continue
		}
		if slices.Contains(p.Imports, "testing") {
			out = append(out, p.path()+" imports testing")
		}
		for _, dep := range p.Deps {
			if slices.ContainsFunc(helpers, func(helper string) bool { return below(dep, helper) }) {
				out = append(out, p.path()+" links "+strings.TrimPrefix(dep, module+"/"))
			}
		}
	}
	return out
}

// unexplained are the packages without a package comment, or with a name that
// says nothing.
func unexplained(list []listed) []string {
	empty := []string{"util", "utils", "common", "types", "models", "model", "helpers", "misc", "shared", "base"}
	var out []string
	for _, p := range list {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(p.Doc, want) {
			out = append(out, p.path()+" has no comment that begins with "+want)
		}
		if slices.Contains(empty, p.Name) {
			out = append(out, p.path()+" has a name that says nothing")
		}
	}
	return out
}

func TestLayout(t *testing.T) {
	t.Parallel()
	list := packages(t)
	if !slices.ContainsFunc(list, func(p listed) bool { return p.path() == "events" }) {
		t.Fatal("go list did not list this very package, so it listed something else")
	}
	for name, wrong := range rules() {
		for _, finding := range wrong(list) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

func rules() map[string]func([]listed) []string {
	return map[string]func([]listed) []string{
		"direction": linksWrongly, "fences": breaksFences, "weight": linksDatabases,
		"test code": linksTests, "package comments": unexplained,
	}
}

// TestLayoutIsNoticed plants one breach of each rule, since a rule that finds
// nothing looks like one that is kept.
func TestLayoutIsNoticed(t *testing.T) {
	t.Parallel()
	pkg := func(path string, edit func(*listed)) listed {
		name := filepath.Base(path)
		p := listed{ImportPath: module + "/" + path, Name: name, Doc: "Package " + name + " is.", GoFiles: []string{"doc.go"}}
		edit(&p)
		return p
	}
	links := func(deps ...string) func(*listed) { return func(p *listed) { p.Deps = deps } }
	imports := func(deps ...string) func(*listed) { return func(p *listed) { p.Imports = deps } }
	for _, test := range []struct {
		rule string
		pkg  listed
		want string // nothing if the package keeps the rule
	}{
		{"direction", pkg("producers", links(module+"/projectors/fold")), "producers links projectors/fold"},
		{"direction", pkg("projectors/index", links(module+"/producers")), "projectors/index links producers"},
		{"direction", pkg("events/seal", links(module+"/tombstones")), "events/seal links tombstones"},
		{"direction", pkg("query", links(module+"/cmd/annals")), "query links cmd/annals"},
		{"direction", pkg("lib", links()), "lib is in no folder of the layout"},
		{"direction", pkg("internal/node", links()), "internal/node is not for tests"},
		{"direction", pkg("internal/nodetest", links(module+"/cmd/annals")), "internal/nodetest links cmd/annals"},
		{"direction", pkg("internal/nodetest", links(module+"/producers", module+"/query")), ""},
		{"direction", pkg("query", links(module+"/internal/nodetest")), "query links internal/nodetest"},
		{"direction", pkg("query", links(module+"/projectors", module+"/events", "fmt")), ""},
		{"fences", pkg("events", imports("github.com/nats-io/nats.go")), "events imports github.com/nats-io/nats.go"},
		{"fences", pkg("events/natslogger", imports("github.com/nats-io/nats.go")), "events/natslogger imports github.com/nats-io/nats.go"},
		{"fences", pkg("query", func(p *listed) { p.XTestImports = []string{"github.com/cockroachdb/pebble/v2"} }), "query imports github.com/cockroachdb/pebble/v2"},
		{"fences", pkg("query", imports("github.com/cockroachdb/pebble/v2/vfs")), "query imports github.com/cockroachdb/pebble/v2/vfs"},
		{"fences", pkg("query", func(p *listed) { p.TestImports = []string{"github.com/cockroachdb/pebble/v2/vfs"} }), ""},
		{"fences", pkg("query", func(p *listed) { p.XTestImports = []string{"github.com/cockroachdb/pebble/v2/vfs"} }), ""},
		{"fences", pkg("events/natslog", imports("github.com/nats-io/nats.go")), ""},
		{"weight", pkg("events", links("github.com/google/uuid")), "events links github.com/google/uuid"},
		{"weight", pkg("events", links("github.com/go-json-experiment/json/jsontext", "strings")), ""},
		{"test code", pkg("cmd/annals", links("pgregory.net/rapid")), "cmd/annals links pgregory.net/rapid"},
		{"test code", pkg("cmd/annals", links(module+"/events/eventstest")), "cmd/annals links events/eventstest"},
		{"test code", pkg("query", imports("testing")), "query imports testing"},
		{"test code", pkg("events/logtest", links(module+"/events/eventstest", "testing")), ""},
		{"package comments", pkg("query", func(p *listed) { p.Doc = "Stuff." }), "query has no comment that begins with Package query "},
		{"package comments", pkg("events/util", func(*listed) {}), "events/util has a name that says nothing"},
		{"package comments", pkg("cmd/annals", func(p *listed) { p.Name, p.Doc = "main", "Command annals is." }), ""},
	} {
		list := []listed{pkg("events/eventstest", func(*listed) {}), test.pkg}
		if got := strings.Join(rules()[test.rule](list), "; "); got != test.want {
			t.Errorf("%s of %s: found %q, want %q", test.rule, test.pkg.path(), got, test.want)
		}
	}
}

func TestNoPackageAtTheRoot(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 0 {
		t.Errorf("the root holds %v", files)
	}
	if _, err := os.Stat("../go.mod"); err != nil {
		t.Errorf("and the root is not where it is looked for: %v", err)
	}
}
