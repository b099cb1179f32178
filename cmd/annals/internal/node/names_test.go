package node_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/tombstones"
)

// hostile are names that a path can trip over.
func hostile() []string {
	return []string{
		"/", "//", "a/b", "/a", "a/", ".", "..", "../x", "./", "...", "%", "%2F", "%2f..", "a%2Fb", "100%", "?", "a?b=c", "#", "a#b", "a b",
		"+", ";", "a;b", "&=", `\`, "é", "日本", "~", ":", "@", "forget", "holds", "{subject}", "a\u00a0b", "\u202e", "'\"<>", "_", "-",
	}
}

// segment is a name as one segment of a path.
func segment(name string) string {
	return strings.ReplaceAll(url.PathEscape(name), ".", "%2E")
}

// Every route with a name in its path is reached with any name there is: it answers
// itself, and not the router.
func TestEveryRouteTakesAnyName(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.LocalToken()
	server := httptest.NewServer(f.Handler())
	defer server.Close()
	param := regexp.MustCompile(`\{[a-z]+\}`)
	routes := 0
	for _, r := range f.Routes() {
		if !param.MatchString(r.Path) {
			continue
		}
		routes++
		for _, name := range hostile() {
			path := param.ReplaceAllLiteralString(r.Path, segment(name))
			for _, by := range []string{"in process", "over the network"} {
				var status int
				var code string
				if by == "in process" {
					a := f.call(token, r.Method, path, []byte("{}"))
					if status = a.status; status >= 400 {
						code = get[string](a, "code")
					}
				} else {
					status, code = fetch(t, server.URL+path, r.Method, token)
				}
				if status/100 == 3 || status == http.StatusMethodNotAllowed || code == "no_such_path" || code == "internal" || status == http.StatusBadRequest && code == "" {
					t.Errorf("%s %s with %q, %s: %d %s", r.Method, r.Path, name, by, status, code)
				}
			}
		}
	}
	if routes < 10 {
		t.Fatalf("only %d routes with a name were seen", routes)
	}
	if a := f.call(token, http.MethodGet, "/v1/subjects/a/b/c/export", nil); a.status != http.StatusNotFound || get[string](a, "code") != "no_such_path" {
		t.Errorf("control: %d %s", a.status, a.body)
	}
}

// fetch makes a call over the network and returns its status, and its code if it
// failed.
func fetch(t *testing.T, address, method, token string) (status int, code string) {
	t.Helper()
	var body io.Reader
	if method != http.MethodGet {
		body = strings.NewReader("{}")
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 400 {
		code = get[string](answer{t, res.StatusCode, b.Bytes()}, "code")
	}
	return res.StatusCode, code
}

// A subject of any name can be held, exported, asked about and forgotten, and nothing
// else goes with it.
func TestSubjectsOfAnyName(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	for _, name := range hostile() {
		f.capture(token, name, "known by any name")
	}
	f.settle()
	alive := func(name string) bool {
		t.Helper()
		a := f.do(token, http.MethodGet, "/v1/episodes?subject="+url.QueryEscape(name), nil, http.StatusOK)
		return len(get[[]any](a, "episodes")) == 1
	}
	for i, name := range hostile() {
		at := "/v1/subjects/" + segment(name)
		hold := at + "/holds/" + segment(name)
		f.do(token, http.MethodPut, hold, obj{}, http.StatusOK)
		if alive(name) {
			t.Errorf("%q is shown though it is held", name)
		}
		if held := get[bool](f.do(token, http.MethodDelete, hold, nil, http.StatusOK), "held"); held || !alive(name) {
			t.Errorf("the hold on %q is not lifted", name)
		}
		f.do(token, http.MethodPut, at+"/consents/"+segment(name), obj{"granted": true}, http.StatusOK)
		if a := f.do(token, http.MethodGet, at+"/export", nil, http.StatusOK); !bytes.Contains(a.body, []byte("known by any name")) {
			t.Errorf("the export of %q: %s", name, a.body)
		}
		c := client.InProcess(f.Handler(), token)
		var out tombstones.Erasure
		if err := c.Do(t.Context(), client.Call{Method: http.MethodPost, Path: at + "/forget", Body: obj{}, Out: &out}); err != nil || out.Matched != 1 {
			t.Errorf("forget %q: %+v, %v", name, out, err)
		}
		if alive(name) {
			t.Errorf("%q is still there", name)
		}
		rest := hostile()[i+1:]
		for _, other := range rest[:min(3, len(rest))] {
			if !alive(other) {
				t.Fatalf("%q went with %q", other, name)
			}
		}
	}
}
