package httpapi

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones/retention"
)

const (
	// exportTimeout bounds an export.
	exportTimeout = 15 * time.Minute
	// stallTimeout is how long a client may take for one piece of it.
	stallTimeout = time.Minute
	// pieceSize is how many bytes of an export are sent at once.
	pieceSize = 64 << 10

	mediaLines = "application/x-ndjson"
)

// exportQuery is the query of an export.
type exportQuery struct {
	AsOf    *events.Time `json:"as_of,omitzero"`
	WaitFor uint64       `json:"wait_for,omitzero"`
}

// exportLine is what every line of an export has.
type exportLine struct {
	// Type is header, consent, hold, recipient, episode, fact, trace, erased,
	// manifest or error.
	Type string `json:"type"`
}

func (a *API) exporting() {
	a.routes = append(a.routes, Route{
		Method: http.MethodGet, Path: "/v1/subjects/{subject}/export", Status: http.StatusOK, Reads: true,
		Summary: "All that is kept of a subject, as JSON Lines with a signed manifest at the end; without it an export is void.",
		Roles:   []events.Role{events.RoleAdmin, events.RoleAuditor}, limit: exportTimeout,
		in: reflect.TypeFor[exportQuery](), out: reflect.TypeFor[exportLine](), media: mediaLines, serve: a.export,
	})
}

func (a *API) export(w http.ResponseWriter, r *http.Request, caller events.Caller) {
	var in exportQuery
	if err := decodeQuery(r.URL.Query(), &in); err != nil {
		a.fail(w, r, err)
		return
	}
	s := &stream{w: w, control: http.NewResponseController(w), now: a.now}
	out := bufio.NewWriterSize(s, pieceSize)
	err := a.core.Exporter.Export(r.Context(), caller, query.ExportRequest{
		Subject: pathValue(r, "subject"), AsOf: in.AsOf, WaitFor: in.WaitFor,
	}, out)
	if err != nil && out.Buffered() == 0 && !s.begun {
		a.fail(w, r, err)
		return
	}
	if err == nil {
		err = out.Flush()
	} else {
		err = errors.Join(err, out.Flush())
	}
	if err != nil {
		a.log.LogAttrs(r.Context(), slog.LevelWarn, "export was not ended",
			slog.String("route", r.Pattern), slog.String("error", err.Error()))
	}
}

// stream is an answer that is sent as it is made.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	// media is the type of the answer, lines if it is "".
	media string
	begun bool
}

// Write sends a piece. The client has its own time for each.
func (s *stream) Write(b []byte) (int, error) {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", cmp.Or(s.media, mediaLines))
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		s.w.WriteHeader(http.StatusOK)
	}
	// What is in this process has no deadline.
	if err := s.control.SetWriteDeadline(s.now().Add(stallTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("send: %w", err)
	}
	n, err := s.w.Write(b)
	if err != nil {
		return n, fmt.Errorf("send: %w", err)
	}
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return n, fmt.Errorf("send: %w", err)
	}
	return n, nil
}

// previewQuery is the query of a preview; without a time it is for now.
type previewQuery struct {
	At *events.Time `json:"at,omitzero"`
}

func (a *API) retaining() {
	add(a, Route{
		Method: http.MethodGet, Path: "/v1/retention/preview", Roles: []events.Role{events.RoleAdmin},
		Summary: "What the retention schedule would end by a time. It changes nothing.",
	}, func(ctx context.Context, r Request[previewQuery]) (retention.Preview, error) {
		return a.core.Retention.Preview(ctx, r.Caller, r.In.At.Or(a.now()))
	})
}
