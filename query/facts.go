package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/projectors/index"
)

// Facts lists facts of one subject, page by page: those that are true now, or at
// AsOf as far as KnownAt knew, or the history. An unknown subject has none.
//
// The order is fixed and a cursor goes on behind a row, so that writes between
// two pages neither repeat nor skip a fact that was there all the time. A page
// can be shorter than its limit, also empty, and not be the last: the cursor
// says. The errors are ErrForbidden, an InputError and ErrBehind.
func (s *Service) Facts(ctx context.Context, caller events.Caller, req FactsRequest) (FactsAnswer, error) {
	if !caller.Has(events.RoleAgent, events.RoleReviewer, events.RoleAdmin) {
		return FactsAnswer{}, events.ErrForbidden
	}
	if err := req.validate(); err != nil {
		return FactsAnswer{}, err
	}
	r, err := s.open(ctx, caller, req.WaitFor, events.RoleAgent, events.RoleReviewer, events.RoleAdmin)
	if err != nil {
		return FactsAnswer{}, err
	}
	defer r.close()
	answer := FactsAnswer{Facts: []Fact{}, Position: r.snap.Position()}
	after, err := r.after(req.question(), req.Cursor)
	if err != nil {
		return FactsAnswer{}, err
	}
	sid, ok, err := r.subject(ctx, req.Subject)
	if err != nil || !ok || r.silent(sid) {
		return answer, err
	}
	filter := projectors.FactFilter{
		Subject:   sid,
		Predicate: token.Predicate(r.tenant, req.Predicate),
		Scope:     token.Scope(r.tenant, req.Scope),
		Category:  token.Category(r.tenant, req.Category),
		History:   req.Include == IncludeHistory,
		After:     after,
		Limit:     limitOf(req.Limit),
		Now:       r.now,
	}
	at := req.AsOf.Or(r.now)
	filter.KnownAt = throughMicro(req.KnownAt)
	if req.AsOf != nil {
		filter.ValidAt = &at
	}
	rows, next, err := r.snap.Facts(r.token, filter)
	if err != nil {
		return FactsAnswer{}, fmt.Errorf("list facts: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(f projectors.FactAt) bool { return r.conceals(&f.FactRow) })
	if answer.Facts, err = s.facts(ctx, rows, at); err != nil {
		return FactsAnswer{}, err
	}
	answer.Facts, answer.Omitted = withhold(r, answer.Facts)
	err = s.heardFacts(ctx, caller, r, sid, answer.Facts)
	if errors.Is(err, events.ErrForgotten) { // meanwhile: then there are none
		return FactsAnswer{Facts: []Fact{}, Position: answer.Position}, nil
	}
	if err != nil {
		return FactsAnswer{}, err
	}
	answer.Cursor = encodeCursor(r.tenant, req.question(), next)
	return answer, nil
}

// question is what a cursor belongs to: all of the request but where to go on.
func (r *FactsRequest) question() string {
	return join("facts", token.NFC(r.Subject), token.NFC(r.Predicate), token.NFC(r.Scope), token.NFC(r.Category), string(r.Include),
		timeOf(r.AsOf), timeOf(r.KnownAt))
}

// Fact returns one fact as it is known now, current or not. The errors are
// ErrForbidden, ErrNotFound, ErrForgotten, ErrDamaged and ErrBehind.
func (s *Service) Fact(ctx context.Context, caller events.Caller, req RecordRequest) (FactAnswer, error) {
	r, err := s.open(ctx, caller, req.WaitFor, events.RoleAgent, events.RoleReviewer, events.RoleAdmin)
	if err != nil {
		return FactAnswer{}, err
	}
	defer r.close()
	row, err := r.fact(req.ID)
	if err != nil {
		return FactAnswer{}, err
	}
	rev, found, err := r.snap.FactRevision(r.token, row.Fact, nil)
	if err != nil {
		return FactAnswer{}, fmt.Errorf("read revision: %w", err)
	}
	if !found {
		return FactAnswer{}, events.ErrForgotten
	}
	current, err := r.current()
	if err != nil {
		return FactAnswer{}, err
	}
	one := projectors.FactAt{FactRow: row, Revision: rev, Retired: !current.Fact(&row.SlotFact)}
	facts, err := s.facts(ctx, []projectors.FactAt{one}, r.now)
	if err != nil {
		return FactAnswer{}, err
	}
	if len(facts) == 0 {
		return FactAnswer{}, s.unseen(ctx, r, events.KindFact, row.Slot, row.Subject)
	}
	if facts, _ = withhold(r, facts); len(facts) == 0 {
		return FactAnswer{}, events.ErrNotFound
	}
	if err := s.heardFacts(ctx, caller, r, row.Subject, facts); err != nil {
		return FactAnswer{}, err
	}
	return FactAnswer{Fact: facts[0], Position: r.snap.Position()}, nil
}

// FactHistory returns every version of every fact in the slot of a fact, on both
// axes of time, in the order in which they became known. Auditors may ask too.
// The errors are those of [Service.Fact].
func (s *Service) FactHistory(ctx context.Context, caller events.Caller, req RecordRequest) (HistoryAnswer, error) {
	r, err := s.open(ctx, caller, req.WaitFor,
		events.RoleAgent, events.RoleReviewer, events.RoleAdmin, events.RoleAuditor)
	if err != nil {
		return HistoryAnswer{}, err
	}
	defer r.close()
	row, err := r.fact(req.ID)
	if err != nil {
		return HistoryAnswer{}, err
	}
	revisions, err := r.snap.SlotRevisions(r.token, row.Slot)
	if err != nil {
		return HistoryAnswer{}, fmt.Errorf("read revisions: %w", err)
	}
	current, err := r.current()
	if err != nil {
		return HistoryAnswer{}, err
	}
	rows := make([]projectors.FactAt, 0, len(revisions))
	known := map[string]projectors.FactRow{row.Fact: row}
	for _, rev := range revisions {
		f, ok := known[rev.Fact]
		if !ok {
			if f, err = r.fact(rev.Fact); err != nil {
				if errors.Is(err, events.ErrForgotten) || errors.Is(err, events.ErrNotFound) {
					continue
				}
				return HistoryAnswer{}, err
			}
			known[rev.Fact] = f
		}
		if undecided(&f, rev.Status) {
			continue
		}
		f.Status, f.Valid = rev.Status, rev.Valid
		retired := rev.RecordedTo.IsZero() && !current.Fact(&f.SlotFact)
		rows = append(rows, projectors.FactAt{FactRow: f, Revision: rev, Retired: retired})
	}
	answer := HistoryAnswer{Position: r.snap.Position()}
	if answer.Versions, err = s.facts(ctx, rows, r.now); err != nil {
		return HistoryAnswer{}, err
	}
	answer.Versions, answer.Omitted = withhold(r, answer.Versions)
	if err := s.heardFacts(ctx, caller, r, row.Subject, answer.Versions); err != nil {
		return HistoryAnswer{}, err
	}
	return answer, nil
}

// fact reads one row: ErrNotFound for what is not there, not the caller's or under
// a legal hold, ErrForgotten for what was.
func (r *reading) fact(id string) (projectors.FactRow, error) {
	id = token.CanonicalID(id)
	if id == "" || r.tenant == nil {
		return projectors.FactRow{}, events.ErrNotFound
	}
	row, err := r.snap.Fact(r.token, id)
	switch {
	case errors.Is(err, events.ErrNotFound):
		return projectors.FactRow{}, events.ErrNotFound
	case err != nil:
		return projectors.FactRow{}, fmt.Errorf("read fact: %w", err)
	case r.snap.Held(r.token, row.Subject):
		return projectors.FactRow{}, events.ErrNotFound
	case row.Status == events.StatusDeleted:
		return projectors.FactRow{}, events.ErrForgotten
	case undecided(&row, row.Status), r.conceals(&row):
		return projectors.FactRow{}, events.ErrNotFound
	}
	return row, nil
}

// undecided reports whether a fact in a state is a candidate that nothing has
// been decided on, as it is between the two commits of a proposal: that is no
// version of a fact. One that waits for a review keeps the state of a candidate,
// and its decision says so; one that was promoted, rejected or merged was a
// candidate only before.
func undecided(f *projectors.FactRow, state events.FactStatus) bool {
	d := f.Decision.Decision
	return state == events.StatusCandidate && d != events.DecisionReview && d != events.DecisionQuarantine
}

// conceals reports whether a candidate that was not promoted is kept from an
// external or tool channel: whether it was rejected, and for what, is not told.
func (r *reading) conceals(f *projectors.FactRow) bool {
	return r.untrusted && f.Decision.Decision != events.DecisionPromote
}

// facts opens rows and turns them into answers; what has no key is left out.
func (s *Service) facts(ctx context.Context, rows []projectors.FactAt, at time.Time) ([]Fact, error) {
	// The versions of one fact share their content, which is opened once.
	var items []seal.Item
	place := make(map[string]int)
	for i := range rows {
		if _, ok := place[rows[i].Fact]; !ok {
			place[rows[i].Fact] = len(items)
			items = append(items, factItem(&rows[i].FactRow))
		}
	}
	opened, err := s.openAll(ctx, items)
	if err != nil {
		return nil, err
	}
	if len(opened) > 0 {
		if err := s.hide(ctx, rows, opened, place); err != nil {
			return nil, err
		}
	}
	out := make([]Fact, 0, len(rows))
	for i := range rows {
		plain := opened[place[rows[i].Fact]]
		if plain == nil {
			continue
		}
		content, err := parse[events.FactContent](plain)
		if err != nil {
			return nil, err
		}
		f := newFact(&rows[i], &content, at)
		f.Suspicious = s.suspiciousFact(&rows[i].SlotFact, &content)
		out = append(out, f)
	}
	return out, nil
}

// hide looks for tombstones and holds after the opening.
func (s *Service) hide(ctx context.Context, rows []projectors.FactAt, opened [][]byte, place map[string]int) error {
	fresh, err := s.views.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	defer fresh.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	for i := range rows {
		ok, err := alive(fresh, rows[i].Tenant, index.Fact, rows[i].Fact)
		if err != nil {
			return err
		}
		if !ok {
			opened[place[rows[i].Fact]] = nil
		}
		rows[i].Sources = shownSources(fresh, rows[i].Tenant, rows[i].Sources)
	}
	return nil
}

// newFact is the answer for one version of a fact.
func newFact(row *projectors.FactAt, c *events.FactContent, at time.Time) Fact {
	f := Fact{
		ID: row.Fact, Subject: c.Subject, Predicate: c.Predicate, Value: c.Value, Category: c.Category, Scope: c.Scope,
		Confidence: row.Confidence, Trust: row.Trust,
		SourceEpisodes: sourceIDs(row.Sources), Provenance: c.Provenance,
		ObservedAt: events.At(row.ObservedAt), CreatedAt: events.At(row.RecordedAt),
		ExpiresAt: events.AtOrNil(row.ExpiresAt), Status: row.Revision.Status,
		RecordedAt: events.At(row.Revision.RecordedFrom), RecordedTo: events.AtOrNil(row.Revision.RecordedTo),
		SupersededBy: row.SupersededBy, ReviewedAt: reviewedAt(&row.SlotFact, &row.Revision),
	}
	if f.Provenance == nil {
		f.Provenance = []events.Source{}
	}
	if f.Status == events.StatusActive && row.Retired {
		f.Status, f.SupersededBy = StatusRetired, ""
	}
	if f.Status == events.StatusActive {
		f.SupersededBy = "" // then it lost a stretch of the past only, or this version is from before
	}
	if v, ok := validity(row.Revision.Valid, at); ok {
		f.ValidFrom, f.ValidTo = events.AtOrNil(v.From), events.AtOrNil(v.To)
	}
	if len(row.Revision.Valid) > 1 {
		for _, iv := range row.Revision.Valid {
			f.Valid = append(f.Valid, Stretch{From: events.At(iv.From), To: events.AtOrNil(iv.To)})
		}
	}
	return f
}

// validity is the stretch that holds t, or the hull of all.
func validity(valid []events.Interval, t time.Time) (events.Interval, bool) {
	if len(valid) == 0 {
		return events.Interval{}, false
	}
	for _, iv := range valid {
		if iv.Contains(t) {
			return iv, true
		}
	}
	return events.Interval{From: valid[0].From, To: valid[len(valid)-1].To}, true
}

// after opens a cursor. Without a tenant there was never one to hand out.
func (r *reading) after(question, cursor string) (string, error) {
	if r.tenant != nil {
		return decodeCursor(r.tenant, question, cursor)
	}
	if cursor != "" {
		return "", badCursor()
	}
	return "", nil
}

func limitOf(limit *int) int {
	if limit == nil {
		return defaultLimit
	}
	return *limit
}

func timeOf(t *events.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// throughMicro is the last instant of t's microsecond. Times of record are finer
// than the times of requests and answers: what an answer says was recorded at t
// was known at t.
func throughMicro(t *events.Time) *time.Time {
	if t == nil {
		return nil
	}
	end := t.Add(time.Microsecond - time.Nanosecond)
	return &end
}

// join is unambiguous: no name holds U+0000.
func join(parts ...string) string { return strings.Join(parts, "\x00") }
