package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/tombstones"
)

// One block of the mix: what some hundred sessions leave in the log. With its
// vectors it is a thousand messages or a little less.
const (
	mixEpisodes = 380
	mixSlots    = 45
	mixValues   = 2 // per slot, the later ones superseding
	mixTraces   = 50
	mixForgets  = 2
	// A subject that is forgotten as a whole is small, for the end of each key
	// costs the store some 25 ms.
	briefEvery    = 4
	briefEpisodes = 3
)

// mix appends blocks until the log has that many messages at least. All of it
// is folded when it returns.
func (b *bench) mix(ctx context.Context, messages uint64) error {
	for {
		if err := b.n.Settle(ctx); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		state, err := b.n.Log().State(ctx)
		if err != nil {
			return fmt.Errorf("state: %w", err)
		}
		b.o.Progress("mix", int(state.Messages), int(messages)) //nolint:gosec // Far below what an int holds.
		if state.Messages >= messages {
			return nil
		}
		// Several at once: settling costs more than a block.
		for range max(1, min(10, (messages-state.Messages)/1_000)) {
			if err := b.block(ctx); err != nil {
				return err
			}
		}
	}
}

func (b *bench) block(ctx context.Context) error {
	b.mixed++
	subject := "mix-" + strconv.Itoa(b.mixed)
	ids, err := b.captureBatch(ctx, subject, mixEpisodes)
	if err != nil {
		return err
	}
	observed := time.Now().Add(-time.Hour)
	for i := range mixSlots * mixValues {
		source := ids[mixForgets+i%(len(ids)-mixForgets)]
		got, err := b.n.Gateway().Propose(ctx, b.caller, "", producers.ProposeRequest{
			Subject: subject, Predicate: "p" + strconv.Itoa(i%mixSlots), Value: jsontext.Value(strconv.Quote(b.w.Sentence(3))),
			Category: "general", Confidence: new(1.0), SourceEpisodes: []string{source},
			ObservedAt: new(events.At(observed.Add(time.Duration(i) * time.Second))),
		})
		if err != nil {
			return fmt.Errorf("propose: %w", err)
		}
		if got.FactID == "" {
			return fmt.Errorf("propose: fact %d was not promoted", i)
		}
		b.memories.Add(1)
	}
	for i := range mixTraces {
		recalled := producers.Recall{Query: b.w.Sentence(8), Memories: ids[i : i+10], Weights: "default"}
		if _, _, err := b.n.Gateway().RecordRecall(ctx, b.caller, recalled); err != nil {
			return fmt.Errorf("record recall: %w", err)
		}
	}
	if _, err := b.n.Eraser().Forget(ctx, b.caller, "", tombstones.ForgetRequest{IDs: ids[:mixForgets]}); err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	if b.mixed%briefEvery != 0 {
		return nil
	}
	brief := "brief-" + strconv.Itoa(b.mixed)
	if _, err := b.captureBatch(ctx, brief, briefEpisodes); err != nil {
		return err
	}
	if _, err := b.n.Eraser().ForgetSubject(ctx, b.caller, "", brief, "measured"); err != nil {
		return fmt.Errorf("forget subject: %w", err)
	}
	return nil
}
