package qdrantindex_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/annals-memory/annals/internal/qdranttest"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// fault does to one call what a bad day does. send is the call itself.
type fault func(ctx context.Context, req, reply any, send func() error) error

// wire stands between the client and the server. It does the faults that are set to the next calls of a method, one each.
type wire struct {
	mu     sync.Mutex
	method string
	faults []fault
	calls  int // of the method since it was set
}

func (w *wire) set(method string, faults ...fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.method, w.faults, w.calls = method, faults, 0
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

func (w *wire) next(method string) fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if method != "/qdrant."+w.method {
		return nil
	}
	w.calls++
	if len(w.faults) == 0 {
		return nil
	}
	f := w.faults[0]
	w.faults = w.faults[1:]
	return f
}

func (w *wire) intercept(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	send := func() error { return invoke(ctx, method, req, reply, cc, opts...) }
	if f := w.next(method); f != nil {
		return f(ctx, req, reply, send)
	}
	return send()
}

// The faults.

func lostBefore(context.Context, any, any, func() error) error {
	return status.Error(codes.Unavailable, "connection refused")
}

func lostAfter(_ context.Context, _, _ any, send func() error) error {
	if err := send(); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "connection reset")
}

func slow(ctx context.Context, _, _ any, _ func() error) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

func answers(s qdrant.UpdateStatus) fault {
	return func(_ context.Context, _, reply any, send func() error) error {
		if err := send(); err != nil {
			return err
		}
		if r, ok := reply.(*qdrant.PointsOperationResponse); ok {
			r.Result.Status = s
		}
		return nil
	}
}

func refuse(code codes.Code) fault {
	return func(context.Context, any, any, func() error) error {
		return status.Error(code, "secret-subject is not welcome")
	}
}

func repeat(f fault, n int) []fault {
	var list []fault
	for range n {
		list = append(list, f)
	}
	return list
}

const attempts = 3

func openWired(tb testing.TB, address string, w *wire, change func(c *qdrantindex.Config)) *qdrantindex.Client {
	tb.Helper()
	cfg := qdrantindex.Config{
		Address: address, Now: time.Now, Attempts: attempts, Backoff: time.Millisecond,
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.intercept)},
	}
	if change != nil {
		change(&cfg)
	}
	c, err := qdrantindex.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return c
}

func note(id string, seq uint64, terms ...uint64) index.Doc {
	d := index.Doc{
		Tenant: "acme", Subject: "secret-subject", ID: id, Kind: index.Episode, Seq: seq, ValidToUS: math.MaxInt64,
		Length: uint32(len(terms)),
	}
	for _, t := range terms {
		d.Terms = append(d.Terms, index.Term{Token: t, TF: 1})
	}
	return d
}

func vectorOf(d index.Doc, values ...float32) index.Vector {
	return index.Vector{Tenant: d.Tenant, Subject: d.Subject, ID: d.ID, Model: "m", Seq: d.Seq, Values: values}
}

func query() index.Query {
	return index.Query{
		Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, Vector: []float32{1, 0}, Model: "m", K: 10,
	}
}

func wantHits(tb testing.TB, b backend, want int) index.Candidates {
	tb.Helper()
	c, err := b.Candidates(tb.Context(), query())
	if err != nil {
		tb.Fatalf("candidates: %v", err)
	}
	if c.Eligible != want || len(c.Lexical) != want || len(c.Dense) != want {
		tb.Fatalf("%d eligible, %d and %d hits; want %d", c.Eligible, len(c.Lexical), len(c.Dense), want)
	}
	return c
}

