package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
	"github.com/annals-memory/annals/tombstones/retention"
)

// Config is what the door leads to. All of it is required, but beside damage
// nothing of Gateway, Query, Eraser, Views, Forgetter, Exporter, Retention, Simulator and Ledger needs to be there.
type Config struct {
	Gateway   *producers.Gateway
	Query     *query.Service
	Eraser    *tombstones.Eraser
	Views     *projectors.Views
	Forgetter *query.Suppressor
	Exporter  *query.Exporter
	Retention *retention.Keeper
	Simulator *producers.Simulator
	Authority *auth.Authority
	Ledger    *ledger.Ledger
	// Anchor reads the last checkpoint that is kept outside the log.
	Anchor func() ([]byte, error)
	// Backup writes one artefact of a backup.
	Backup func(context.Context, backup.Kind, io.Writer) error
	// RotateRoot gives the root a fresh key; alone says that no other process has
	// it open.
	RotateRoot func(ctx context.Context, alone bool) (RootRotation, error)
	// Embeddings choose the model of the memories.
	Embeddings Embeddings
	// Damage is what is wrong with the log, nil if nothing is known to be.
	Damage func() *ledger.DamageError
	// Ready returns why the node cannot serve, or nil.
	Ready func(context.Context) error
	// CaughtUp is false while the views still fold what was in the log at the
	// start. No memory is read until then.
	CaughtUp func() bool
	Logger   *slog.Logger
	Now      func() time.Time
	NewID    func() string
	Version  string
}

// New makes the door.
func New(c Config) (*API, error) {
	a := &API{core: c, auth: c.Authority, log: c.Logger, now: c.Now, ops: newOperations(c.Views, c.Ledger, c.NewID, c.Now, c.Logger)}
	a.memories()
	a.reviews() // before what can hold or forget them
	a.forgetting()
	a.erasures()
	a.traces()
	a.operate()
	a.ledger()
	a.exporting()
	a.backups()
	a.keys()
	a.retaining()
	a.policies()
	a.embedding()
	a.sources()
	var err error
	if a.doc, err = openAPI(a.routes, c.Version); err != nil {
		return nil, fmt.Errorf("OpenAPI: %w", err)
	}
	return a, nil
}

// Run carries out long operations until the context ends.
func (a *API) Run(ctx context.Context) error { return a.ops.run(ctx) }

// position is the query of a read of one record.
type position struct {
	WaitFor uint64 `json:"wait_for,omitzero"`
}

func record[T any](r Request[T], waitFor uint64) query.RecordRequest {
	return query.RecordRequest{ID: r.Path("id"), WaitFor: waitFor}
}

