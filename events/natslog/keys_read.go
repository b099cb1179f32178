package natslog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events/seal"
)

// everything matches all subjects of a stream. The server goes from message to
// message then; with a prefix before it, it looks through all subjects for each.
const everything = ">"

// quiet is how long nothing comes until it is asked whether there is more.
const quiet = 500 * time.Millisecond

// ReadRows yields every row above a revision that is there, former ones that were
// not removed yet too, in the order of their revisions, up to the last that was
// acknowledged before the call or later. One that is removed meanwhile may or may
// not be seen. On several replicas it costs a request for each row.
func (k *Keys) ReadRows(ctx context.Context, after uint64) iter.Seq2[seal.Row, error] {
	return func(yield func(seal.Row, error) bool) {
		for {
			page, err := k.collectUpTo(ctx, everything, after+1, firstPage)
			if err != nil {
				yield(seal.Row{}, translate("read rows", err))
				return
			}
			if len(page) == 0 {
				return
			}
			for _, m := range page {
				if !yield(toRow(m), nil) {
					return
				}
			}
			after = page[len(page)-1].Sequence
			if k.replicated || pendingBehind(page) < firstPage {
				continue
			}
			var more bool
			if after, more = k.follow(ctx, after, yield); !more {
				return
			}
		}
	}
}

// follow yields rows above a revision as a follower gets them, which takes a third of
// the time of pages, until it seems to have all, and returns the last one. It reports
// false if that was an error or enough.
func (k *Keys) follow(ctx context.Context, after uint64, yield func(seal.Row, error) bool) (uint64, bool) {
	silent, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(quiet, cancel)
	defer timer.Stop()
	for m, err := range (&Log{store: k.store}).Follow(silent, after) {
		if err != nil {
			yield(seal.Row{}, fmt.Errorf("read rows: %w", err))
			return after, false
		}
		timer.Reset(quiet)
		after = m.Position
		if !yield(seal.Row{Key: strings.TrimPrefix(m.Subject, prefixKeys), Value: m.Data, Revision: m.Position}, nil) {
			return after, false
		}
		if m.Pending == 0 {
			break
		}
	}
	return after, true
}

// HasRevision reports whether there is a row of a revision, whatever its key is.
func (k *Keys) HasRevision(ctx context.Context, revision uint64) (bool, error) {
	if revision == 0 {
		return false, nil
	}
	_, err := k.at(ctx, revision)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for row: %w", translate("read row", err))
	}
	return true, nil
}
