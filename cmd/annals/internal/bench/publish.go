package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const rawStream = "BENCH"

// rawPublish is the reference: JetStream alone, one message after another and
// many in flight, each of the size that a captured episode has in the log.
func (b *bench) rawPublish(ctx context.Context) error {
	js, err := jetstream.New(b.n.Conn())
	if err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: rawStream, Subjects: []string{"bench.>"}}); err != nil {
		return fmt.Errorf("make stream: %w", err)
	}
	payload := make([]byte, 800)
	var seq atomic.Int64
	publish := func(int) error {
		_, err := js.Publish(ctx, "bench."+strconv.FormatInt(seq.Add(1), 10), payload, jetstream.WithExpectLastSequencePerSubject(0))
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		return nil
	}
	if _, err := timed(b.o.Calls, publish); err != nil { // warm up
		return err
	}
	d, err := timed(b.o.Calls, publish)
	if err != nil {
		return err
	}
	b.r["raw_publish"] = latencies(d)
	// A processor that slept answers later than one that spins: what is compared
	// with single calls on an idle node is measured on an idle server.
	var alone []time.Duration
	for i := range min(b.o.Calls, 500) {
		<-time.After(idle) // the pause itself is wanted
		start := time.Now()
		if err := publish(i); err != nil {
			return err
		}
		alone = append(alone, time.Since(start))
	}
	b.r["raw_publish_idle"] = latencies(alone)
	many, err := b.parallel(ctx, publish)
	if err != nil {
		return err
	}
	b.r["raw_publish_16_writers"] = many
	if err := js.DeleteStream(ctx, rawStream); err != nil {
		return fmt.Errorf("delete stream: %w", err)
	}
	return nil
}

func (b *bench) parallel(_ context.Context, f func(int) error) (Figure, error) {
	const writers = 16
	start := time.Now()
	var g errgroup.Group
	for range writers {
		g.Go(func() error {
			for i := range b.o.Calls / writers {
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return Figure{}, err //nolint:wrapcheck // f has wrapped it.
	}
	return rate(b.o.Calls/writers*writers, time.Since(start)), nil
}

// against adds the ratio of a latency or a rate to a reference's.
func (b *bench) against(f Figure, of string) Figure {
	ref := b.r[of]
	f.Of = of
	if f.P50ms > 0 && ref.P50ms > 0 {
		f.Ratio = f.P50ms / ref.P50ms
	} else {
		f.Ratio = f.PerSecond / ref.PerSecond
	}
	return f
}
