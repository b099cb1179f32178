package bench

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// once is an encoder whose answers are known: the embedding excluded.
type once struct {
	query.Encoder

	vectors map[string][]float32
}

func (o *once) fill(ctx context.Context, queries []string) error {
	for _, q := range queries {
		v, err := o.Encoder.EncodeQuery(ctx, q)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		o.vectors[q] = v
	}
	return nil
}

// EncodeQuery looks the answer up.
func (o *once) EncodeQuery(_ context.Context, text string) ([]float32, error) {
	return o.vectors[text], nil
}

const (
	// questions is how many different ones are asked, so that few find the keys of
	// their answers in the cache.
	questions = 1024
	// fewestRecalls is how many recalls a median is of, at least.
	fewestRecalls = 500
)

// standInVectors is in the name of every figure of a node with [StandIn].
const standInVectors = "_stand_in_vectors"

// recall measures recall in one scope as it grows. With a stand-in for the model
// there is nothing to say about the time of embedding.
func (b *bench) recall(ctx context.Context, sizes []int) error {
	queries := make([]string, questions)
	for i := range queries {
		queries[i] = b.w.Sentence(8)
	}
	memo := &once{Encoder: b.n.Encoder(), vectors: map[string][]float32{}}
	if err := memo.fill(ctx, queries); err != nil {
		return err
	}
	encoders := []struct {
		suffix  string
		encoder query.Encoder
	}{{"_without_embedding", memo}, {"_with_embedding", b.n.Encoder()}}
	if b.standIn {
		encoders = encoders[:1]
		encoders[0].suffix = standInVectors
	}
	for i, size := range sizes {
		if err := b.grow(ctx, size); err != nil {
			return err
		}
		for _, e := range encoders {
			service, err := b.n.QueryWith(e.encoder)
			if err != nil {
				return fmt.Errorf("query: %w", err)
			}
			ask := func(i int) error {
				_, err := service.Recall(ctx, b.caller, query.RecallRequest{Query: queries[i%len(queries)], Subject: "scope"})
				if err != nil {
					return fmt.Errorf("recall: %w", err)
				}
				return nil
			}
			if _, err := timed(10, ask); err != nil { // warm up
				return err
			}
			stop, err := b.profile(i == len(sizes)-1 && e.encoder == query.Encoder(memo))
			if err != nil {
				return err
			}
			d, err := timed(max(fewestRecalls, min(b.o.Calls*100/size, b.o.Calls)), ask)
			stop()
			if err != nil {
				return err
			}
			b.r["recall_"+strconv.Itoa(size)+e.suffix] = latencies(d)
		}
	}
	return nil
}

// profile begins a CPU profile if one is wanted, and returns what ends it. The
// last one that is made is the one that stays.
func (b *bench) profile(now bool) (stop func(), err error) {
	if !now || b.o.CPUProfile == "" {
		return func() {}, nil
	}
	f, err := os.Create(b.o.CPUProfile)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // the profile is cut short at worst
	}, nil
}

// grow fills the scope up to a size by batches, and measures the largest fill.
func (b *bench) grow(ctx context.Context, size int) error {
	from, start := b.scope, time.Now()
	for b.scope < size {
		n := min(batchSize, size-b.scope)
		if _, err := b.captureBatch(ctx, "scope", n); err != nil {
			return err
		}
		b.scope += n
		b.o.Progress("import", b.scope, size)
	}
	suffix := ""
	if b.standIn {
		suffix = standInVectors
	}
	b.r["batch_import"+suffix] = b.against(rate(b.scope-from, time.Since(start)), "raw_publish_16_writers")
	embedded := time.Now()
	b.o.Progress("embed", 0, 0)
	if err := b.n.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	b.r["embed_and_index"+suffix] = rate(size-from, time.Since(embedded))
	return nil
}

// captureBatch captures n episodes about a subject at once and returns their ids.
func (b *bench) captureBatch(ctx context.Context, subject string, n int) ([]string, error) {
	items := make([]producers.CaptureRequest, n)
	for i := range items {
		items[i] = b.episode(subject)
	}
	got, err := b.n.Gateway().CaptureBatch(ctx, b.caller, "", producers.CaptureBatchRequest{Items: items})
	if err != nil {
		return nil, fmt.Errorf("capture batch: %w", err)
	}
	ids := make([]string, 0, n)
	for _, item := range got.Results {
		if item.Error != nil {
			return nil, fmt.Errorf("capture batch: %w", item.Error.Err)
		}
		ids = append(ids, item.ID)
	}
	b.memories.Add(int64(len(ids)))
	return ids, nil
}
