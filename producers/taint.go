package producers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// kindTrace is the kind of a source that is a recall, in whatever case: its ref is the
// id.
const kindTrace = "trace"

// RecallWindow is how long a recall is taken as the context of what its principal
// writes, whatever it says itself, where that is an agent.
const RecallWindow = 15 * time.Minute

// heard is what something may have been made from by way of recalls.
type heard struct {
	// traces are the ids of the recalls, in the order in which they were named.
	traces []string
	// lowest is the lowest trust of what they answered, zero for nothing.
	lowest events.Trust
}

// hearing finds what one caller has heard. It is made for one command.
type hearing struct {
	g       *Gateway
	tenant  string
	channel events.Trust
	// lately is asked only once, and only if it matters.
	lately func() (heard, error)
	traces *readOnce[events.Trust]
	// unknown is the trust of a recall that nobody knows.
	unknown events.Trust
}

// hearing of a principal, given by its token.
func (g *Gateway) hearing(ctx context.Context, tenant, principal string, channel, unknown events.Trust, now time.Time) *hearing {
	return &hearing{
		g: g, tenant: tenant, channel: channel, unknown: unknown,
		lately: sync.OnceValues(func() (heard, error) { return g.recalls.lately(ctx, g.log, tenant, principal, now) }),
		traces: newReadOnce(func(ctx context.Context, id string) (events.Trust, error) {
			e, err := g.readTrace(ctx, tenant, id)
			if errors.Is(err, events.ErrNotFound) {
				return unknown, nil
			}
			if err != nil {
				return 0, err
			}
			return lowestOf(&e, unknown), nil
		}),
	}
}

// lowestOf is the lowest trust that a recall answered with. A log of an earlier
// version does not say.
func lowestOf(e *events.TraceRecalled, unknown events.Trust) events.Trust {
	if e.Lowest == 0 && len(e.Memories) > 0 {
		return unknown
	}
	return e.Lowest
}

// of is the context of a request: the recalls that it names, by itself and among
// its sources. An agent is taken to have written from all that it recalled lately
// as well: it can lower its trust by what it names, and not keep it by what it
// leaves out.
func (h *hearing) of(ctx context.Context, named []string, sources ...events.Source) (heard, error) {
	ids := slices.Clone(named)
	for _, s := range sources {
		if strings.EqualFold(s.Kind, kindTrace) {
			ids = append(ids, s.Ref)
		}
	}
	out, err := h.from(ctx, ids)
	if err != nil || h.channel != events.TrustAgent {
		return out, err
	}
	late, err := h.lately()
	if err != nil {
		return heard{}, err
	}
	for _, id := range late.traces {
		if !slices.Contains(out.traces, id) {
			out.traces = append(out.traces, id)
		}
	}
	out.lowest = lower(out.lowest, late.lowest)
	return out, nil
}

// from is the context that certain recalls are.
func (h *hearing) from(ctx context.Context, ids []string) (heard, error) {
	trusts := make([]events.Trust, len(ids))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	var out heard
	for i, id := range ids {
		if id = token.CanonicalID(id); id == "" {
			trusts[i] = h.unknown // and perhaps somebody's name: it goes no further
			continue
		}
		if slices.Contains(out.traces, id) {
			continue
		}
		out.traces = append(out.traces, id)
		reads.Go(func() (err error) {
			trusts[i], err = h.traces.get(ctx, id)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return heard{}, fmt.Errorf("read traces: %w", err)
	}
	for _, t := range trusts {
		if t != 0 {
			out.lowest = lower(out.lowest, t)
		}
	}
	return out, nil
}

// lower is the lower of two trusts, where zero is none.
func lower(a, b events.Trust) events.Trust {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
