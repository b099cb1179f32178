package projectors

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/fold"
	"github.com/annals-memory/annals/projectors/index"
)

// model folds the whole log, up to a position, by the reference.
func (w *world) model(t fataler, to uint64) *fold.State {
	t.Helper()
	m := fold.New()
	for p := uint64(1); p <= to; p++ {
		msg, err := w.log.MessageAt(context.Background(), p)
		if err != nil {
			continue
		}
		rec, err := events.Decode(msg)
		if err != nil {
			continue
		}
		m.Apply(rec)
	}
	return m
}

// dump is the records of a view or of the model, readable and comparable.
type dump map[string]any

type factDump struct {
	Fact      events.SlotFact
	Slot      string
	Masked    bool
	Revisions []fold.Revision
}

type tombDump struct {
	Subject, Erasure string
	Position         uint64
	At               time.Time
}

func modelDump(m *fold.State) dump {
	d := dump{}
	for k, e := range m.Episodes {
		d["episode "+k.Tenant+" "+k.ID] = EpisodeRow{
			Tenant: k.Tenant, ID: k.ID, EpisodeCaptured: e.EpisodeCaptured, ContentType: events.TypeEpisodeCaptured,
			Position: e.Position, RecordedAt: e.RecordedAt, Principal: e.Principal,
		}
	}
	for k, f := range m.Facts {
		d["fact "+k.Tenant+" "+k.ID] = factDump{Fact: f.SlotFact, Slot: f.Slot, Masked: m.Masked(k.Tenant, f), Revisions: f.Revisions}
	}
	for k, tr := range m.Traces {
		d["trace "+k.Tenant+" "+k.ID] = TraceRow{
			TraceRecalled: tr.TraceRecalled, Used: tr.Used, Judged: tr.Judged, Position: tr.Position,
			RecordedAt: tr.RecordedAt, Principal: tr.Principal,
		}
	}
	tombs := func(sort string, list map[fold.Key]fold.Tombstone) {
		for k, tb := range list {
			d["tomb "+sort+" "+k.Tenant+" "+k.ID] = tombDump{Subject: tb.Subject, Erasure: tb.Erasure, Position: tb.Position, At: tb.RecordedAt}
		}
	}
	tombs("episode", m.EpisodeTombs)
	tombs("fact", m.FactTombs)
	for k, tb := range m.Subjects {
		d["tomb subject "+k.Tenant+" "+k.ID] = tombDump{Subject: k.ID, Erasure: tb.Erasure, Position: tb.Position, At: tb.RecordedAt}
	}
	for k, holds := range m.Holds {
		for name, position := range holds {
			d["hold "+k.Tenant+" "+k.ID+" "+name] = position
		}
	}
	for k, source := range m.Sources {
		d["source "+k.Tenant+" "+k.ID+" "+Facts] = *source
		d["source "+k.Tenant+" "+k.ID+" "+Memories] = *source
	}
	// A trace of which nothing is left but its name.
	maps.DeleteFunc(d, func(_ string, v any) bool {
		tr, ok := v.(TraceRow)
		return ok && tr.Position == 0 && len(tr.Used) == 0 && len(tr.Judged) == 0
	})
	return d
}