// TestFaults has each fault at a write and at a read. Those that pass leave one document of the right version; those that
// last are reported as what they are, after as many attempts as there may be.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := &wire{}
	b := newBackend(t, openWired(t, qdranttest.Address(t), w, func(c *qdrantindex.Config) { c.Timeout = 2 * time.Second }))
	seq := uint64(0)
	put := func() error {
		seq++
		d := note("a", seq, 1)
		return b.Apply(t.Context(), []index.Op{d, vectorOf(d, 1, 0)})
	}
	search := func() error {
		_, err := b.Candidates(t.Context(), query())
		return err
	}
	if err := put(); err != nil {
		t.Fatalf("put: %v", err)
	}
	for _, c := range []struct {
		name, method string
		do           func() error
		faults       []fault
		want         error
		calls        int
	}{
		{"unavailable once before a write", "Points/Upsert", put, repeat(lostBefore, 1), nil, 3},
		{"unavailable once after a write", "Points/Upsert", put, repeat(lostAfter, 1), nil, 3},
		{"unavailable before a write", "Points/Upsert", put, repeat(lostBefore, 9), qdrantindex.ErrUnavailable, attempts},
		{"unavailable after a write", "Points/Upsert", put, repeat(lostAfter, 9), qdrantindex.ErrUnavailable, attempts},
		{"acknowledged once", "Points/Upsert", put, repeat(answers(qdrant.UpdateStatus_Acknowledged), 1), nil, 3},
		{
			"acknowledged only", "Points/Upsert", put, repeat(answers(qdrant.UpdateStatus_Acknowledged), 9),
			qdrantindex.ErrNotCompleted, attempts,
		},
		{
			"not waited for", "Points/Upsert", put, repeat(answers(qdrant.UpdateStatus_WaitTimeout), 9),
			qdrantindex.ErrNotCompleted, attempts,
		},
		{"slow once", "Points/Upsert", put, repeat(slow, 1), nil, 3},
		{"unavailable once for a read", "Points/Query", search, repeat(lostBefore, 1), nil, 3},
		{"unavailable for a read", "Points/Facet", search, repeat(lostAfter, 9), qdrantindex.ErrUnavailable, attempts},
	} {
		w.set(c.method, c.faults...)
		err := c.do()
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if got := w.count(); got != c.calls {
			t.Errorf("%s: %d calls, want %d", c.name, got, c.calls)
		}
		w.set("")
		// Doing the batch again from before the failure puts it right, whether it was applied or not.
		if c.want != nil && seq > 1 {
			seq--
			if err := put(); err != nil {
				t.Fatalf("%s: put again: %v", c.name, err)
			}
		}
		if hits := wantHits(t, b, 1); hits.Dense[0].Seq != seq {
			t.Errorf("%s: version %d is found, want %d", c.name, hits.Dense[0].Seq, seq)
		}
	}
}

// TestRefused asks once when asking again cannot help, and does not pass on the server's words.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := &wire{}
	b := newBackend(t, openWired(t, qdranttest.Address(t), w, nil))
	w.set("Points/Upsert", refuse(codes.InvalidArgument))
	err := b.Apply(t.Context(), []index.Op{note("a", 1, 1)})
	refused := (*qdrantindex.CallError)(nil)
	if !errors.As(err, &refused) || refused.Code != codes.InvalidArgument || w.count() != 1 {
		t.Errorf("%v after %d calls", err, w.count())
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error quotes the server: %v", err)
	}
}

// TestSizes reads more than the four MiB that a client takes at most if it is not told otherwise, reads it in smaller pages
// where it must not, and is told where one document is more than may be read.
func TestSizes(t *testing.T) {
	t.Parallel()
	address := qdranttest.Address(t)
	b := newBackend(t, openWired(t, address, &wire{}, nil))
	var ops []index.Op
	for i := range 40 {
		terms := make([]uint64, 8000)
		for j := range terms {
			terms[j] = uint64(j)<<32 + 1
		}
		ops = append(ops, note(string(rune('a'+i)), uint64(i+1), terms...))
	}
	if err := b.Apply(t.Context(), ops); err != nil {
		t.Fatalf("apply: %v", err)
	}
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, K: 40}
	if c, err := b.Candidates(t.Context(), q); err != nil || len(c.Lexical) != 40 {
		t.Fatalf("%d hits: %v", len(c.Lexical), err)
	}
	limited := func(bytes int) (index.Candidates, error) {
		c := openWired(t, address, &wire{}, func(c *qdrantindex.Config) {
			c.DialOptions = append(c.DialOptions, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(bytes)))
		})
		return c.Index(b.Name()).Candidates(t.Context(), q)
	}
	if c, err := limited(1 << 20); err != nil || len(c.Lexical) != 40 {
		t.Errorf("in smaller pages: %d hits: %v", len(c.Lexical), err)
	}
	_, err := limited(100 << 10)
	refused := (*qdrantindex.CallError)(nil)
	if !errors.As(err, &refused) || refused.Code != codes.ResourceExhausted {
		t.Errorf("too large a document: %v", err)
	}
}

