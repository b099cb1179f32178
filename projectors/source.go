package projectors

import (
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

func sourceKey(tenant, source string) key { return newKey(sortSource).part(tenant).part(source) }

// revise writes what the revisions of a source are by now. The row is read back, so the batch settles. Nothing that was
// taken from the source is touched: whether it is current is asked when it is read.
func (e *engine) revise(r *events.Recorded) error {
	k := sourceKey(r.Aggregate.Tenant, r.Aggregate.ID)
	var s events.SourceState
	var old digest
	_, err := get(e.db, k, func(value []byte) (err error) {
		old = rowDigest(k, value)
		s, err = decodeSource(value)
		return err
	})
	if err != nil {
		return err
	}
	s.Apply(*r)
	e.settle = true
	e.state.sources++
	_, err = e.put(k, encodeSource(&s), old)
	return err
}

func encodeSource(s *events.SourceState) []byte {
	var e encoder
	e.uint(s.Position)
	e.uint(uint64(len(s.Revisions)))
	for i := range s.Revisions {
		r := &s.Revisions[i]
		e.string(r.Revision)
		e.time(r.EffectiveAt)
		e.uint(r.At)
		e.time(r.RecordedAt)
		e.string(r.Principal)
	}
	return e.b
}

func decodeSource(value []byte) (s events.SourceState, err error) {
	d := decoder{b: value}
	s.Position = d.uint()
	if n := d.count(); n > 0 {
		s.Revisions = make([]events.Revision, n)
		for i := range s.Revisions {
			r := &s.Revisions[i]
			r.Revision = d.string()
			r.EffectiveAt = d.time()
			r.At = d.uint()
			r.RecordedAt = d.time()
			r.Principal = d.string()
		}
	}
	return s, d.err()
}

// Sources are those of a tenant that have revisions. They must not be changed.
type Sources struct {
	states map[string]events.SourceState
	now    Currency
}

// noSources is what nearly every tenant has.
func noSources() *Sources { return &Sources{} }

// State returns what is known of a source; the zero value of one without revisions.
func (s *Sources) State(source string) events.SourceState { return s.states[source] }

// Now tells what is current.
func (s *Sources) Now() Currency { return s.now }

// At tells what was current at a valid time, as far as was known at a time of record, nil for all that is known.
func (s *Sources) At(valid time.Time, known *time.Time) Currency {
	return s.currency(func(r *events.Revision) bool {
		return !r.EffectiveAt.After(valid) && (known == nil || !r.RecordedAt.After(*known))
	})
}

// currency goes by the last of the revisions that count.
func (s *Sources) currency(counts func(*events.Revision) bool) Currency {
	if len(s.states) == 0 {
		return Currency{}
	}
	c := Currency{current: make(map[string]index.Current, len(s.states))}
	for source, state := range s.states {
		for i := range slices.Backward(state.Revisions) {
			if r := &state.Revisions[i]; counts(r) {
				c.current[source] = index.Current{Revision: r.Revision, After: r.At}
				break
			}
		}
	}
	return c
}

// Currency tells whether a memory is taken from what is, or at some time was, the current revision of its source. The zero
// value holds everything to be.
type Currency struct{ current map[string]index.Current }

// Filter is the same for the search index. It must not be changed.
func (c Currency) Filter() map[string]index.Current { return c.current }

// Episode reports whether an episode is current: it names the revision of its source that is, or none and came after that.
func (c Currency) Episode(row *EpisodeRow) bool {
	return len(c.current) == 0 || c.any(episodeOrigins(&row.EpisodeCaptured, row.Position))
}

// Fact reports whether a fact is current: one of the episodes that it was taken from is. Those of which is not known what
// source they have count as such, and so does a fact without any.
func (c Currency) Fact(f *events.SlotFact) bool {
	return len(c.current) == 0 || c.any(factOrigins(f.Sources))
}

func (c Currency) any(origins []index.Origin) bool {
	f := index.Filter{Current: c.current}
	return len(origins) == 0 || slices.ContainsFunc(origins, f.Admits)
}

func episodeOrigins(e *events.EpisodeCaptured, position uint64) []index.Origin {
	if e.Source == "" {
		return nil
	}
	return []index.Origin{{Source: e.Source, Revision: e.Revision, Seq: position}}
}

// factOrigins are none if one of the episodes has no source that could be revised.
func factOrigins(sources []events.SourceRef) []index.Origin {
	var list []index.Origin
	for _, ref := range sources {
		if ref.Subject == "" { // there is no such episode
			continue
		}
		if ref.Source == "" {
			return nil
		}
		list = append(list, index.Origin{Source: ref.Source, Revision: ref.Revision, Seq: ref.At})
	}
	return list
}

const (
	// maxSourceCache bounds the tenants whose sources are kept in memory, and the sources of one of them.
	maxSourceCache  = 256
	maxSourcesCache = 20_000
)

// sourceCache keeps the sources of tenants between reads: they change seldom.
type sourceCache struct {
	mu       sync.Mutex
	byTenant map[string]cachedSources
}

// cachedSources are sources and what they were read from.
type cachedSources struct {
	sourcesVersion
	*Sources
}

// sourcesVersion is the same as long as no source of any tenant was revised.
type sourcesVersion struct {
	facts, memories         *pebble.DB
	factsCount, memoryCount uint64
}

// Sources returns the sources of the tenant that have revisions: of each what the view knows that is further on. Without any
// in all tenants it costs nothing, and mostly next to nothing.
func (s *Snapshot) Sources(tenant string) (*Sources, error) {
	if s.version.factsCount == 0 && s.version.memoryCount == 0 {
		return noSources(), nil
	}
	s.sources.mu.Lock()
	defer s.sources.mu.Unlock()
	if c, ok := s.sources.byTenant[tenant]; ok && c.sourcesVersion == s.version {
		return c.Sources, nil
	}
	list, err := s.loadSources(tenant)
	if err != nil {
		return nil, err
	}
	if s.sources.byTenant == nil || len(s.sources.byTenant) >= maxSourceCache {
		s.sources.byTenant = make(map[string]cachedSources)
	}
	if len(list.states) <= maxSourcesCache {
		s.sources.byTenant[tenant] = cachedSources{s.version, list}
	}
	return list, nil
}

func (s *Snapshot) loadSources(tenant string) (*Sources, error) {
	out := &Sources{states: make(map[string]events.SourceState)}
	prefix := newKey(sortSource).part(tenant)
	for _, r := range []pebble.Reader{s.facts, s.memories} {
		err := scan(r, prefix, nil, func(k, value []byte) (bool, error) {
			source, _, ok := cutPart(k[len(prefix):])
			if !ok {
				return false, errRow(sortSource)
			}
			state, err := decodeSource(value)
			if err == nil && state.Position > out.states[source].Position {
				out.states[source] = state
			}
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	out.now = out.currency(func(*events.Revision) bool { return true })
	return out, nil
}