// viewDump reads every record row of all views.
func viewDump(t fataler, s *Snapshot) dump {
	t.Helper()
	d := dump{}
	must := func(err error) {
		if err != nil {
			t.Fatalf("dump: %v", err)
		}
	}
	must(scan(s.memories, []byte{sortEpisode}, nil, func(k, v []byte) (bool, error) {
		tenant, _, _ := cutPart(k[1:])
		row, err := decodeEpisode(v)
		row.Tenant = tenant
		d["episode "+tenant+" "+row.ID] = row
		return true, err
	}))
	must(scan(s.facts, []byte{sortFact}, nil, func(k, v []byte) (bool, error) {
		tenant, rest, _ := cutPart(k[1:])
		sid, rest, _ := cutPart(rest)
		slot, rest, _ := cutPart(rest)
		o, _ := cutOrder(rest)
		var st storedFact
		dec := decoder{b: v}
		st.decode(&dec)
		fd := factDump{Fact: st.fact, Slot: slot, Masked: st.masked}
		list, err := s.revisions(tenant, sid, slot, o)
		for _, r := range list {
			fd.Revisions = append(fd.Revisions, fold.Revision{Valid: r.Valid, Status: r.Status, From: r.RecordedFrom, To: r.RecordedTo, Position: r.Position})
		}
		d["fact "+tenant+" "+st.fact.Fact] = fd
		if err == nil {
			err = dec.err()
		}
		return true, err
	}))
	must(scan(s.traces, []byte{sortTrace}, nil, func(k, v []byte) (bool, error) {
		tenant, rest, _ := cutPart(k[1:])
		id, _, _ := cutPart(rest)
		st := traceState{judgedAt: map[string]uint64{}}
		st.Judged = map[string]events.Judgement{}
		err := decodeTrace(v, &st)
		d["trace "+tenant+" "+id] = st.TraceRow
		return true, err
	}))
	for _, sort := range []byte{sortTomb, sortSubjectTomb} {
		must(scan(s.facts, []byte{sort}, nil, func(k, v []byte) (bool, error) {
			tenant, _, _ := cutPart(k[1:])
			tb, err := decodeTomb(k, v)
			d[fmt.Sprintf("tomb %s %s %s", tb.Kind, tenant, tb.ID)] = tombDump{Subject: tb.Subject, Erasure: tb.Erasure, Position: tb.Position, At: tb.RecordedAt}
			return true, err
		}))
	}
	for _, r := range []pebble.Reader{s.facts, s.memories} {
		must(scan(r, []byte{sortHold}, nil, func(k, v []byte) (bool, error) {
			tenant, rest, _ := cutPart(k[1:])
			sid, rest, _ := cutPart(rest)
			name, _, _ := cutPart(rest)
			dec := decoder{b: v}
			position := dec.uint()
			dec.time()
			d["hold "+tenant+" "+sid+" "+name] = position
			return true, dec.err()
		}))
	}
	for view, r := range map[string]pebble.Reader{Facts: s.facts, Memories: s.memories} {
		must(scan(r, []byte{sortSource}, nil, func(k, v []byte) (bool, error) {
			tenant, rest, _ := cutPart(k[1:])
			source, _, _ := cutPart(rest)
			state, err := decodeSource(v)
			d["source "+tenant+" "+source+" "+view] = state
			return true, err
		}))
	}
	return d
}

func dumpDiff(want, got dump) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// checkViews holds everything that the views answer against the model.
func checkViews(t fataler, v *Views, m *fold.State) {
	t.Helper()
	s := snapshot(t, v)
	defer closeSnapshot(t, s)
	if diff := dumpDiff(modelDump(m), viewDump(t, s)); diff != "" {
		t.Fatalf("views differ from the model (-model +view):\n%s", diff)
	}
	checkDerived(t, s)
	checkReviews(t, s, m)
	checkSums(t, s)
	subjects := map[fold.Key]bool{}
	for k, e := range m.Episodes {
		subjects[fold.Key{Tenant: k.Tenant, ID: e.Subject}] = true
	}
	for k, f := range m.Facts {
		subjects[fold.Key{Tenant: k.Tenant, ID: f.Subject}] = true
		checkFact(t, s, m, k, f)
	}
	for k := range m.Subjects {
		subjects[k] = true
	}
	for k := range m.Holds {
		subjects[k] = true
	}
	checkErasures(t, s, m)
	for k := range subjects {
		checkSubject(t, s, m, k)
	}
	for k, tb := range m.EpisodeTombs {
		row, err := s.Episode(k.Tenant, k.ID)
		if err != nil || !row.Forgotten || row.Erasure != tb.Erasure || row.Content != nil {
			t.Fatalf("tombstone of an episode is not shown: %v", err)
		}
	}
	for k := range m.FactTombs {
		row, err := s.Fact(k.Tenant, k.ID)
		if err != nil || row.Status != events.StatusDeleted || row.Content != nil {
			t.Fatalf("tombstone of a fact is not shown: %v", err)
		}
	}
}

