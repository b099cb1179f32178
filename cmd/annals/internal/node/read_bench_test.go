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

// BenchmarkRead shows the time on the wall, at the median and at the 99th
// percentile, and what a read costs of the log's server: messages sent to it,
// which are requests and, behind a recall, the trace.
func BenchmarkRead(b *testing.B) {
	const slots, perSubject, episodes = 2_000, 10, 10_000
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
	caller, w := auth.Local(), bench.NewWriter(1)
	episode := func(subject string) producers.CaptureRequest {
		return producers.CaptureRequest{Subject: subject, Text: w.Sentence(14), Source: events.Source{Kind: "bench", Ref: "-"}}
	}
	subject := func(i int) string { return "fact-" + strconv.Itoa(i/perSubject) }
	predicate := func(i int) string { return "p" + strconv.Itoa(i%perSubject) }
	var source string
	for i := range slots {
		if i%perSubject == 0 {
			got, err := n.Gateway().Capture(b.Context(), caller, "", episode(subject(i)))
			if err != nil {
				b.Fatal(err)
			}
			source = got.ID
		}
		got, err := n.Gateway().Propose(b.Context(), caller, "", producers.ProposeRequest{
			Subject: subject(i), Predicate: predicate(i), Value: jsontext.Value(strconv.Quote(w.Sentence(3))), Category: "general",
			Confidence: new(1.0), ObservedAt: new(events.At(time.Now().Add(-time.Hour))), SourceEpisodes: []string{source},
		})
		if err != nil || got.FactID == "" {
			b.Fatalf("propose: %+v, %v", got, err)
		}
	}
	for range episodes / 1000 {
		items := make([]producers.CaptureRequest, 1000)
		for i := range items {
			items[i] = episode("scope")
		}
		if _, err := n.Gateway().CaptureBatch(b.Context(), caller, "", producers.CaptureBatchRequest{Items: items}); err != nil {
			b.Fatal(err)
		}
	}
	if err := n.Settle(b.Context()); err != nil {
		b.Fatal(err)
	}
	service, err := n.QueryWith(n.Encoder())
	if err != nil {
		b.Fatal(err)
	}
	questions := make([]string, 64)
	for i := range questions {
		questions[i] = w.Sentence(8)
	}
	for name, read := range map[string]func(i int) error{
		"facts": func(i int) error {
			i = i * 7919 % slots
			_, err := service.Facts(b.Context(), caller, query.FactsRequest{Subject: subject(i), Predicate: predicate(i)})
			return err
		},
		"recall": func(i int) error {
			_, err := service.Recall(b.Context(), caller, query.RecallRequest{Query: questions[i%len(questions)], Subject: "scope"})
			return err
		},
		"recall_nothing": func(int) error {
			_, err := service.Recall(b.Context(), caller, query.RecallRequest{Query: "xyzzy", Subject: "fact-1"})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			all, sent := make([]time.Duration, 0, b.N), n.Conn().Stats().OutMsgs
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				if err := read(i); err != nil {
					b.Fatal(err)
				}
				all = append(all, time.Since(start))
			}
			b.ReportMetric(float64(n.Conn().Stats().OutMsgs-sent)/float64(len(all)), "msgs/op")
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
		})
	}
}
