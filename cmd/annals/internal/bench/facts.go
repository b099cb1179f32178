package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// facts measures the read of one current fact among many.
func (b *bench) facts(ctx context.Context) error {
	const perSubject = 10
	subject := func(i int) string { return "fact-" + strconv.Itoa(i/perSubject) }
	predicate := func(i int) string { return "p" + strconv.Itoa(i%perSubject) }
	// A fact needs a source about its own subject, or it is rejected.
	sources := make([]string, 0, b.o.Facts/perSubject+1)
	for i := 0; i < b.o.Facts; i += perSubject {
		source, err := b.n.Gateway().Capture(ctx, b.caller, "", b.episode(subject(i)))
		if err != nil {
			return fmt.Errorf("capture: %w", err)
		}
		sources = append(sources, source.ID)
		b.memories.Add(1)
	}
	observed := time.Now().Add(-time.Hour)
	start := time.Now()
	for i := range b.o.Facts {
		got, err := b.n.Gateway().Propose(ctx, b.caller, "", producers.ProposeRequest{
			Subject: subject(i), Predicate: predicate(i), Value: jsontext.Value(strconv.Quote(b.w.Sentence(3))), Category: "general",
			Confidence: new(1.0), ObservedAt: new(events.At(observed)), SourceEpisodes: []string{sources[i/perSubject]},
		})
		if err != nil {
			return fmt.Errorf("propose: %w", err)
		}
		if got.FactID == "" {
			return fmt.Errorf("propose: fact %d was not promoted", i)
		}
		b.memories.Add(1)
		b.o.Progress("propose", i+1, b.o.Facts)
	}
	b.r["propose"] = rate(b.o.Facts, time.Since(start))
	if err := b.n.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	service, err := b.n.QueryWith(nil)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	d, err := timed(b.o.Calls, func(i int) error {
		i = i * 7919 % b.o.Facts
		got, err := service.Facts(ctx, b.caller, query.FactsRequest{Subject: subject(i), Predicate: predicate(i)})
		if err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		if len(got.Facts) != 1 {
			return fmt.Errorf("facts: %d are current in slot %d", len(got.Facts), i)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.r["current_fact"] = latencies(d)
	return nil
}
