package bench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/query"
)

// Options say how much is measured.
type Options struct {
	// Sizes are the numbers of episodes in one scope at which recall is
	// measured, ascending.
	Sizes []int
	// Calls is the number of single calls per latency.
	Calls int
	// Facts is the number of slots with facts.
	Facts int
	// CPUProfile is a file for a CPU profile of the recalls, "" for none.
	CPUProfile string
	// Progress is told what is being measured.
	Progress func(what string, done, total int)
}

// Run measures a fresh node that runs.
func Run(ctx context.Context, n *node.Node, dir string, o Options) (Report, error) {
	b := &bench{n: n, dir: dir, o: o, r: Report{}, w: NewWriter(1), caller: auth.Local()}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"raw publish", b.rawPublish},
		{"capture", b.capture},
		{"facts", b.facts},
		{"recall", b.recall},
		{"replay", b.replay},
		{"size", b.size},
	} {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b.r, nil
}

type bench struct {
	n      *node.Node
	dir    string
	o      Options
	r      Report
	w      *Writer
	caller events.Caller
	scope  int // episodes in the measured scope so far
}

const (
	turnWords = 14
	rawStream = "BENCH"
	batchSize = 1_000
	// idle is the pause before a call that is to find everything at rest.
	idle = 3 * time.Millisecond
)

func (b *bench) episode(subject string) producers.CaptureRequest {
	return producers.CaptureRequest{
		Subject: subject, Text: b.w.Sentence(turnWords), Source: events.Source{Kind: "bench", Ref: "-"},
	}
}

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

// recall measures recall in one scope as it grows.
func (b *bench) recall(ctx context.Context) error {
	queries := make([]string, 64)
	for i := range queries {
		queries[i] = b.w.Sentence(8)
	}
	memo := &once{Encoder: b.n.Encoder(), vectors: map[string][]float32{}}
	if err := memo.fill(ctx, queries); err != nil {
		return err
	}
	excluded, err := b.n.QueryWith(memo)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	included, err := b.n.QueryWith(b.n.Encoder())
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	for i, size := range b.o.Sizes {
		if err := b.grow(ctx, size); err != nil {
			return err
		}
		if b.o.CPUProfile != "" && i == len(b.o.Sizes)-1 {
			f, err := os.Create(b.o.CPUProfile)
			if err != nil {
				return fmt.Errorf("profile: %w", err)
			}
			defer f.Close() //nolint:errcheck // The profile is cut short at worst.
			if err := pprof.StartCPUProfile(f); err != nil {
				return fmt.Errorf("profile: %w", err)
			}
			defer pprof.StopCPUProfile()
		}
		name := "recall_" + strconv.Itoa(size)
		calls := max(50, b.o.Calls*100/size)
		for _, m := range []struct {
			name    string
			service *query.Service
		}{{name + "_without_embedding", excluded}, {name + "_with_embedding", included}} {
			ask := func(i int) error {
				_, err := m.service.Recall(ctx, b.caller, query.RecallRequest{Query: queries[i%len(queries)], Subject: "scope"})
				if err != nil {
					return fmt.Errorf("recall: %w", err)
				}
				return nil
			}
			if _, err := timed(10, ask); err != nil { // warm up
				return err
			}
			d, err := timed(min(calls, b.o.Calls), ask)
			if err != nil {
				return err
			}
			b.r[m.name] = latencies(d)
		}
	}
	return nil
}

// grow fills the scope up to a size by batches, and measures the largest fill.
func (b *bench) grow(ctx context.Context, size int) error {
	from, start := b.scope, time.Now()
	for b.scope < size {
		n := min(batchSize, size-b.scope)
		items := make([]producers.CaptureRequest, n)
		for i := range items {
			items[i] = b.episode("scope")
		}
		if _, err := b.n.Gateway().CaptureBatch(ctx, b.caller, "", producers.CaptureBatchRequest{Items: items}); err != nil {
			return fmt.Errorf("capture batch: %w", err)
		}
		b.scope += n
		b.o.Progress("import", b.scope, size)
	}
	b.r["batch_import"] = b.against(rate(b.scope-from, time.Since(start)), "raw_publish_16_writers")
	embedded := time.Now()
	b.o.Progress("embed", 0, 0)
	if err := b.n.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	b.r["embed_and_index"] = rate(size-from, time.Since(embedded))
	return nil
}

// replay measures the rebuild of each view beside a reader that does nothing.
func (b *bench) replay(ctx context.Context) error {
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
	b.r["raw_ordered_consumer"] = rate(read, time.Since(start))
	for _, name := range []string{projectors.Facts, projectors.Memories} {
		peak := watchHeap()
		result, err := b.n.Views().Replay(ctx, name, func(p projectors.Progress) {
			b.o.Progress("replay "+name, int(p.Position), int(p.Target)) //nolint:gosec // A position fits an int for ever.
		})
		b.r["replay_"+name+"_heap_peak"] = Figure{Bytes: float64(peak())}
		if err != nil {
			return fmt.Errorf("replay %s: %w", name, err)
		}
		b.r["replay_"+name] = b.against(rate(int(result.Events), result.Elapsed), "raw_ordered_consumer") //nolint:gosec // As above.
	}
	return nil
}

// watchHeap samples the Go heap in use until the returned function is called,
// which returns the highest sample. The store's block cache is outside of it.
func watchHeap() (peak func() uint64) {
	runtime.GC()
	stop, done := make(chan struct{}), make(chan uint64, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var highest uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapInuse)
			select {
			case <-stop:
				done <- highest
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-done
	}
}

// size measures what the memories cost on disk and in memory.
func (b *bench) size(context.Context) error {
	var bytes int64
	err := filepath.WalkDir(b.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err //nolint:wrapcheck // It is wrapped below.
	})
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	b.r["disk_per_memory"] = Figure{Bytes: float64(bytes) / float64(b.scope), N: b.scope}
	runtime.GC()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil // Only Linux tells; elsewhere there is no figure.
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return fmt.Errorf("measure: %w", err)
			}
			b.r["resident"] = Figure{Bytes: kib * 1024}
			b.r["resident_per_memory"] = Figure{Bytes: kib * 1024 / float64(b.scope), N: b.scope}
		}
	}
	return nil
}
