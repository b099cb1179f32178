package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/annals-memory/annals/projectors"
)

// replayed is the least number of messages that a replay is measured over.
const replayed = 100_000

// errReplayDiffers says that a replay came to another view than the live one.
var errReplayDiffers = errors.New("a replayed view differs from the live one")

// replayQuarter measures the heap of a replay when the log has a quarter of the
// length that it will have at the end.
func (b *bench) replayQuarter(ctx context.Context, sizes []int) error {
	length := uint64(replayed / 4)
	if len(sizes) > 0 {
		// The scope will add two messages for each episode, three quarters of all.
		length = max(length, uint64(slices.Max(sizes))*2/3) //nolint:gosec // A size is positive.
	}
	if err := b.mix(ctx, length); err != nil {
		return err
	}
	b.quarter = length
	_, peak, err := b.replay(ctx)
	if err != nil {
		return err
	}
	b.r["replay_heap_peak_quarter"] = peak
	return nil
}

// replayAll measures the replay of each view beside a reader that does nothing.
func (b *bench) replayAll(ctx context.Context) error {
	if err := b.mix(ctx, 4*b.quarter); err != nil {
		return err
	}
	state, err := b.n.Log().State(ctx)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	read, start := 0, time.Now()
	rctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for m, err := range b.n.Log().Follow(rctx, 0) {
		if err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		if read++; m.Position >= state.Last {
			break
		}
	}
	b.r["replay_log_messages"] = Figure{N: read}
	b.r["raw_ordered_consumer"] = rate(read, time.Since(start))
	rates, peak, err := b.replay(ctx)
	if err != nil {
		return err
	}
	for name, f := range rates {
		b.r["replay_"+name] = b.against(f, "raw_ordered_consumer")
	}
	b.r["replay_heap_peak"] = peak
	return nil
}

// replay builds every view anew, and returns how fast each was and the highest
// heap of all. What it builds must be what is there.
func (b *bench) replay(ctx context.Context) (rates map[string]Figure, highest Figure, err error) {
	rates = make(map[string]Figure)
	for _, name := range []string{projectors.Facts, projectors.Memories, projectors.Traces} {
		peak := watchHeap()
		result, err := b.n.Views().Replay(ctx, name, func(p projectors.Progress) {
			b.o.Progress("replay "+name, int(p.Position), int(p.Target)) //nolint:gosec // A position fits an int for ever.
		})
		bytes := float64(peak())
		if err != nil {
			return nil, Figure{}, fmt.Errorf("replay %s: %w", name, err)
		}
		if result.Old != result.New {
			return nil, Figure{}, fmt.Errorf("replay %s: %w", name, errReplayDiffers)
		}
		rates[name] = rate(int(result.Events), result.Elapsed) //nolint:gosec // A count.
		highest.Bytes = max(highest.Bytes, bytes)
	}
	return rates, highest, nil
}
