package query

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// exportPage is how many memories an export has in memory at once.
const exportPage = 100

// ExportRequest asks for all that is kept of one subject.
type ExportRequest struct {
	Subject string `json:"subject"`
	// AsOf leaves out what happened later, and facts that were not true then.
	AsOf *events.Time `json:"as_of,omitempty"`
	// WaitFor is a position that the views must have reached.
	WaitFor uint64 `json:"wait_for,omitempty"`
}

// Exports records that a subject was exported. Whoever implements it is the one
// who writes. The error matches events.ErrForgotten if the subject has a
// tombstone.
type Exports interface {
	RecordExport(ctx context.Context, caller events.Caller, subject string, e events.SubjectExported) (position uint64, err error)
}

// Signer signs a text that ends in a newline, as a signed note.
type Signer interface {
	Sign(text string) ([]byte, error)
}

// ExporterConfig is what an exporter is made of. All of it is required.
type ExporterConfig struct {
	Service *Service
	Exports Exports
	Signer  Signer
	// Key names the key that Signer signs with.
	Key string
	// NewID makes the ids of exports: UUIDs in canonical lower case.
	NewID func() string
}

// Exporter hands out all that is kept of a subject. It is safe for concurrent use
// and starts no goroutines.
type Exporter struct {
	*ExporterConfig
}

// NewExporter makes an exporter. The error is ErrConfig.
func NewExporter(c ExporterConfig) (*Exporter, error) {
	if c.Service == nil || c.Exports == nil || c.Signer == nil || c.Key == "" || c.NewID == nil {
		return nil, fmt.Errorf("%w: something is missing", ErrConfig)
	}
	return &Exporter{&c}, nil
}

// Export writes all that is kept of a subject to w, line by line, as JSON Lines:
// a header, its consents, holds and earlier exports, its episodes in the order of
// their capture, its facts and candidates slot by slot, the answers they went
// into, and how much was forgotten before; then a signed manifest. Memory does not
// grow with the subject.
//
// Everything that was recorded up to the header's position and is kept is in it;
// of what was recorded while it was written, nothing but changes to those facts.
// A memory that is forgotten meanwhile is left out, or was given out already: the
// log tells of the export before its first line is written. When the subject is
// forgotten meanwhile, or anything goes wrong, an error line is the last and there
// is no manifest: such an export is void.
//
// A subject under a legal hold is exported like any other. The error is
// ErrForbidden, an InputError, ErrNotFound for a subject that nothing is kept of,
// or ErrBehind, and then nothing was written; or what is in the error line.
func (x *Exporter) Export(ctx context.Context, caller events.Caller, req ExportRequest, w io.Writer) error {
	e, err := x.begin(ctx, caller, req)
	if err != nil {
		return err
	}
	e.out.w, e.out.sum, e.out.counts = w, sha256.New(), make(map[string]int)
	if err := e.write(ctx); err != nil {
		if e.out.broken {
			return err // nobody is left to tell
		}
		code, detail := exportFault(err)
		return errors.Join(err, e.out.last(ExportError{Type: LineError, Code: code, Detail: detail}))
	}
	return nil
}

// exportFault is what an error line says.
func exportFault(err error) (code, detail string) {
	switch {
	case errors.Is(err, events.ErrForgotten):
		return "forgotten", "the subject was forgotten meanwhile; this export is void"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "timeout", "it took too long; this export is void"
	case errors.Is(err, events.ErrUnavailable):
		return "unavailable", "the log does not answer; this export is void"
	case errors.Is(err, ErrDamaged):
		return "damaged", "a record's key is missing and nothing says that it was forgotten; this export is void"
	}
	return "internal", "something is wrong on this side; this export is void"
}

// export is one export on its way.
type export struct {
	*Exporter

	s      *Service
	tenant *seal.Tenant
	token  string
	sid    string
	// class is that of the subject's own first event.
	class  string
	now    time.Time
	asOf   *time.Time
	header ExportHeader
	out    lines
}

