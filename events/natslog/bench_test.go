package natslog_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

const (
	benchContent = 512 // about 1 KB as a message
	benchReplay  = 100_000
)

func benchDurabilities() map[string]natslog.Durability {
	return map[string]natslog.Durability{"process": natslog.DurabilityProcess, "power": natslog.DurabilityPower}
}

// BenchmarkAppend is to be read against BenchmarkRawPublish: with bare messages
// of the same size, and with the headers, id and expectation an append has, so
// that the rest is encoding.
func BenchmarkAppend(b *testing.B) {
	for name, d := range benchDurabilities() {
		b.Run(name, func(b *testing.B) {
			log := fresh(b, d).Log()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				if _, err := log.Append(b.Context(), logtest.Episode("acme", fmt.Sprintf("e-%d", i), benchContent), events.ExpectNew); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRawPublish(b *testing.B) {
	for name, d := range benchDurabilities() {
		for _, bare := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/bare=%v", name, bare), func(b *testing.B) { rawPublish(b, d, bare) })
		}
	}
}

func rawPublish(b *testing.B, d natslog.Durability, bare bool) {
	b.Helper()
	_, nc := mustStart(b, natslog.Options{Durability: d})
	mustOpen(b, nc, natslog.Config{})
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 1024)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		m := &nats.Msg{Subject: fmt.Sprintf("annals.1.acme.episode.e-%d", i), Data: data}
		if !bare {
			id := fmt.Sprintf("c-e-%d", i)
			m.Header = nats.Header{
				"ce-id": {id}, "ce-type": {events.CommitType}, "ce-source": {"annals"},
				"ce-time": {"2026-03-04T05:06:07.000008Z"}, "ce-specversion": {"1.0"},
				"annals-events": {events.TypeEpisodeCaptured}, "content-type": {"application/json"},
				"annals-principal": {"agent-1"}, jetstream.MsgIDHeader: {id}, jetstream.ExpectedLastSubjSeqHeader: {"0"},
			}
		}
		if _, err := js.PublishMsg(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendBatch(b *testing.B) {
	for _, size := range []int{2, 100, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			log := fresh(b, natslog.DurabilityPower).Log()
			i := 0
			for b.Loop() {
				batch := make([]events.Pending, size)
				for j := range batch {
					i++
					batch[j].Commit = logtest.Episode("acme", fmt.Sprintf("e-%d", i), benchContent)
				}
				if _, err := log.AppendBatch(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

func BenchmarkReadAggregate(b *testing.B) {
	log := fresh(b, natslog.DurabilityProcess).Log()
	fill(b, log, 2000)
	for _, n := range []int{1, 10, 1000} {
		c := logtest.Vector(fmt.Sprintf("t-%d", n), "r")
		for i := range n {
			c.ID = fmt.Sprintf("c-%d", i)
			if _, err := log.Append(b.Context(), c, events.ExpectAny); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				for _, err := range log.ReadAggregate(b.Context(), c.Aggregate, 0) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func fill(b *testing.B, log events.Appender, n int) {
	b.Helper()
	for i := 0; i < n; i += events.MaxBatch {
		batch := make([]events.Pending, events.MaxBatch)
		for j := range batch {
			batch[j].Commit = logtest.Episode("acme", fmt.Sprintf("f-%d", i+j), benchContent)
		}
		if _, err := log.AppendBatch(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFollow(b *testing.B) {
	_, nc := mustStart(b, natslog.Options{Durability: natslog.DurabilityProcess})
	log := mustOpen(b, nc, natslog.Config{}).Log()
	fill(b, log, benchReplay)
	b.Run("follow", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for _, err := range log.Follow(b.Context(), 0) {
				if err != nil {
					b.Fatal(err)
				}
				if n++; n == benchReplay {
					break
				}
			}
		}
		b.ReportMetric(float64(b.N*benchReplay)/b.Elapsed().Seconds(), "msgs/s")
	})
	b.Run("raw ordered consumer", func(b *testing.B) {
		js, err := jetstream.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			rawReplay(b, js)
		}
		b.ReportMetric(float64(b.N*benchReplay)/b.Elapsed().Seconds(), "msgs/s")
	})
}

// rawReplay reads the whole stream with the client's own ordered consumer, and
// not even the metadata of a message.
func rawReplay(b *testing.B, js jetstream.JetStream) {
	b.Helper()
	consumer, err := js.OrderedConsumer(b.Context(), "EVENTS", jetstream.OrderedConsumerConfig{})
	if err != nil {
		b.Fatal(err)
	}
	done, n := make(chan struct{}), 0
	reading, err := consumer.Consume(func(jetstream.Msg) {
		if n++; n == benchReplay {
			close(done)
		}
	}, jetstream.PullMaxMessages(8192))
	if err != nil {
		b.Fatal(err)
	}
	<-done
	reading.Stop()
	<-reading.Closed()
}

func BenchmarkKeys(b *testing.B) {
	for name, d := range benchDurabilities() {
		keys := fresh(b, d).Keys()
		ctx := context.Background()
		value := make([]byte, 128)
		i := 0
		b.Run(name+"/create", func(b *testing.B) {
			for b.Loop() {
				i++
				if err := keys.Create(ctx, seal.Row{Key: fmt.Sprintf("k3.t.a%d", i), Value: value}); err != nil {
					b.Fatal(err)
				}
			}
		})
		many := make([]string, 1000)
		rows := make([]seal.Row, len(many))
		for j := range many {
			many[j] = fmt.Sprintf("k3.t.b%d", j)
			rows[j] = seal.Row{Key: many[j], Value: value}
		}
		if err := keys.Create(ctx, rows...); err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/get", func(b *testing.B) {
			for b.Loop() {
				if _, err := keys.Get(ctx, many[7]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/get 1000", func(b *testing.B) {
			for b.Loop() {
				if got, err := keys.GetMany(ctx, many); err != nil || len(got) != len(many) {
					b.Fatal(len(got), err)
				}
			}
		})
		b.Run(name+"/destroy", func(b *testing.B) {
			j := 0
			for b.Loop() {
				if err := keys.Destroy(ctx, many[j%len(many)]); err != nil {
					b.Fatal(err)
				}
				j++
			}
		})
	}
}

func BenchmarkReplicated(b *testing.B) {
	c := startCluster(b, natslog.DurabilityProcess)
	streams := c.open(b, 1, "EVENTS", "KEYS")
	log, keys := streams.Log(), streams.Keys()
	i := 0
	var last events.Commit
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			i++
			last = logtest.Episode("acme", fmt.Sprintf("e-%d", i), benchContent)
			if _, err := log.Append(b.Context(), last, events.ExpectNew); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("last from the leader", func(b *testing.B) {
		for b.Loop() {
			if _, err := log.Last(b.Context(), last.Aggregate); err != nil {
				b.Fatal(err)
			}
		}
	})
	many := make([]string, 1000)
	rows := make([]seal.Row, len(many))
	for j := range many {
		many[j] = fmt.Sprintf("k3.t.b%d", j)
		rows[j] = seal.Row{Key: many[j], Value: make([]byte, 128)}
	}
	if err := keys.Create(b.Context(), rows...); err != nil {
		b.Fatal(err)
	}
	b.Run("get 1000 keys from the leader", func(b *testing.B) {
		for b.Loop() {
			if got, err := keys.GetMany(b.Context(), many); err != nil || len(got) != len(many) {
				b.Fatal(len(got), err)
			}
		}
	})
}
