package eventstest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
)

// Token draws a token.
func Token(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-z0-9-]{1,64}`).Draw(t, label)
}

// Time draws a time as it stands in events: UTC, to the microsecond, in any
// year that can be written.
func Time(t *rapid.T, label string) time.Time {
	first := time.Date(1, time.January, 1, 0, 0, 0, 1_000, time.UTC).UnixMicro()
	last := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC).UnixMicro()
	return time.UnixMicro(rapid.Int64Range(first, last).Draw(t, label)).UTC()
}

// Intervals draws a valid time: up to three intervals, disjoint and ascending,
// only the last of them open, if any.
func Intervals(t *rapid.T, label string) []events.Interval {
	const centuries = 400 * 365 * 24 * 60 // minutes
	cuts := rapid.SliceOfNDistinct(rapid.IntRange(0, centuries), 0, 6, rapid.ID).Draw(t, label)
	slices.Sort(cuts)
	out := []events.Interval{}
	for pair := range slices.Chunk(cuts, 2) {
		iv := events.Interval{From: Epoch().Add(time.Duration(pair[0]) * time.Minute)}
		if len(pair) == 2 {
			iv.To = Epoch().Add(time.Duration(pair[1]) * time.Minute)
		}
		out = append(out, iv)
	}
	return out
}

// Commit draws a valid commit with one to five events of any types.
func Commit(t *rapid.T) events.Commit {
	list := make([]events.Event, rapid.IntRange(1, 5).Draw(t, "events"))
	for i := range list {
		list[i] = Event(t)
	}
	return CommitOf(t, list...)
}

// CommitOf draws a valid commit around the given events.
func CommitOf(t *rapid.T, list ...events.Event) events.Commit {
	return events.Commit{
		ID: Token(t, "commit"),
		Aggregate: events.Aggregate{
			Tenant: Token(t, "tenant"),
			Kind: rapid.SampledFrom([]events.Kind{
				events.KindEpisode, events.KindFact, events.KindSubject, events.KindSource, events.KindProcedure,
				events.KindTrajectory, events.KindPolicy, events.KindVector, events.KindTrace,
			}).Draw(t, "kind"),
			ID: Token(t, "id"),
		},
		Time:        Time(t, "time"),
		Principal:   maybe(t, "principal", Token),
		TraceParent: rapid.SampledFrom([]string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}).Draw(t, "trace parent"),
		Events:      list,
	}
}

// Event draws an event of any type.
func Event(t *rapid.T) events.Event {
	types := Types()
	return EventOf(t, types[rapid.IntRange(0, len(types)-1).Draw(t, "type")])
}

// maybe draws from draw, or the zero value.
func maybe[V any](t *rapid.T, label string, draw func(*rapid.T, string) V) V {
	if !rapid.Bool().Draw(t, "with "+label) {
		var zero V
		return zero
	}
	return draw(t, label)
}

// list draws up to three values; it is never nil, as what was read is not.
func list[V any](t *rapid.T, label string, draw func(*rapid.T, string) V) []V {
	out := make([]V, rapid.IntRange(0, 3).Draw(t, "number of "+label))
	for i := range out {
		out[i] = draw(t, label)
	}
	return out
}

// some is like list, but nil where it is empty: for fields that are left out
// then.
func some[V any](t *rapid.T, label string, draw func(*rapid.T, string) V) []V {
	if out := list(t, label, draw); len(out) > 0 {
		return out
	}
	return nil
}

func content(t *rapid.T) []byte {
	return rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "content")
}

func text(t *rapid.T, label string) string { return rapid.String().Draw(t, label) }

func trust(t *rapid.T) events.Trust {
	return events.Trust(rapid.IntRange(int(events.TrustExternal), int(events.TrustSystem)).Draw(t, "trust"))
}

// episode draws one of few ids, most of the time, so that the events of a
// history meet.
func episode(t *rapid.T, label string) string {
	if rapid.IntRange(0, 3).Draw(t, "any "+label) == 3 {
		return Token(t, label)
	}
	return rapid.SampledFrom([]string{"episode-a", "episode-b", "episode-c"}).Draw(t, label)
}

func source(t *rapid.T, label string) events.SourceRef {
	return events.SourceRef{
		Episode: episode(t, label), Subject: maybe(t, "subject of "+label, Token),
		Source: maybe(t, "source of "+label, Token), Revision: maybe(t, "revision of "+label, Token),
		At: maybe(t, "position of "+label, position),
	}
}
