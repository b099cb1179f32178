package indextest

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/annals-memory/annals/projectors/index"
)

const (
	denseTolerance   = 1e-5
	lexicalTolerance = 1e-9
)

// failer is what the comparison needs of a test, so that property tests can use it too.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ failer = (*testing.T)(nil)

// same demands that b answers q as the oracle does.
func same(t failer, b Backend, o *Oracle, q index.Query) index.Candidates {
	t.Helper()
	want, err := o.Candidates(context.Background(), q)
	if err != nil {
		t.Fatalf("ask oracle: %v", err)
	}
	got, err := b.Candidates(context.Background(), q)
	if err != nil {
		t.Fatalf("ask backend: %v", err)
	}
	if got.Eligible != want.Eligible || got.VectorsMissing != want.VectorsMissing {
		t.Fatalf("eligible %d, vectors missing %d; want %d, %d", got.Eligible, got.VectorsMissing, want.Eligible, want.VectorsMissing)
	}
	all := q
	all.K = math.MaxInt32
	full, err := o.Candidates(context.Background(), all)
	if err != nil {
		t.Fatalf("ask oracle: %v", err)
	}
	if math.Abs(got.Ceiling-want.Ceiling) > lexicalTolerance {
		t.Fatalf("ceiling %v, want %v", got.Ceiling, want.Ceiling)
	}
	sameList(t, "dense", got.Dense, want.Dense, full.Dense, denseTolerance)
	sameList(t, "lexical", got.Lexical, want.Lexical, full.Lexical, lexicalTolerance)
	for i := range want.Dense {
		if got.Dense[i].ID != want.Dense[i].ID {
			t.Fatalf("dense place %d is %+v, want %+v", i, got.Dense[i], want.Dense[i])
		}
	}
	n, err := b.Count(context.Background(), q.Filter)
	if err != nil || n != want.Eligible {
		t.Fatalf("count is %d (%v), want %d", n, err, want.Eligible)
	}
	return got
}

// sameList demands that got is as good a list as want, up to the tolerance, and in its own right in order.
func sameList(t failer, channel string, got, want, full []index.Hit, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s list has %d hits, want %d:\n%+v\n%+v", channel, len(got), len(want), got, want)
	}
	if !slices.IsSortedFunc(got, compareHits) {
		t.Fatalf("%s list is out of order: %+v", channel, got)
	}
	byID := map[string]index.Hit{}
	for _, h := range full {
		byID[h.ID] = h
	}
	for i, h := range got {
		if math.Abs(h.Score-want[i].Score) > tolerance {
			t.Fatalf("%s place %d scores %v, want %v", channel, i, h.Score, want[i].Score)
		}
		own, ok := byID[h.ID]
		if !ok {
			t.Fatalf("%s place %d is %+v, which is not eligible or came twice", channel, i, h)
		}
		delete(byID, h.ID)
		if math.Abs(h.Score-own.Score) > tolerance {
			t.Fatalf("%s place %d scores %v, its document %v", channel, i, h.Score, own.Score)
		}
		if math.Abs(h.Other-own.Other) > max(denseTolerance, lexicalTolerance) {
			t.Fatalf("%s place %d scores %v in the other channel, want %v", channel, i, h.Other, own.Other)
		}
		own.Score, own.Other = h.Score, h.Other
		if h != own {
			t.Fatalf("%s place %d is %+v, want %+v", channel, i, h, own)
		}
	}
}
