package httpapi

import (
	"bufio"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/backup"
)

const (
	// backupTimeout bounds the taking of one artefact.
	backupTimeout = 12 * time.Hour

	mediaBytes = "application/octet-stream"
)

func (a *API) backups() {
	a.routes = append(a.routes, Route{
		Method: http.MethodGet, Path: "/v1/backups/{kind}", Status: http.StatusOK,
		Summary: "An artefact of a backup: data, keys or ledger, of all tenants, sealed. For the operator of the data directory alone; without its manifest at the end an artefact is void.",
		Roles:   []events.Role{events.RoleAdmin}, limit: backupTimeout,
		in: reflect.TypeFor[None](), out: reflect.TypeFor[string](), media: mediaBytes, serve: a.backup,
	})
}

func (a *API) backup(w http.ResponseWriter, r *http.Request, caller events.Caller) {
	kind, err := backup.ParseKind(r.PathValue("kind"))
	switch {
	case err != nil:
		err = events.ErrNotFound
	case caller.Tenant != auth.LocalTenant:
		// It has all tenants in it.
		err = events.ErrForbidden
	default:
		err = decodeQuery(r.URL.Query(), &None{})
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	s := &stream{w: w, control: http.NewResponseController(w), now: a.now, media: mediaBytes}
	out := bufio.NewWriterSize(s, pieceSize)
	err = a.core.Backup(r.Context(), kind, out)
	if err != nil && !s.begun {
		a.fail(w, r, err)
		return
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		a.log.LogAttrs(r.Context(), slog.LevelWarn, "backup was not ended",
			slog.String("route", r.Pattern), slog.String("error", err.Error()))
	}
}