// begin does what can be refused, and records the export.
func (x *Exporter) begin(ctx context.Context, caller events.Caller, req ExportRequest) (*export, error) {
	if !caller.Has(events.RoleAdmin, events.RoleAuditor) {
		return nil, events.ErrForbidden
	}
	if err := checkName("subject", req.Subject, true); err != nil {
		return nil, err
	}
	s := x.Service
	r, err := s.open(ctx, caller, req.WaitFor, events.RoleAdmin, events.RoleAuditor)
	if err != nil {
		return nil, err
	}
	defer r.close()
	sid, ok, err := r.subject(ctx, req.Subject)
	if err != nil {
		return nil, err
	}
	if !ok || r.snap.SubjectForgotten(r.token, sid) {
		return nil, events.ErrNotFound
	}
	e := &export{Exporter: x, s: s, tenant: r.tenant, token: r.token, sid: sid, now: r.now}
	e.header = ExportHeader{
		Type: LineHeader, Format: ExportFormat, Version: ExportVersion, Export: x.NewID(), Subject: req.Subject,
		ExportedAt: events.At(r.now), AsOf: req.AsOf, Position: r.snap.Position(),
	}
	if req.AsOf != nil {
		e.asOf = &req.AsOf.Time
	}
	episodes, facts := r.snap.SubjectCounts(r.token, sid)
	_, err = x.Exports.RecordExport(ctx, caller, sid, events.SubjectExported{
		Export: e.header.Export, Position: e.header.Position, Count: episodes + facts,
	})
	if errors.Is(err, events.ErrForgotten) {
		return nil, events.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("record export: %w", err)
	}
	return e, nil
}

// write writes all lines.
func (e *export) write(ctx context.Context) error {
	if err := e.out.add(LineHeader, e.header); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{e.subject, e.episodes, e.facts, e.traces, e.erased, e.alive} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return e.manifest()
}

// alive asks the log itself, for the views can be behind.
func (e *export) alive(ctx context.Context) error {
	s, err := events.ReadSubject(ctx, e.s.log, e.token, e.sid)
	if err != nil {
		return fmt.Errorf("read subject: %w", err)
	}
	if s.Erasure != "" {
		return events.ErrForgotten
	}
	return nil
}

// at takes a snapshot for do, in which the subject is not forgotten.
func (e *export) at(ctx context.Context, do func(*projectors.Snapshot) error) error {
	snap, err := e.s.views.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	defer snap.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	if snap.SubjectForgotten(e.token, e.sid) {
		return events.ErrForgotten
	}
	return do(snap)
}

// open opens the contents of records and looks for their tombstones afterwards.
// The place of one that was forgotten is nil.
func (e *export) open(ctx context.Context, items []seal.Item, ids []record) ([][]byte, error) {
	opened, err := e.s.openAll(ctx, items)
	if err != nil {
		return nil, err
	}
	err = e.at(ctx, func(fresh *projectors.Snapshot) error {
		for i, id := range ids {
			kept, err := e.kept(fresh, id)
			switch {
			case err != nil:
				return err
			case !kept:
				opened[i] = nil
			case opened[i] == nil:
				if err := e.s.lost(ctx, e.token, id.kind, id.aggregate, e.sid); !errors.Is(err, events.ErrForgotten) {
					return err
				}
			}
		}
		return nil
	})
	return opened, err
}

// kept reports whether a record is there and neither it nor all that it rests on was
// forgotten. One that is held is kept.
func (e *export) kept(snap *projectors.Snapshot, r record) (bool, error) {
	var forgotten bool
	var err error
	if r.kind == events.KindEpisode {
		var row projectors.EpisodeRow
		row, err = snap.Episode(e.token, r.id)
		forgotten = row.Forgotten
	} else {
		var row projectors.FactRow
		row, err = snap.Fact(e.token, r.id)
		forgotten = row.Status == events.StatusDeleted
	}
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read record: %w", err)
	}
	return !forgotten, nil
}

// record names what is opened.
type record struct {
	kind          events.Kind
	id, aggregate string
}