// checkErasures holds that each tombstone, and no other, is found by its erasure.
func checkErasures(t fataler, s *Snapshot, m *fold.State) {
	t.Helper()
	type named struct{ tenant, erasure string }
	want := map[named][]string{}
	add := func(kind events.Kind, tombs map[fold.Key]fold.Tombstone) {
		for k, tb := range tombs {
			n := named{k.Tenant, tb.Erasure}
			want[n] = append(want[n], string(kind)+" "+k.ID)
		}
	}
	add(events.KindSubject, m.Subjects)
	add(events.KindEpisode, m.EpisodeTombs)
	add(events.KindFact, m.FactTombs)
	for n, list := range want {
		var got []string
		for after, first := "", true; first || after != ""; first = false {
			rows, next, err := s.TombstonesOf(n.tenant, n.erasure, after, 2)
			if err != nil {
				t.Fatalf("tombstones of an erasure: %v", err)
			}
			for _, r := range rows {
				got = append(got, string(r.Kind)+" "+r.ID)
			}
			after = next
		}
		slices.Sort(list)
		slices.Sort(got)
		if diff := cmp.Diff(list, got); diff != "" {
			t.Fatalf("tombstones of an erasure differ:\n%s", diff)
		}
	}
	rows := 0
	if err := scan(s.memories, []byte{sortErasure}, nil, func([]byte, []byte) (bool, error) { rows++; return true, nil }); err != nil {
		t.Fatalf("scan: %v", err)
	}
	if all := len(m.Subjects) + len(m.EpisodeTombs) + len(m.FactTombs); rows != all {
		t.Fatalf("%d rows lead to %d tombstones", rows, all)
	}
}

func checkFact(t fataler, s *Snapshot, m *fold.State, k fold.Key, f *fold.Fact) {
	t.Helper()
	row, err := s.Fact(k.Tenant, k.ID)
	if err != nil {
		t.Fatalf("read fact: %v", err)
	}
	masked := m.Masked(k.Tenant, f)
	if masked {
		if row.Status != events.StatusDeleted || row.Content != nil || len(row.Valid) > 0 {
			t.Fatalf("masked fact shows as %q", row.Status)
		}
	} else if diff := cmp.Diff(f.SlotFact, row.SlotFact, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("fact differs:\n%s", diff)
	}
	for _, ref := range f.Sources {
		rows, err := s.FactsBySource(k.Tenant, ref.Episode)
		if err != nil || !slices.ContainsFunc(rows, func(r FactRow) bool { return r.Fact == k.ID && r.Masked == masked }) {
			t.Fatalf("fact is not found by its source: %v", err)
		}
		if ref.Subject == "" || ref.Subject == f.Subject {
			continue
		}
		rows, err = s.FactsBySourceSubject(k.Tenant, ref.Subject)
		if err != nil || !slices.ContainsFunc(rows, func(r FactRow) bool { return r.Fact == k.ID }) {
			t.Fatalf("fact is not found by its source's subject: %v", err)
		}
	}
}

// checkSubject holds lists, pages, both axes of time, and the index against the model.
func checkSubject(t fataler, s *Snapshot, m *fold.State, k fold.Key) {
	t.Helper()
	_, gone := m.Subjects[k]
	if s.SubjectForgotten(k.Tenant, k.ID) != gone {
		t.Fatalf("subject forgotten: want %v", gone)
	}
	if held := len(m.Holds[k]) > 0; s.Held(k.Tenant, k.ID) != held {
		t.Fatalf("subject held: want %v", held)
	}
	var episodes []string
	all := 0
	for ek, e := range m.Episodes {
		if ek.Tenant == k.Tenant && e.Subject == k.ID {
			episodes = append(episodes, fmt.Sprintf("%020d %s", e.Position, ek.ID))
		}
	}
	slices.Sort(episodes)
	var got []string
	for after, n := "", 0; n == 0 || after != ""; n++ {
		rows, next, err := s.Episodes(k.Tenant, EpisodeFilter{Subject: k.ID, After: after, Limit: 3})
		if err != nil {
			t.Fatalf("list episodes: %v", err)
		}
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%020d %s", r.Position, r.ID))
		}
		after = next
	}
	if diff := cmp.Diff(episodes, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("episodes differ:\n%s", diff)
	}
	var facts []*fold.Fact
	docs, currentDocs := len(episodes), 0
	for ek, e := range m.Episodes {
		if ek.Tenant != k.Tenant || e.Subject != k.ID {
			continue
		}
		src := m.Sources[fold.Key{Tenant: k.Tenant, ID: e.Source}]
		if e.Source == "" || src == nil || src.IsCurrent(e.Revision, e.Position) {
			currentDocs++
		}
	}
	for fk, f := range m.Facts {
		if fk.Tenant != k.Tenant || f.Subject != k.ID {
			continue
		}
		all++
		if m.Masked(k.Tenant, f) {
			continue
		}
		facts = append(facts, f)
		if indexed(&f.SlotFact, false) {
			docs++
			if isCurrent(m, k.Tenant, f, nil, nil) {
				currentDocs++
			}
		}
	}
	if e, f := s.SubjectCounts(k.Tenant, k.ID); e != len(episodes) || f != all {
		t.Fatalf("counts %d, %d; want %d, %d", e, f, len(episodes), all)
	}
	c, err := s.Candidates(context.Background(), index.Query{Filter: index.Filter{Tenant: k.Tenant, Subjects: []string{k.ID}}})
	if err != nil || c.Eligible != docs {
		t.Fatalf("index has %d documents, want %d: %v", c.Eligible, docs, err)
	}
	sources, err := s.Sources(k.Tenant)
	if err != nil {
		t.Fatalf("read sources: %v", err)
	}
	c, err = s.Candidates(context.Background(), index.Query{
		Filter: index.Filter{Tenant: k.Tenant, Subjects: []string{k.ID}, Current: sources.Now().Filter()},
	})
	if err != nil || c.Eligible != currentDocs {
		t.Fatalf("index has %d current documents, want %d: %v", c.Eligible, currentDocs, err)
	}
	_, total, err := s.MemoryIDs(k.Tenant, index.Filter{Subjects: []string{k.ID}}, 0)
	if err != nil || total != len(episodes)+len(facts) {
		t.Fatalf("memory ids: %d, want %d: %v", total, len(episodes)+len(facts), err)
	}
	checkFactLists(t, s, m, k, facts)
}

