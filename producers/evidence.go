package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// evidence asks the log about every source, in the order of the request. An
// episode of another tenant is not found: the tenant is part of its subject.
func (g *Gateway) evidence(ctx context.Context, tenant string, sources []string) ([]Evidence, error) {
	list := make([]Evidence, len(sources))
	lives := make(map[string]string) // subject id to its erasure, "" if alive
	for i, s := range sources {
		id := token.CanonicalID(s)
		if id == "" {
			continue // no id of ours, and perhaps somebody's name: it goes no further
		}
		e, err := g.sourceEvidence(ctx, tenant, id)
		if err != nil {
			return nil, err
		}
		if e.Found && !e.Forgotten {
			erasure, known := lives[e.Ref.Subject]
			if !known {
				subject, err := events.ReadSubject(ctx, g.log, tenant, e.Ref.Subject)
				if err != nil {
					return nil, fmt.Errorf("read subject of source: %w", err)
				}
				erasure = subject.Erasure
				lives[e.Ref.Subject] = erasure
			}
			e.Erasure, e.Forgotten = erasure, erasure != ""
		}
		list[i] = e
	}
	return list, nil
}

func (g *Gateway) sourceEvidence(ctx context.Context, tenant, id string) (Evidence, error) {
	e := Evidence{Ref: events.SourceRef{Episode: id}}
	last, err := g.log.Last(ctx, events.Aggregate{Tenant: tenant, Kind: events.KindEpisode, ID: id})
	if errors.Is(err, events.ErrNoCommits) {
		return e, nil
	}
	if err != nil {
		return Evidence{}, fmt.Errorf("read source: %w", err)
	}
	for _, ev := range last.Events {
		switch ev := ev.(type) {
		case events.EpisodeCaptured:
			e.Found, e.Ref.Subject, e.Trust = true, ev.Subject, ev.Trust
			e.Ref.Source, e.Ref.Revision, e.Ref.At = ev.Source, ev.Revision, last.Position
		case events.EpisodeForgotten:
			e.Found, e.Forgotten = true, true
			e.Ref.Subject, e.Erasure = ev.Subject, ev.Erasure
		default:
		}
	}
	return e, nil
}