// TestRestart kills the server between a write that was completed and a read.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := qdranttest.Start(t)
	b := newBackend(t, openWired(t, s.Address, &wire{}, func(c *qdrantindex.Config) { c.Attempts, c.Timeout = 20, 5*time.Second }))
	d, e := note("a", 1, 1), note("b", 2, 1)
	if err := b.Apply(t.Context(), []index.Op{d, vectorOf(d, 1, 0), e, vectorOf(e, 0.6, 0.8)}); err != nil {
		t.Fatalf("apply: %v", err)
	}
	if err := b.Apply(t.Context(), []index.Op{index.Removal{Tenant: "acme", Subject: d.Subject, ID: "b"}}); err != nil {
		t.Fatalf("remove: %v", err)
	}
	before := wantHits(t, b, 1)
	if err := b.Serve(t.Context(), "alias"); err != nil {
		t.Fatalf("serve: %v", err)
	}
	s.Kill(t)
	impatient := openlessClient(t, s.Address)
	if _, err := impatient(); !errors.Is(err, qdrantindex.ErrUnavailable) {
		t.Errorf("open while the server is down: %v", err)
	}
	s.Restart(t)
	if diff := cmp.Diff(before, wantHits(t, b, 1)); diff != "" {
		t.Errorf("the restart changed the answer (-before +after):\n%s", diff)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	c, err := impatient()
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if got, err := c.Serving(t.Context(), "alias"); err != nil || got != b.Name() {
		t.Errorf("the alias names %q (%v)", got, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func openlessClient(tb testing.TB, address string) func() (*qdrantindex.Client, error) {
	tb.Helper()
	return func() (*qdrantindex.Client, error) {
		return qdrantindex.Open(tb.Context(), qdrantindex.Config{
			Address: address, Now: time.Now, Attempts: 2, Backoff: time.Millisecond, Timeout: 5 * time.Second,
		})
	}
}

// TestLateAttempt has an attempt to write that was given up arrive after the document was removed.
func TestLateAttempt(t *testing.T) {
	t.Parallel()
	w := &wire{}
	var clock atomic.Int64
	clock.Store(1_000_000)
	address := qdranttest.Address(t)
	c := openWired(t, address, w, func(c *qdrantindex.Config) {
		c.Grace = time.Minute
		c.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	})
	b := newBackend(t, c)
	var late func() error
	kept := func(ctx context.Context, req, _ any, send func() error) error {
		in, ok := req.(*qdrant.UpsertPoints)
		if !ok {
			return send()
		}
		late = func() error {
			_, err := raw(t, address).Upsert(context.WithoutCancel(ctx), in)
			return err
		}
		return status.Error(codes.Unavailable, "connection reset")
	}
	d := note("a", 5, 1)
	w.set("Points/Upsert", kept)
	if err := b.Apply(t.Context(), []index.Op{d}); err != nil || late == nil {
		t.Fatalf("apply: %v", err)
	}
	count := func(want int) {
		t.Helper()
		if n, err := b.Count(t.Context(), query().Filter); err != nil || n != want {
			t.Fatalf("%d documents (%v), want %d", n, err, want)
		}
	}
	count(1)
	d.Seq, d.Trust = 9, 3
	if err := b.Apply(t.Context(), []index.Op{d}); err != nil {
		t.Fatalf("apply: %v", err)
	}
	arrives := func() {
		t.Helper()
		if err := late(); err != nil {
			t.Fatalf("late attempt: %v", err)
		}
	}
	arrives() // an older version does not replace a newer one
	trusted := query().Filter
	trusted.Where = index.AtLeast(index.NumberTrust, 3)
	if n, err := b.Count(t.Context(), trusted); err != nil || n != 1 {
		t.Fatalf("the late attempt replaced what is newer: %d (%v)", n, err)
	}
	if err := b.Apply(t.Context(), []index.Op{index.Removal{Tenant: "acme", Subject: d.Subject, ID: "a"}}); err != nil {
		t.Fatalf("remove: %v", err)
	}
	arrives()
	count(0)
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatalf("sweep: %v", err)
	}
	arrives()
	count(0) // the tombstone is too young to go
	// The document itself can come again.
	if err := b.Apply(t.Context(), []index.Op{d}); err != nil {
		t.Fatalf("apply: %v", err)
	}
	count(1)
	if err := b.Apply(t.Context(), []index.Op{index.SubjectRemoval{Tenant: "acme", Subject: d.Subject}}); err != nil {
		t.Fatalf("remove subject: %v", err)
	}
	arrives()
	count(0)
	clock.Add(61)
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatalf("sweep: %v", err)
	}
	arrives() // without a tombstone it does what the tombstone is there against
	count(1)
}

// TestLateBatch has an attempt to write a batch arrive when the events of the batch were folded again in other batches, and
// more with them. Nothing is as the attempt says any more, though one of its documents was written often.
func TestLateBatch(t *testing.T) {
	t.Parallel()
	w := &wire{}
	address := qdranttest.Address(t)
	b := newBackend(t, openWired(t, address, w, nil))
	at := func(position, round uint64) qdrantindex.Mark {
		return qdrantindex.Mark{Log: "log", Position: position, Round: round}
	}
	apply := func(m qdrantindex.Mark, ops ...index.Op) {
		t.Helper()
		if err := b.applyAt(t.Context(), m, ops); err != nil {
			t.Fatalf("apply at %v: %v", m, err)
		}
	}
	count := func(want int) {
		t.Helper()
		if n, err := b.Count(t.Context(), query().Filter); err != nil || n != want {
			t.Fatalf("%d documents (%v), want %d", n, err, want)
		}
	}
	often := func(seq uint64) index.Doc { return note("b", seq, 1) }
	for i := range uint64(5) {
		apply(at(5+i, 0), often(5+i))
	}
	var late []func() error
	kept := func(ctx context.Context, req, _ any, _ func() error) error {
		if in, ok := req.(*qdrant.UpsertPoints); ok {
			late = append(late, func() error {
				_, err := raw(t, address).Upsert(context.WithoutCancel(ctx), in)
				return err
			})
		}
		return status.Error(codes.Internal, "gone")
	}
	for _, m := range []qdrantindex.Mark{at(21, 0), at(22, 0)} {
		w.set("Points/Upsert", kept)
		ops := []index.Op{note("a", 20, 1), often(21)}
		if m.Position == 22 { // it ends with a removal, and another batch at the same position follows
			ops = append(ops, index.Removal{Tenant: "acme", Subject: "secret-subject", ID: "b"})
		}
		if err := b.applyAt(t.Context(), m, ops); err == nil {
			t.Fatal("the batch was not cut off")
		}
	}
	w.set("")
	if len(late) != 2 {
		t.Fatalf("%d attempts are late", len(late))
	}
	arrive := func() {
		t.Helper()
		for _, send := range late {
			if err := send(); err != nil {
				t.Fatalf("late attempt: %v", err)
			}
		}
	}
	apply(at(20, 0), note("a", 20, 1))
	apply(at(21, 0), often(21))
	apply(at(22, 0), index.Removal{Tenant: "acme", Subject: "secret-subject", ID: "b"})
	count(1)
	apply(at(22, 1), index.SubjectRemoval{Tenant: "acme", Subject: "secret-subject"})
	count(0)
	arrive()
	count(0)
	// The mark says how far the index is, whatever comes late.
	if m, err := b.Noted(t.Context()); err != nil || m != at(22, 1) {
		t.Errorf("the collection is at %v (%v)", m, err)
	}
	if err := b.Note(t.Context(), at(22, 0)); err != nil {
		t.Fatal(err)
	}
	if m, err := b.Noted(t.Context()); err != nil || m != at(22, 1) {
		t.Errorf("the collection went back to %v (%v)", m, err)
	}
	// Without the attempts on their way, a document comes again.
	apply(at(23, 0), note("a", 23, 1))
	count(1)
}