// isCurrent goes by the sources of a fact one by one, now or as of a time.
func isCurrent(m *fold.State, tenant string, f *fold.Fact, valid, known *time.Time) bool {
	there := 0
	for _, ref := range f.Sources {
		if ref.Subject == "" {
			continue
		}
		there++
		src := m.Sources[fold.Key{Tenant: tenant, ID: ref.Source}]
		if ref.Source == "" || src == nil {
			return true
		}
		var recorded time.Time
		if known != nil {
			recorded = *known
		}
		if valid == nil && src.IsCurrent(ref.Revision, ref.At) ||
			valid != nil && src.WasCurrent(ref.Revision, ref.At, *valid, recorded) {
			return true
		}
	}
	return there == 0
}

func checkFactLists(t fataler, s *Snapshot, m *fold.State, k fold.Key, facts []*fold.Fact) {
	t.Helper()
	times := []time.Time{day(-1), day(3), day(9), day(40)}
	known := []*time.Time{nil}
	for _, f := range facts {
		for _, r := range f.Revisions {
			known = append(known, &r.From)
		}
	}
	known = known[:min(len(known), 6)]
	for _, kn := range known {
		for _, f := range facts {
			want, wantFound := revisionKnown(f, kn)
			got, found, err := s.FactRevision(k.Tenant, f.Fact, kn)
			if err != nil || found != wantFound || found && (got.Status != want.Status || !equalIntervals(got.Valid, want.Valid)) {
				t.Fatalf("revision known at %v: %v %+v, want %v %+v: %v", kn, found, got, wantFound, want, err)
			}
		}
	}
	for _, at := range times {
		for _, kn := range known {
			for _, mode := range []string{"now", "as of", "history"} {
				filter := FactFilter{Subject: k.ID, Now: at, KnownAt: kn, History: mode == "history", Limit: 2}
				if mode == "as of" {
					filter.ValidAt = &at
				}
				var want []string
				for _, f := range facts {
					r, ok := revisionKnown(f, kn)
					if !ok {
						continue
					}
					trueAt := slices.ContainsFunc(r.Valid, func(iv events.Interval) bool { return iv.Contains(at) })
					if mode == "history" {
						trueAt = r.Status == events.StatusActive || r.Status == events.StatusSuperseded || r.Status == events.StatusRetracted
					}
					var valid *time.Time
					if mode != "history" && (kn != nil || mode == "as of") {
						valid = &at
					}
					current := isCurrent(m, k.Tenant, f, valid, kn)
					if trueAt && (current || mode == "history") {
						want = append(want, fmt.Sprint(f.Fact, r.Status, !current))
					}
				}
				slices.Sort(want)
				var got []string
				for n := 0; n == 0 || filter.After != ""; n++ {
					rows, next, err := s.Facts(k.Tenant, filter)
					if err != nil {
						t.Fatalf("list facts: %v", err)
					}
					for _, r := range rows {
						got = append(got, fmt.Sprint(r.Fact, r.Status, r.Retired))
					}
					filter.After = next
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("facts at %v known at %v (%s) differ:\n%s", at, kn, mode, diff)
				}
			}
		}
	}
}

