package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

type serveCmd struct {
	Durability   string        `help:"power: sync every write. process: survives kill -9, not a power cut." enum:"power,process" default:"power"`
	NATS         string        `help:"External NATS server; without it one runs inside." name:"nats" placeholder:"URL"`
	NATSListen   string        `help:"Let the NATS server inside listen here; by default it listens nowhere." name:"nats-listen" placeholder:"HOST:PORT"`
	Replicas     int           `help:"Replicas of each stream on an external cluster." default:"1"`
	RootRotation time.Duration `help:"Give the root a fresh key when the one it has is as old as this, such as 720h: older copies of the keys are dead then. By default never." placeholder:"DURATION"`
	Retention    string        `help:"How long memories are kept: a YAML file; without it for ever." type:"existingfile" placeholder:"FILE"`
	Embed        string        `help:"Model that embeds: one that is built in, or endpoint for that of --embed-url; without it that one, or else the built-in default. Another one than before takes over when all is embedded, see annals embed." placeholder:"NAME"`
	EmbedURL     string        `help:"OpenAI-compatible endpoint for embeddings; without it the built-in model." placeholder:"URL"`
	EmbedModel   string        `help:"Model at that endpoint."`
	EmbedKey     string        `help:"Key for that endpoint." env:"ANNALS_EMBED_KEY"`
	EmbedDim     int           `help:"Dimensions of that model."`
	Qdrant       string        `help:"Qdrant server, 1.19 or later, that has the search index; by default it is in the data directory." placeholder:"HOST:PORT"`
	QdrantTLS    bool          `help:"Use TLS to that server." name:"qdrant-tls"`
	QdrantKey    string        `help:"File with the API key for that server, which needs TLS." name:"qdrant-api-key-file" type:"existingfile" placeholder:"FILE"`

	Rig rigFlags `embed:""`
}

// qdrant is where the search index is.
func (k serveCmd) qdrant() (node.QdrantOptions, error) {
	o := node.QdrantOptions{Address: k.Qdrant, TLS: k.QdrantTLS}
	if k.Qdrant == "" && (k.QdrantTLS || k.QdrantKey != "") {
		return o, fmt.Errorf("%w: --qdrant-tls and --qdrant-api-key-file go with --qdrant", errMisuse)
	}
	if k.QdrantKey == "" {
		return o, nil
	}
	if !k.QdrantTLS {
		return o, fmt.Errorf("%w: --qdrant-api-key-file needs --qdrant-tls", errMisuse)
	}
	key, err := os.ReadFile(k.QdrantKey)
	if err != nil {
		return o, fmt.Errorf("read API key: %w", err)
	}
	o.APIKey = strings.TrimSpace(string(key))
	return o, nil
}

const defaultAddr = "127.0.0.1:7171"

// Run serves until it is told to stop, then finishes what it began.
func (k serveCmd) Run(ctx context.Context, c *cli, t terminal) (err error) {
	if err := k.Rig.refuse(); err != nil {
		return err
	}
	addr := c.Addr
	if addr == "" {
		addr = defaultAddr
	}
	level := slog.LevelInfo
	if c.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(t.err, &slog.HandlerOptions{Level: level}))
	schedule, err := readSchedule(k.Retention)
	if err != nil {
		return err
	}
	switch {
	case k.RootRotation < 0:
		return fmt.Errorf("%w: --root-rotation is a duration", errMisuse)
	case k.RootRotation > 0 && k.NATS != "":
		return fmt.Errorf("%w: --root-rotation is for a memory of one process, not for one with --nats; see annals rotate-root --alone", errMisuse)
	}
	index, err := k.qdrant()
	if err != nil {
		return err
	}
	n, err := node.Open(ctx, node.Options{
		Qdrant: index,
		Data:   c.Data, Durability: k.Durability, NATS: k.NATS, NATSListen: k.NATSListen, Replicas: k.Replicas,
		Embed: k.Embed, EmbedURL: k.EmbedURL, EmbedModel: k.EmbedModel, EmbedKey: k.EmbedKey, EmbedDim: k.EmbedDim,
		Retention: schedule, RootRotation: k.RootRotation, Logger: log, Version: version(), Recover: true,
	})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer func() {
		if cerr := n.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("stop: %w", cerr)
		}
	}()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	go node.TendCollector(ctx)
	started := time.Now()
	return n.Serve(ctx, l, func() {
		log.LogAttrs(ctx, slog.LevelInfo, "serving", slog.String("addr", l.Addr().String()),
			slog.Duration("ready_after", time.Since(started)))
		if d := n.Damage(); d != nil {
			_, _ = fmt.Fprintf(t.out, "annals is in recovery mode, because %v: it serves no memory on http://%s\n", d, l.Addr()) // as below
			return
		}
		_, _ = fmt.Fprintf(t.out, "annals is serving on http://%s\n", l.Addr()) // a closed pipe is no reason to stop
	})
}
