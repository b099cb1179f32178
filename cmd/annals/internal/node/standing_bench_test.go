package node_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/cmd/annals/internal/bench"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// BenchmarkStanding shows what it costs a recall among 10,000 episodes to know what
// stands: of episodes without facts, with one each that holds, and with one each of
// which every second was superseded.
func BenchmarkStanding(b *testing.B) {
	const episodes, batch = 10_000, 1_000
	n, err := node.Open(b.Context(), node.Options{Data: b.TempDir(), Durability: "process", Model: bench.StandIn{}, CacheBytes: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	stop := n.Start(b.Context())
	b.Cleanup(func() {
		if err := stop(); err != nil {
			b.Error(err)
		}
		if err := n.Close(); err != nil {
			b.Error(err)
		}
	})
	caller := auth.Local()
	perSlot := map[string]int{"none": 0, "holds": 1, "superseded": 2}
	for subject, per := range perSlot {
		w := bench.NewWriter(1)
		for i := 0; i < episodes; i += batch {
			items := make([]producers.CaptureRequest, batch)
			for j := range items {
				items[j] = producers.CaptureRequest{Subject: subject, Text: w.Sentence(14), Source: events.Source{Kind: "bench", Ref: "-"}}
			}
			out, err := n.Gateway().CaptureBatch(b.Context(), caller, "", producers.CaptureBatchRequest{Items: items})
			if err != nil {
				b.Fatal(err)
			}
			for j, r := range out.Results {
				if per == 0 {
					break
				}
				k := i + j
				got, err := n.Gateway().Propose(b.Context(), caller, "", producers.ProposeRequest{
					Subject: subject, Predicate: "p" + strconv.Itoa(k/per), Value: jsontext.Value(strconv.Itoa(k)), Category: "general",
					Confidence: new(1.0), ObservedAt: new(events.At(time.Now().Add(time.Duration(k-episodes) * time.Second))), SourceEpisodes: []string{r.ID},
				})
				if err != nil || got.FactID == "" {
					b.Fatalf("propose: %+v, %v", got, err)
				}
			}
		}
	}
	if err := n.Settle(b.Context()); err != nil {
		b.Fatal(err)
	}
	service, err := n.QueryWith(n.Encoder())
	if err != nil {
		b.Fatal(err)
	}
	w := bench.NewWriter(2)
	questions := make([]string, 64)
	for i := range questions {
		questions[i] = w.Sentence(8)
	}
	for subject := range perSlot {
		b.Run(subject, func(b *testing.B) {
			b.ReportAllocs()
			all := make([]time.Duration, 0, b.N)
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				_, err := service.Recall(b.Context(), caller, query.RecallRequest{
					Query: questions[i%len(questions)], Subject: subject, Kinds: []string{"episode"},
				})
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, time.Since(start))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
		})
	}
}
