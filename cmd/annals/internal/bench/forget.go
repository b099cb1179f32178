package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

const (
	forgetRecords = 10
	// forgetSmall is the number of memories of the small subject.
	forgetSmall = 1_000
)

// forget measures how long single records and whole subjects take to be denied,
// shredded and purged, each beside all else that the node keeps. The largest
// subject is the scope of the recalls; its purge, a matter of its thousands of
// messages, is not waited for.
func (b *bench) forget(ctx context.Context) error {
	ids, err := b.captureBatch(ctx, "forget-one", 2*forgetRecords)
	if err != nil {
		return err
	}
	if _, err := b.captureBatch(ctx, "forget-small", forgetSmall); err != nil {
		return err
	}
	if err := b.n.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	var denied, shredded, purged []time.Duration
	for i, id := range ids[:forgetRecords] {
		t, err := b.erase(ctx, events.LevelPurged, func() (tombstones.Erasure, error) {
			return b.n.Eraser().ForgetRecord(ctx, b.caller, "", events.KindEpisode, id)
		})
		if err != nil {
			return err
		}
		denied, shredded, purged = append(denied, t.denied), append(shredded, t.shredded), append(purged, t.purged)
		b.o.Progress("forget", i+1, forgetRecords)
	}
	b.r["forget_record_denied"], b.r["forget_record_shredded"] = latencies(denied), latencies(shredded)
	b.r["forget_record_purged"] = latencies(purged)
	if err := b.forgetSubject(ctx, "forget-small", forgetSmall, events.LevelPurged); err != nil {
		return err
	}
	if b.scope == 0 {
		return nil
	}
	return b.forgetSubject(ctx, "scope", b.scope, events.LevelShredded)
}

// forgetSubject measures one subject with n memories, up to a level, and how long
// the views then take to fold all that the erasure has written.
func (b *bench) forgetSubject(ctx context.Context, subject string, n int, upTo events.Level) error {
	b.o.Progress("forget a subject", 0, n)
	t, err := b.erase(ctx, upTo, func() (tombstones.Erasure, error) {
		return b.n.Eraser().ForgetSubject(ctx, b.caller, "", subject, "")
	})
	if err != nil {
		return err
	}
	start := time.Now()
	state, err := b.n.Log().State(ctx)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := b.n.Views().WaitFor(ctx, state.Last); err != nil {
		return fmt.Errorf("wait for views: %w", err)
	}
	name := "forget_subject_" + strconv.Itoa(n)
	one := func(d time.Duration) Figure { return latencies([]time.Duration{d}) }
	b.r[name+"_denied"], b.r[name+"_shredded"] = one(t.denied), one(t.shredded)
	b.r[name+"_catch_up"] = one(time.Since(start))
	if t.purged > 0 {
		b.r[name+"_purged"] = one(t.purged)
	}
	b.o.Progress("forget a subject", n, n)
	return nil
}

// erased are the times from the call until each level was seen.
type erased struct{ denied, shredded, purged time.Duration }

// erase forgets, and waits for a level. The answer is given when it is denied, or
// later.
func (b *bench) erase(ctx context.Context, upTo events.Level, forget func() (tombstones.Erasure, error)) (t erased, err error) {
	start := time.Now()
	out, err := forget()
	if err != nil {
		return t, fmt.Errorf("forget: %w", err)
	}
	t.denied = time.Since(start)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s, err := b.n.Eraser().Status(ctx, b.caller, out.ErasureID)
		if err != nil {
			return t, fmt.Errorf("status of an erasure: %w", err)
		}
		now := time.Since(start)
		if t.shredded == 0 && s.Level.AtLeast(events.LevelShredded) {
			t.shredded = now
		}
		if t.purged == 0 && s.Level.AtLeast(events.LevelPurged) {
			t.purged = now
		}
		if s.Level.AtLeast(upTo) {
			return t, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return t, fmt.Errorf("wait for an erasure: %w", context.Cause(ctx))
		}
	}
}
