package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// Problem is an error as RFC 9457 problem details.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Code is stable and snake_case.
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
	// Field is the path of the field at fault.
	Field string `json:"field,omitempty"`
	// CurrentVersion is where the aggregate stands, on a conflict.
	CurrentVersion uint64 `json:"current_version,omitzero"`
}

func problem(status int, code, detail string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// problemOf maps what the core says to what a caller sees. It is the only
// place where an error becomes a status. ok is false for an error that should
// not happen: its text goes to the log, not to the caller.
func problemOf(err error) (p Problem, ok bool) {
	if input, is := errors.AsType[*events.InputError](err); is {
		status := http.StatusBadRequest
		switch input.Kind {
		case events.Malformed:
		case events.Refused:
			status = http.StatusUnprocessableEntity
		case events.TooLarge:
			status = http.StatusRequestEntityTooLarge
		}
		p = problem(status, input.Code, input.Rule)
		p.Field = input.Field
		return p, true
	}
	if conflict, is := errors.AsType[*events.ConflictError](err); is {
		p = problem(http.StatusConflict, "conflict", "it was changed meanwhile")
		p.CurrentVersion = conflict.Actual
		return p, true
	}
	if d, is := ledger.AsDamage(err); is {
		return problem(http.StatusServiceUnavailable, "recovery", d.Error()+"; nothing is read or written until it is repaired or restored"), true
	}
	for _, row := range []struct {
		err    error
		status int
		code   string
		detail string
	}{
		{auth.ErrNoCredential, http.StatusUnauthorized, "no_credential", "a bearer token is required"},
		{auth.ErrBadCredential, http.StatusUnauthorized, "bad_credential", "the bearer token is not valid"},
		{events.ErrForbidden, http.StatusForbidden, "forbidden", "the credential lacks the role"},
		{events.ErrNotFound, http.StatusNotFound, "not_found", "there is no such record"},
		{events.ErrHeld, http.StatusConflict, "held", "the subject is under a legal hold: what is kept of it stays as it is"},
		{events.ErrForgotten, http.StatusGone, "forgotten", "the record was forgotten"},
		{tombstones.ErrIncomplete, http.StatusConflict, "erasure_incomplete", "the erasure is not purged yet; its account says how far it is"},
		{ledger.ErrNotCovered, http.StatusNotFound, "not_covered", "no checkpoint covers the position yet"},
		{events.ErrKeyReused, http.StatusConflict, "idempotency_key_reused", "the key was used with another request"},
		{events.ErrConflict, http.StatusConflict, "conflict", "it was changed meanwhile"},
		{events.ErrTooLarge, http.StatusRequestEntityTooLarge, "too_large", "the log does not take a record of this size"},
		{events.ErrBehind, http.StatusServiceUnavailable, "behind", "the views have not reached the position; try again"},
		{events.ErrNotWritable, http.StatusServiceUnavailable, "log_not_writable", "the log cannot be written, mostly because its disk is full; reads go on, and writes do when there is room and the server was started again"},
		{events.ErrUnavailable, http.StatusServiceUnavailable, "log_unavailable", "the log does not answer; a retry with the same idempotency key is safe"},
		{projectors.ErrIndexUnavailable, http.StatusServiceUnavailable, "index_unavailable", "the search index does not answer or is being built anew; other reads and writes go on"},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "timeout", "it took too long; a retry with the same idempotency key is safe"},
		{context.Canceled, http.StatusServiceUnavailable, "canceled", "the request ended"},
	} {
		if errors.Is(err, row.err) {
			return problem(row.status, row.code, row.detail), true
		}
	}
	if errors.Is(err, query.ErrDamaged) {
		return problem(http.StatusInternalServerError, "damaged", "the record's key is missing and nothing says that it was forgotten"), false
	}
	return problem(http.StatusInternalServerError, "internal", "something is wrong on this side"), false
}

func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, known := problemOf(err)
	if !known {
		a.log.LogAttrs(r.Context(), slog.LevelError, "request failed",
			slog.String("route", r.Pattern), slog.String("error", err.Error()))
	}
	write(w, p.Status, "application/problem+json", p)
}

func write(w http.ResponseWriter, status int, contentType string, body any) {
	b, err := json.Marshal(body, json.Deterministic(true))
	if err != nil { // only a bug can bring this about
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		b = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,"code":"internal"}`)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="annals"`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // nobody is left to tell
}
