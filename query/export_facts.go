package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// exportedFact is a fact on its way into a line.
type exportedFact struct {
	row      projectors.FactRow
	versions []projectors.Revision
	retired  bool
}

func (e *export) facts(ctx context.Context) error {
	for cursor, more := "", true; more; {
		var page []exportedFact
		err := e.at(ctx, func(snap *projectors.Snapshot) (err error) {
			var rows []projectors.FactRow
			rows, cursor, err = snap.FactsOf(e.token, e.sid, cursor, exportPage)
			if err != nil {
				return err
			}
			current, err := e.current(snap)
			if err != nil {
				return err
			}
			for i := range rows {
				if !e.admits(&rows[i]) {
					continue
				}
				versions, err := snap.FactRevisions(e.token, rows[i].Fact)
				if err != nil {
					return fmt.Errorf("read revisions: %w", err)
				}
				page = append(page, exportedFact{rows[i], versions, !current.Fact(&rows[i].SlotFact)})
			}
			return nil
		})
		if err != nil {
			return err
		}
		more = cursor != ""
		if err := e.factPage(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// current is what is current of sources, or was at the time of the export.
func (e *export) current(snap *projectors.Snapshot) (projectors.Currency, error) {
	sources, err := snap.Sources(e.token)
	if err != nil {
		return projectors.Currency{}, fmt.Errorf("read sources: %w", err)
	}
	if e.asOf != nil {
		return sources.At(*e.asOf, nil), nil
	}
	return sources.Now(), nil
}

// admits reports whether a fact was there by then and, if a time was given, true.
func (e *export) admits(row *projectors.FactRow) bool {
	return row.ProposedAt <= e.header.Position && (e.asOf == nil || row.TrueAt(*e.asOf))
}

func (e *export) factPage(ctx context.Context, page []exportedFact) error {
	items, ids := make([]seal.Item, len(page)), make([]record, len(page))
	for i := range page {
		row := &page[i].row
		items[i] = factItem(row)
		ids[i] = record{events.KindFact, row.Fact, row.Slot}
	}
	// The reasons of retractions go the same way, behind the facts.
	reason := make(map[int]int)
	for i := range page {
		if row := &page[i].row; len(row.Retraction) > 0 {
			reason[i] = len(items)
			items, ids = append(items, retractionItem(row)), append(ids, ids[i])
		}
	}
	opened, err := e.open(ctx, items, ids)
	if err != nil {
		return err
	}
	for i := range page {
		if opened[i] == nil || len(page[i].versions) == 0 {
			continue
		}
		line, err := e.fact(&page[i], opened[i])
		if err != nil {
			return err
		}
		if at, ok := reason[i]; ok && opened[at] != nil {
			content, err := parse[events.RetractionContent](opened[at])
			if err != nil {
				return err
			}
			line.Retraction = content.Reason
		}
		if err := e.out.add(LineFact, line); err != nil {
			return err
		}
	}
	return nil
}

func retractionItem(row *projectors.FactRow) seal.Item {
	item := factItem(row)
	item.Label.EventType, item.Sealed = events.TypeFactRetracted, row.Retraction
	return item
}

func (e *export) fact(f *exportedFact, plain []byte) (ExportFact, error) {
	content, err := parse[events.FactContent](plain)
	if err != nil {
		return ExportFact{}, err
	}
	at := e.now
	if e.asOf != nil {
		at = *e.asOf
	}
	last := f.versions[len(f.versions)-1]
	line := ExportFact{
		Type: LineFact, Fact: newFact(&projectors.FactAt{FactRow: f.row, Revision: last, Retired: f.retired}, &content, at),
		Versions: make([]ExportRevision, len(f.versions)),
	}
	if d := f.row.Decision; d.Decision != "" {
		line.Decision = &ExportDecision{Decision: d.Decision, Gates: d.Gates, Policy: d.Policy, Into: d.Into}
	}
	for i, v := range f.versions {
		line.Versions[i] = ExportRevision{
			Status: v.Status, Valid: stretches(v.Valid),
			RecordedAt: events.At(v.RecordedFrom), RecordedTo: events.AtOrNil(v.RecordedTo),
		}
	}
	return line, nil
}

func stretches(valid []events.Interval) []Stretch {
	out := make([]Stretch, len(valid))
	for i, iv := range valid {
		out[i] = Stretch{From: events.At(iv.From), To: events.AtOrNil(iv.To)}
	}
	return out
}

// consent fills in what was sealed of a consent, if it can be opened. It is under
// the key of the subject's own first event.
func (e *export) consent(ctx context.Context, line ExportConsent, granted events.ConsentGranted) ExportConsent {
	plain, err := e.s.keys.Open(ctx,
		seal.Scope{Tenant: e.token, Subject: e.sid, Class: e.class},
		seal.Label{Aggregate: string(events.KindSubject), Record: e.sid, EventType: events.TypeConsentGranted},
		granted.Content)
	if err != nil {
		return line
	}
	if content, err := parse[events.ConsentContent](plain); err == nil {
		line.Category, line.Basis = content.Category, content.Basis
	}
	return line
}

// traces writes the answers that have to do with the subject.
func (e *export) traces(ctx context.Context) error {
	for cursor, more := "", true; more; {
		var page []ExportTrace
		var items []seal.Item
		err := e.at(ctx, func(snap *projectors.Snapshot) (err error) {
			var rows []projectors.TraceRow
			rows, cursor, err = snap.Traces(e.token, cursor, exportPage)
			if err != nil {
				return err
			}
			for i := range rows {
				line, ok, err := e.trace(snap, &rows[i])
				if err != nil {
					return err
				}
				if ok {
					page, items = append(page, line), append(items, traceItem(&rows[i]))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		more = cursor != ""
		if err := e.tracePage(ctx, page, items); err != nil {
			return err
		}
	}
	return nil
}

// traceItem is the question of a trace.
func traceItem(row *projectors.TraceRow) seal.Item {
	return seal.Item{
		Scope: seal.Scope{Tenant: row.Tenant, Subject: row.Subject, Class: row.Class},
		// A trace has no key of its own; that of its subject's first event seals it.
		Label: seal.Label{
			Aggregate: string(events.KindTrace), Record: row.Subject, EventType: events.TypeTraceRecalled, Part: row.Trace,
		},
		Sealed: row.Content,
	}
}

// trace says what of a trace has to do with the subject.
func (e *export) trace(snap *projectors.Snapshot, row *projectors.TraceRow) (ExportTrace, bool, error) {
	line := ExportTrace{
		Type: LineTrace, Trace: row.Trace, MemoryIDs: []string{}, Used: []string{}, Judged: map[string]events.Judgement{},
		RecordedAt: events.At(row.RecordedAt),
	}
	if row.Position > e.header.Position || e.after(row.RecordedAt) {
		return line, false, nil
	}
	for _, id := range row.Memories {
		owner, err := snap.Owner(e.token, id)
		if err != nil {
			return line, false, fmt.Errorf("read record: %w", err)
		}
		if owner != e.sid {
			continue
		}
		line.MemoryIDs = append(line.MemoryIDs, id)
		if slices.Contains(row.Used, id) {
			line.Used = append(line.Used, id)
		}
		if j, ok := row.Judged[id]; ok {
			line.Judged[id] = j
		}
	}
	return line, row.Subject == e.sid || len(line.MemoryIDs) > 0, nil
}

// tracePage opens the questions that were about the subject: others may be about
// somebody else.
func (e *export) tracePage(ctx context.Context, page []ExportTrace, items []seal.Item) error {
	var own []seal.Item
	var of []int
	for i := range items {
		if items[i].Scope.Subject == e.sid {
			own, of = append(own, items[i]), append(of, i)
		}
	}
	opened, err := e.s.openAll(ctx, own)
	if err != nil {
		return err
	}
	if err := e.at(ctx, func(*projectors.Snapshot) error { return nil }); err != nil {
		return err
	}
	for n, plain := range opened {
		if plain == nil {
			continue
		}
		content, err := parse[events.TraceContent](plain)
		if err != nil {
			return err
		}
		page[of[n]].Query = content.Query
	}
	for i := range page {
		if err := e.out.add(LineTrace, page[i]); err != nil {
			return err
		}
	}
	return nil
}