func (a *API) memories() {
	agent := []events.Role{events.RoleAgent}
	readers := []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAdmin}
	auditors := append([]events.Role{events.RoleAuditor}, readers...)
	c := a.core
	add(a, Route{Method: http.MethodPost, Path: "/v1/episodes", Summary: "Capture an episode.", Roles: agent, Status: http.StatusCreated},
		func(ctx context.Context, r Request[producers.CaptureRequest]) (producers.Captured, error) {
			return c.Gateway.Capture(ctx, r.Caller, r.Key, r.In)
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/episodes/batch", Summary: "Capture up to 1,000 episodes; each has its own result.", Roles: agent},
		func(ctx context.Context, r Request[batchRequest]) (batchAnswer, error) {
			return captureBatch(ctx, c.Gateway, r)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/episodes", Summary: "List a subject's episodes in the order of capture.", Roles: readers, Reads: true},
		func(ctx context.Context, r Request[query.EpisodesRequest]) (query.EpisodesAnswer, error) {
			return c.Query.Episodes(ctx, r.Caller, r.In)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/episodes/{id}", Summary: "One episode.", Roles: readers, Reads: true},
		func(ctx context.Context, r Request[position]) (query.EpisodeAnswer, error) {
			return c.Query.Episode(ctx, r.Caller, record(r, r.In.WaitFor))
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/facts", Summary: "Propose a fact; the answer says what was decided, gate by gate.", Roles: agent, Status: http.StatusCreated},
		func(ctx context.Context, r Request[producers.ProposeRequest]) (producers.Proposed, error) {
			return c.Gateway.Propose(ctx, r.Caller, r.Key, r.In)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/facts", Summary: "A subject's facts: current, as of a time on either axis, or their history.", Roles: readers, Reads: true},
		func(ctx context.Context, r Request[query.FactsRequest]) (query.FactsAnswer, error) {
			return c.Query.Facts(ctx, r.Caller, r.In)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/facts/{id}", Summary: "One fact.", Roles: readers, Reads: true},
		func(ctx context.Context, r Request[position]) (query.FactAnswer, error) {
			return c.Query.Fact(ctx, r.Caller, record(r, r.In.WaitFor))
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/facts/{id}/history", Summary: "Every version of every fact of its slot.", Roles: auditors, Reads: true},
		func(ctx context.Context, r Request[position]) (query.HistoryAnswer, error) {
			return c.Query.FactHistory(ctx, r.Caller, record(r, r.In.WaitFor))
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/facts/{id}/lineage", Summary: "What a fact came from, and what came from it.", Roles: auditors, Reads: true},
		func(ctx context.Context, r Request[position]) (query.LineageAnswer, error) {
			return c.Query.FactLineage(ctx, r.Caller, record(r, r.In.WaitFor))
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/facts/{id}/retract", Summary: "End a fact without a replacement.", Roles: agent},
		func(ctx context.Context, r Request[producers.RetractRequest]) (producers.Written, error) {
			return c.Gateway.Retract(ctx, r.Caller, r.Key, r.Path("id"), r.In)
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/recall", Summary: "Recall the memories that answer a question.", Roles: readers, Reads: true},
		func(ctx context.Context, r Request[query.RecallRequest]) (query.RecallAnswer, error) {
			return c.Query.Recall(ctx, r.Caller, r.In)
		})
}

func (a *API) traces() {
	agent := []events.Role{events.RoleAgent}
	readers := []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAuditor, events.RoleAdmin}
	c := a.core
	tuners := []events.Role{events.RoleReviewer, events.RoleAuditor, events.RoleAdmin}
	add(a, Route{Method: http.MethodGet, Path: "/v1/traces", Summary: "The traces that somebody has reported on, with the terms of their scores; no text.", Roles: tuners, Reads: true},
		func(ctx context.Context, r Request[query.TracesRequest]) (query.TracesAnswer, error) {
			return c.Query.Traces(ctx, r.Caller, r.In)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/weights", Summary: "The named weights of a ranking.", Roles: readers},
		func(_ context.Context, r Request[None]) (query.WeightsAnswer, error) {
			return c.Query.Weights(r.Caller)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/traces/{id}", Summary: "Which memories an answer was made of.", Roles: readers, Reads: true},
		func(ctx context.Context, r Request[position]) (query.TraceAnswer, error) {
			return c.Query.Trace(ctx, r.Caller, record(r, r.In.WaitFor))
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/traces/{id}/use", Summary: "Say which of the recalled memories were used.", Roles: agent},
		func(ctx context.Context, r Request[producers.UseRequest]) (producers.Written, error) {
			return c.Gateway.UseTrace(ctx, r.Caller, r.Key, r.Path("id"), r.In)
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/traces/{id}/feedback", Summary: "Judge one recalled memory.", Roles: agent},
		func(ctx context.Context, r Request[producers.FeedbackRequest]) (producers.Written, error) {
			return c.Gateway.JudgeTrace(ctx, r.Caller, r.Key, r.Path("id"), r.In)
		})
}

// reason is the body of a forget of one subject.
type reason struct {
	Reason string `json:"reason,omitempty"`
	// Suppress keeps what is forgotten from coming back; admins only.
	Suppress bool `json:"suppress,omitempty"`
}

func (a *API) forgetting() {
	erasers := []events.Role{events.RoleAgent, events.RoleAdmin}
	c := a.core
	add(a, Route{Method: http.MethodPost, Path: "/v1/subjects/{subject}/forget", Summary: "Forget everything about a subject.", Roles: erasers, Status: http.StatusAccepted},
		func(ctx context.Context, r Request[reason]) (tombstones.Erasure, error) {
			return c.Forgetter.ForgetSubject(ctx, r.Caller, r.Key, r.Path("subject"), r.In.Reason, r.In.Suppress)
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/forget", Summary: "Forget records by id or by filter.", Roles: erasers, Status: http.StatusAccepted},
		func(ctx context.Context, r Request[tombstones.ForgetRequest]) (tombstones.Erasure, error) {
			return c.Forgetter.Forget(ctx, r.Caller, r.Key, r.In)
		})
	for path, kind := range map[string]events.Kind{"/v1/episodes/{id}": events.KindEpisode, "/v1/facts/{id}": events.KindFact} {
		add(a, Route{Method: http.MethodDelete, Path: path, Summary: "Forget one record; again is the same answer.", Roles: erasers, Status: http.StatusAccepted},
			func(ctx context.Context, r Request[None]) (tombstones.Erasure, error) {
				return c.Eraser.ForgetRecord(ctx, r.Caller, r.Key, kind, r.Path("id"))
			})
	}
}
