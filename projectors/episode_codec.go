package projectors

import "github.com/annals-memory/annals/events"

func episodeKey(tenant, sid string, position uint64) key {
	return newKey(sortEpisode).part(tenant).part(sid).position(position)
}

// episodePlace is where an episode's row is, or that it has a tombstone.
type episodePlace struct {
	sid      string
	position uint64
	dead     bool
}

func (p episodePlace) encode() []byte {
	var e encoder
	e.bool(p.dead)
	e.string(p.sid)
	e.uint(p.position)
	return e.b
}

func decodeEpisodePlace(value []byte) (episodePlace, error) {
	d := decoder{b: value}
	p := episodePlace{dead: d.bool(), sid: d.string(), position: d.uint()}
	return p, d.err()
}

// encodeEpisode leaves the tenant out, which is in the key, and knows no tombstones.
func encodeEpisode(r *EpisodeRow) []byte {
	e := encoder{b: make([]byte, 0, 256+len(r.Content))}
	e.string(r.ID)
	e.string(r.Subject)
	e.string(r.Class)
	e.time(r.OccurredAt)
	e.bool(r.OccurredUnknown)
	e.uint(uint64(r.Trust))
	e.string(r.Sensitivity)
	e.string(r.Session)
	e.string(r.Source)
	e.strings(r.Entities)
	e.strings(r.Labels)
	e.string(r.Revision)
	e.strings(r.Traces)
	encodeGuard(&e, &r.Guard)
	e.uint(uint64(r.Released))
	e.bytes(r.Content)
	e.string(r.ContentType)
	e.uint(r.Position)
	e.time(r.RecordedAt)
	e.string(r.Principal)
	return e.b
}

func decodeEpisode(value []byte) (EpisodeRow, error) {
	d := decoder{b: value}
	var r EpisodeRow
	r.ID = d.string()
	r.Subject = d.string()
	r.Class = d.string()
	r.OccurredAt = d.time()
	r.OccurredUnknown = d.bool()
	r.Trust = events.Trust(d.uint()) //nolint:gosec // written from a Trust.
	r.Sensitivity = d.string()
	r.Session = d.string()
	r.Source = d.string()
	r.Entities = d.strings()
	r.Labels = d.strings()
	r.Revision = d.string()
	r.Traces = d.strings()
	decodeGuard(&d, &r.Guard)
	r.Released = events.Trust(d.uint()) //nolint:gosec // written from a Trust.
	r.Content = d.bytes()
	r.ContentType = d.string()
	r.Position = d.uint()
	r.RecordedAt = d.time()
	r.Principal = d.string()
	return r, d.err()
}