func revisionKnown(f *fold.Fact, kn *time.Time) (fold.Revision, bool) {
	for _, r := range slices.Backward(f.Revisions) {
		if kn == nil || !r.From.After(*kn) {
			return r, true
		}
	}
	return fold.Revision{}, false
}

// checkDerived holds that no derived row leads to nothing.
func checkDerived(t fataler, s *Snapshot) {
	t.Helper()
	err := scan(s.facts, []byte{sortID}, nil, func(k, v []byte) (bool, error) {
		tenant, _, _ := cutPart(k[1:])
		p, err := decodeFactPlace(v)
		if err != nil || p.dead {
			return true, err
		}
		_, err = s.storedFact(tenant, p.sid, p.slot, p.order)
		return true, err
	})
	if err != nil {
		t.Fatalf("id row leads nowhere: %v", err)
	}
	for _, sort := range []byte{sortFromEpisode, sortFromSubject} {
		err := scan(s.facts, []byte{sort}, nil, func(k, v []byte) (bool, error) {
			tenant, rest, _ := cutPart(k[1:])
			_, rest, _ = cutPart(rest)
			slot, rest, _ := cutPart(rest)
			o, _ := cutOrder(rest)
			_, err := s.storedFact(tenant, string(v), slot, o)
			return true, err
		})
		if err != nil {
			t.Fatalf("lineage row %c leads nowhere: %v", sort, err)
		}
	}
	for _, tenant := range tenantsIn(s) {
		if _, _, err := s.Reviewed(tenant, "", 1_000); err != nil {
			t.Fatalf("review row leads nowhere: %v", err)
		}
	}
	err = scan(s.memories, []byte{sortEpisodeOrder}, nil, func(k, v []byte) (bool, error) {
		tenant, rest, _ := cutPart(k[1:])
		position, _ := cutPosition(rest)
		_, err := s.episodeAt(tenant, string(v), position)
		return true, err
	})
	if err != nil {
		t.Fatalf("order row leads nowhere: %v", err)
	}
}

// checkSums holds that the sum of each subject is that of its records, and that nothing is left to clear.
func checkSums(t fataler, s *Snapshot) {
	t.Helper()
	for _, r := range []pebble.Reader{s.facts, s.memories, s.traces} {
		want, got := map[string]subjectSum{}, map[string]subjectSum{}
		err := scan(r, nil, nil, func(k, v []byte) (bool, error) {
			switch k[0] {
			case sortClearing:
				t.Fatalf("something is left to clear")
			case sortSum:
				sum, err := decodeSum(v)
				if err == nil {
					got[string(k)] = *sum
				}
				return true, err
			}
			sum := sumOfRow(k)
			switch k[0] {
			case sortTrace:
				st := newTraceState()
				if err := decodeTrace(v, st); err != nil {
					return false, err
				}
				if st.Subject != "" {
					tenant, _, _ := cutPart(k[1:])
					sum = sumKey(tenant, st.Subject)
				}
			case sortUnopened:
				tenant, rest, _ := cutPart(k[1:])
				sid, _, _ := cutPart(rest)
				sum = sumKey(tenant, sid)
			}
			if sum == nil {
				return true, nil
			}
			w := want[string(sum)]
			switch k[0] {
			case sortUnopened:
				w.unopened++
				w.records--
			case sortEpisode:
				w.episodes++
			case sortFact:
				w.facts++
			}
			if w.records++; k[0] != sortUnopened {
				w.digest.add(rowDigest(k, v))
			}
			want[string(sum)] = w
			return true, nil
		})
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(subjectSum{})); diff != "" {
			t.Fatalf("sums of subjects differ:\n%s", diff)
		}
	}
}

func tenantsIn(s *Snapshot) []string {
	seen := map[string]bool{}
	if err := scan(s.facts, []byte{sortReviewed}, nil, func(k, _ []byte) (bool, error) {
		tenant, _, _ := cutPart(k[1:])
		seen[tenant] = true
		return true, nil
	}); err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(seen))
}

func digests(v *Views) string {
	var b strings.Builder
	for _, st := range v.Status(context.Background()) {
		fmt.Fprintf(&b, "%s %d %s %d parked=%d unopened=%d\n", st.Projection, st.Position, st.Digest, st.Records, st.Parked, st.Unopened)
	}
	return b.String()
}
