package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/events"
)

// requestTimeout bounds every call: an error, never a hang.
const requestTimeout = 30 * time.Second

// API is the HTTP door of one node.
type API struct {
	core   Config
	auth   *auth.Authority
	log    *slog.Logger
	now    func() time.Time
	ops    *operations
	routes []Route
	doc    []byte
}

// Route is one row of the table of everything that can be called.
type Route struct {
	Method, Path string
	Summary      string
	// Roles that may call it; empty for everyone, without a credential.
	Roles []events.Role
	// Status is that of success.
	Status int
	// Reads says that the route can return text of a memory.
	Reads bool
	// Recovery says that the route answers while the log is damaged.
	Recovery bool
	// limit bounds the call; 0 is requestTimeout.
	limit   time.Duration
	in, out reflect.Type
	query   reflect.Type // of a call with a body that takes parameters too; nil for none
	media   string       // of the answer; application/json if it is ""
	serve   func(http.ResponseWriter, *http.Request, events.Caller)
}

// Request is a decoded call.
type Request[In any] struct {
	Caller events.Caller
	// Key is the Idempotency-Key, "" if none was sent.
	Key string
	// In is the body, or the query parameters of a GET.
	In   In
	path func(string) string
}

// Path is a parameter in the path.
func (r Request[In]) Path(name string) string { return r.path(name) }

// None is the request or the answer of a call that has none.
type None struct{}

// add puts a call into the table.
func add[In, Out any](a *API, route Route, call func(context.Context, Request[In]) (Out, error)) {
	route.in, route.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	if route.Status == 0 {
		route.Status = http.StatusOK
	}
	route.serve = func(w http.ResponseWriter, r *http.Request, caller events.Caller) {
		req := Request[In]{Caller: caller, Key: r.Header.Get("Idempotency-Key"), path: func(name string) string { return pathValue(r, name) }}
		var err error
		switch {
		case route.Method == http.MethodGet:
			err = decodeQuery(r.URL.Query(), &req.In)
		case len(r.URL.RawQuery) > 0:
			err = decodeQuery(r.URL.Query(), &None{})
		}
		if err == nil && route.Method != http.MethodGet {
			err = decodeBody(w, r, &req.In)
		}
		if err == nil {
			err = checkKey(r.Header.Values("Idempotency-Key"))
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		out, err := call(r.Context(), req)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		write(w, route.Status, "application/json", out)
	}
	a.routes = append(a.routes, route)
}

// Routes is the table, for tests that must not miss a path.
func (a *API) Routes() []Route { return slices.Clone(a.routes) }

// Handler serves the table.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range a.routes {
		mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, route) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = routable(r)
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		// What the mux says of a path or method that it does not know, as a
		// problem.
		p := problem(http.StatusNotFound, "no_such_path", "there is no such path")
		said := &discard{header: http.Header{}}
		h.ServeHTTP(said, r)
		if said.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", said.header.Get("Allow"))
			p = problem(said.status, "method_not_allowed", "this path does not take this method")
		}
		write(w, p.Status, "application/problem+json", p)
	})
}

// discard keeps the status and the headers of a response.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

func (a *API) serve(w http.ResponseWriter, r *http.Request, route Route) {
	start, asked := a.now(), r.Context()
	rec := &recorder{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			// The panic's value may hold anything, so only its type is logged.
			a.log.LogAttrs(asked, slog.LevelError, "request panicked",
				slog.String("route", r.Pattern), slog.String("panic", reflect.TypeOf(p).String()))
			if rec.status == 0 {
				write(rec, http.StatusInternalServerError, "application/problem+json",
					problem(http.StatusInternalServerError, "internal", "something is wrong on this side"))
			}
		}
		// The pattern, not the path: a path can hold a subject's name.
		a.log.LogAttrs(asked, slog.LevelDebug, "request", slog.String("route", r.Pattern),
			slog.Int("status", rec.status), slog.Duration("elapsed", a.now().Sub(start)))
	}()
	ctx, cancel := context.WithTimeout(asked, cmp.Or(route.limit, requestTimeout))
	defer cancel()
	r = r.WithContext(ctx)
	var caller events.Caller
	if len(route.Roles) > 0 {
		var err error
		if caller, err = a.auth.Verify(bearer(r)); err != nil {
			a.fail(rec, r, err)
			return
		}
		if !caller.Has(route.Roles...) {
			a.fail(rec, r, events.ErrForbidden)
			return
		}
	}
	if d := a.core.Damage(); d != nil && !route.Recovery {
		a.fail(rec, r, d)
		return
	}
	if route.Reads && !a.core.CaughtUp() {
		a.fail(rec, r, events.ErrBehind)
		return
	}
	route.serve(rec, r, caller)
}

func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

type recorder struct {
	http.ResponseWriter

	status int
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// checkKey refuses the header that is there without a key: who sends it relies on being recognised.
func checkKey(sent []string) error {
	const field = "Idempotency-Key"
	switch {
	case len(sent) > 1:
		return &events.InputError{Kind: events.Malformed, Code: "repeated_field", Field: field, Rule: "is given more than once"}
	case len(sent) == 1 && sent[0] == "":
		return &events.InputError{Kind: events.Malformed, Code: "missing", Field: field, Rule: "is empty"}
	}
	return nil
}
