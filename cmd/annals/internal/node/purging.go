package node

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// purging is what removes the bytes of what was forgotten from log, views and
// quarantine.
func (n *Node) purging(o Options, streams *natslog.Streams) *tombstones.Purging {
	p := &tombstones.Purging{
		Remains: query.NewErasingViews(n.views), Log: streams.Eraser(), Quarantine: pens{streams.Quarantine()}, Notary: n.ledger,
	}
	if o.EmbedURL != "" {
		p.Recipients = []tombstones.Recipient{{Kind: "embedder", Name: endpoint(o.EmbedURL)}}
	}
	if o.NATS != "" {
		// An external server's own encryption cannot be seen from here. Where it is
		// on, a deleted message stays in its file until that is compacted.
		p.Residues = append(p.Residues, tombstones.Residue{Kind: "server_encryption", Why: whyServer},
			tombstones.Residue{Kind: "server_killed", Why: whyKilled})
	}
	if o.Replicas > 1 {
		p.Residues = append(p.Residues, tombstones.Residue{Kind: "replicas", Why: whyReplicas})
	}
	if o.Qdrant.Address != "" {
		p.Residues = append(p.Residues, tombstones.Residue{Kind: "qdrant", Why: whyQdrant})
	}
	return p
}

// Why what a server keeps has no deadline.
const (
	whyServer   = "a server that encrypts its files keeps a deleted message in them until it compacts them, and cannot be told to"
	whyKilled   = "a server that is killed in the moment of a deletion may keep the message in its file, does not finish that when it starts again, and cannot be told to"
	whyQdrant   = "a Qdrant server keeps the keyed hashes and vectors of a deleted point in its files until it optimizes them, and cannot be told to"
	whyReplicas = "each server compacts its Raft logs by itself, mostly within minutes while it runs, and cannot be told to; one that is away has them until it is back"
)

// endpoint is a URL without what may be secret in it.
func endpoint(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// pens is the quarantine as the saga asks it.
type pens struct{ quarantine *natslog.Quarantine }

// Waiting implements [tombstones.Quarantine].
func (p pens) Waiting(ctx context.Context, tenant string) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for q, err := range p.quarantine.List(ctx, tenant) {
			if !yield(q.Message, err) {
				return
			}
		}
	}
}

// Remove implements [tombstones.Quarantine].
func (p pens) Remove(ctx context.Context, tenant, id string) error {
	if err := p.quarantine.Remove(ctx, tenant, id); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}

// rotation is how the keys above what was forgotten are replaced.
func (n *Node) rotation(o Options) *tombstones.Rotation {
	r := &tombstones.Rotation{
		DeadBefore: func() time.Time { return n.keys.RootEpochs().DeadBefore() },
		Due: func() time.Time {
			if o.RootRotation <= 0 {
				return time.Time{}
			}
			return n.keys.RootEpochs().Current.Created.Add(o.RootRotation)
		},
	}
	if o.NATS != "" {
		r.Grace = seal.DefaultCacheTTL + graceOfCalls // other processes may be there
	}
	return r
}

// graceOfCalls is how long a call of another process may still use a key that it
// took from its cache.
const graceOfCalls = 30 * time.Second
