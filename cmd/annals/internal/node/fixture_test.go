package node_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
)

// fixture is a whole node on a directory of its own, with a way to call its
// door and see the bytes.
type fixture struct {
	*node.Node

	t       *testing.T
	dir     string
	options node.Options
	stop    func() error
}

func open(t *testing.T) *fixture {
	t.Helper()
	return openWith(t, node.Options{Durability: "process"})
}

// openWith opens a node on a directory of its own.
func openWith(t *testing.T, o node.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir()}
	o.Data = f.dir
	if o.Model == nil && o.EmbedURL == "" {
		o.Model = model(t)
	}
	f.options = o
	f.start()
	t.Cleanup(func() {
		if f.Node != nil {
			f.close()
		}
	})
	return f
}

func (f *fixture) start() {
	f.t.Helper()
	n, err := node.Open(context.Background(), f.options)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Node, f.stop = n, n.Start(context.Background())
}

func (f *fixture) close() {
	f.t.Helper()
	if err := f.stop(); err != nil {
		f.t.Error(err)
	}
	if err := f.Close(); err != nil {
		f.t.Error(err)
	}
	f.Node = nil
}

func (f *fixture) settle() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	if err := f.Settle(ctx); err != nil {
		f.t.Fatal(err)
	}
}

// head is the position of the last message of the log.
func (f *fixture) head() uint64 {
	f.t.Helper()
	s, err := f.Log().State(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return s.Last
}

// token is a credential of a tenant, by default with every role.
func (f *fixture) token(tenant string, roles ...events.Role) string {
	f.t.Helper()
	return f.tokenOf(events.Caller{Tenant: tenant, Principal: "p", Roles: roles, Trust: events.TrustUser})
}

func (f *fixture) tokenOf(c events.Caller) string {
	f.t.Helper()
	if len(c.Roles) == 0 {
		c.Roles = auth.Roles()
	}
	a, err := node.OpenAuthority(f.dir, time.Now)
	if err != nil {
		f.t.Fatal(err)
	}
	token, err := a.Issue(c, time.Hour)
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	body   []byte
}

// call makes a request of any shape.
func (f *fixture) call(token, method, path string, body []byte, header ...string) answer {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, path, bytes.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	b, err := io.ReadAll(w.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{f.t, w.Code, b}
}

// do makes a request with a body that is encoded, and expects a status.
func (f *fixture) do(token, method, path string, body any, want int, header ...string) answer {
	f.t.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			f.t.Fatal(err)
		}
	}
	a := f.call(token, method, path, b, header...)
	if a.status != want {
		f.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.status, want, a.body)
	}
	return a
}

// get decodes one member of the answer.
func get[T any](a answer, name string) T {
	a.t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal(a.body, &m); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	v, ok := m[name].(T)
	if !ok {
		a.t.Fatalf("%q is %T, not %T: %s", name, m[name], v, a.body)
	}
	return v
}

type obj = map[string]any

func (f *fixture) capture(token, subject, text string, more ...any) string {
	f.t.Helper()
	body := obj{"subject": subject, "text": text, "source": obj{"kind": "chat", "ref": "r"}}
	for i := 0; i+1 < len(more); i += 2 {
		name, ok := more[i].(string)
		if !ok {
			f.t.Fatalf("argument %d is no name", i)
		}
		body[name] = more[i+1]
	}
	return get[string](f.do(token, http.MethodPost, "/v1/episodes", body, http.StatusCreated), "id")
}

// proposal is a body that the default policy promotes.
func proposal(subject, predicate string, value any, source string) obj {
	return obj{
		"subject": subject, "predicate": predicate, "value": value, "category": "general", "confidence": 0.99,
		"observed_at": "2026-01-02T03:04:05Z", "source_episodes": []string{source},
	}
}

func with(body obj, name string, value any) obj {
	out := obj{}
	maps.Copy(out, body)
	out[name] = value
	return out
}
