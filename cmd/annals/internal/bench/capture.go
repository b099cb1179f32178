package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

const (
	turnWords = 14
	batchSize = 1_000
	// idle is the pause before a call that is to find everything at rest.
	idle = 3 * time.Millisecond
)

func (b *bench) episode(subject string) producers.CaptureRequest {
	return producers.CaptureRequest{
		Subject: subject, Text: b.w.Sentence(turnWords), Source: events.Source{Kind: "bench", Ref: "-"},
	}
}

// capture measures single captures, captures side by side, batches, and the
// time until a capture is found.
func (b *bench) capture(ctx context.Context) error {
	capture := func(subject string) func(int) error {
		requests := make([]producers.CaptureRequest, b.o.Calls)
		for i := range requests {
			requests[i] = b.episode(subject)
		}
		var next atomic.Int64
		return func(int) error {
			_, err := b.n.Gateway().Capture(ctx, b.caller, "", requests[int(next.Add(1)-1)%len(requests)])
			if err != nil {
				return fmt.Errorf("capture: %w", err)
			}
			b.memories.Add(1)
			return nil
		}
	}
	if _, err := timed(b.o.Calls/4, capture("warm")); err != nil {
		return err
	}
	if err := b.n.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	single := capture("single")
	var alone []time.Duration
	for i := range min(b.o.Calls, 500) {
		start := time.Now()
		if err := single(i); err != nil {
			return err
		}
		alone = append(alone, time.Since(start))
		if err := b.n.Settle(ctx); err != nil { // the next one finds an idle node
			return fmt.Errorf("settle: %w", err)
		}
		<-time.After(idle) // the pause itself is wanted
	}
	b.r["capture"] = b.against(latencies(alone), "raw_publish_idle")
	d, err := timed(b.o.Calls, capture("back"))
	if err != nil {
		return err
	}
	b.r["capture_back_to_back"] = b.against(latencies(d), "raw_publish")
	many, err := b.parallel(ctx, capture("many"))
	if err != nil {
		return err
	}
	b.r["capture_16_writers"] = b.against(many, "raw_publish_16_writers")
	if err := b.n.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	d, err = timed(min(b.o.Calls, 500), func(int) error {
		got, err := b.n.Gateway().Capture(ctx, b.caller, "", b.episode("lag"))
		if err != nil {
			return fmt.Errorf("capture: %w", err)
		}
		b.memories.Add(1)
		if err := b.n.Views().WaitFor(ctx, got.Position); err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.r["capture_to_searchable"] = latencies(d)
	return b.n.Settle(ctx)
}