// subject writes what the log tells of the subject itself.
func (e *export) subject(ctx context.Context) error {
	agg := events.Aggregate{Tenant: e.token, Kind: events.KindSubject, ID: e.sid}
	for r, err := range e.s.log.ReadAggregate(ctx, agg, 0) {
		if err != nil {
			return fmt.Errorf("read subject: %w", err)
		}
		if r.Position > e.header.Position || e.after(r.RecordedAt) {
			break
		}
		for _, ev := range r.Events {
			if err := e.subjectEvent(ctx, &r, ev); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *export) subjectEvent(ctx context.Context, r *events.Recorded, ev events.Event) error {
	at := events.At(r.RecordedAt)
	switch ev := ev.(type) {
	case events.SubjectRegistered:
		e.class = ev.Class
		return nil
	case events.SubjectForgotten:
		return events.ErrForgotten
	case events.SubjectHeld:
		return e.out.add(LineHold, ExportHold{Type: LineHold, Hold: ev.Hold, Held: true, RecordedAt: at})
	case events.SubjectReleased:
		return e.out.add(LineHold, ExportHold{Type: LineHold, Hold: ev.Hold, RecordedAt: at})
	case events.ConsentGranted:
		line := ExportConsent{Type: LineConsent, Token: ev.Category, Granted: true, RecordedAt: at}
		return e.out.add(LineConsent, e.consent(ctx, line, ev))
	case events.ConsentWithdrawn:
		return e.out.add(LineConsent, ExportConsent{Type: LineConsent, Token: ev.Category, RecordedAt: at})
	case events.SubjectExported:
		return e.out.add(LineRecipient, ExportRecipient{
			Type: LineRecipient, Export: ev.Export, Principal: r.Principal, Position: ev.Position, Count: ev.Count, RecordedAt: at,
		})
	default:
		return nil
	}
}

// after reports whether a time is later than what was asked for.
func (e *export) after(t time.Time) bool { return e.asOf != nil && t.After(*e.asOf) }

func (e *export) episodes(ctx context.Context) error {
	for cursor, more := "", true; more; {
		var rows []projectors.EpisodeRow
		var current projectors.Currency
		err := e.at(ctx, func(snap *projectors.Snapshot) (err error) {
			if current, err = e.current(snap); err != nil {
				return err
			}
			rows, cursor, err = snap.Episodes(e.token, projectors.EpisodeFilter{Subject: e.sid, After: cursor, Limit: exportPage})
			return err
		})
		if err != nil {
			return err
		}
		more = cursor != ""
		rows = slices.DeleteFunc(rows, func(r projectors.EpisodeRow) bool {
			if r.Position > e.header.Position {
				more = false // they are in the order of the log
				return true
			}
			return e.after(r.OccurredAt)
		})
		if err := e.episodePage(ctx, rows, current); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) episodePage(ctx context.Context, rows []projectors.EpisodeRow, current projectors.Currency) error {
	items, ids := make([]seal.Item, len(rows)), make([]record, len(rows))
	for i := range rows {
		items[i] = episodeItem(&rows[i])
		ids[i] = record{events.KindEpisode, rows[i].ID, rows[i].ID}
	}
	opened, err := e.open(ctx, items, ids)
	if err != nil {
		return err
	}
	for i, plain := range opened {
		if plain == nil {
			continue
		}
		content, err := parse[events.EpisodeContent](plain)
		if err != nil {
			return err
		}
		line := ExportEpisode{LineEpisode, newEpisode(&rows[i], &content)}
		line.Retired = !current.Episode(&rows[i])
		if err := e.out.add(LineEpisode, line); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) erased(ctx context.Context) error {
	return e.at(ctx, func(snap *projectors.Snapshot) error {
		episodes, facts, err := snap.Erased(e.token, e.sid)
		if err != nil {
			return fmt.Errorf("count tombstones: %w", err)
		}
		return e.out.add(LineErased, ExportErased{LineErased, episodes, facts})
	})
}

// manifest ends the export.
func (e *export) manifest() error {
	m := Manifest{
		Type: LineManifest, Format: ExportFormat, Version: ExportVersion, Export: e.header.Export,
		ExportedAt: e.header.ExportedAt, AsOf: e.header.AsOf, Position: e.header.Position,
		Counts: e.out.counts, SHA256: hex.EncodeToString(e.out.sum.Sum(nil)), Key: e.Key,
	}
	text, err := m.text()
	if err != nil {
		return err
	}
	note, err := e.Signer.Sign(text)
	if err != nil {
		return fmt.Errorf("sign manifest: %w", err)
	}
	m.Note = string(note)
	return e.out.last(m)
}

// lines are the lines that were written.
type lines struct {
	w      io.Writer
	sum    hash.Hash
	counts map[string]int
	// broken says that they cannot be written.
	broken bool
}

// add writes one line that the manifest accounts for.
func (l *lines) add(typ string, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return errUnreadable // json's own words may quote the content
	}
	b = append(b, '\n')
	_, _ = l.sum.Write(b) // a hash takes everything
	l.counts[typ]++
	return l.put(b)
}

// last writes a line that nothing accounts for.
func (l *lines) last(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return errUnreadable // as above
	}
	return l.put(append(b, '\n'))
}

func (l *lines) put(b []byte) error {
	if _, err := l.w.Write(b); err != nil {
		l.broken = true
		return fmt.Errorf("write export: %w", err)
	}
	return nil
}
