package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Config is what a ledger works on. Log, Keys, Store, Dir and
// Rand are required.
type Config struct {
	Log   Log
	Keys  Keys
	Store Store
	// Dir has the anchor and the key. It is not where the log is, and no other
	// process uses it.
	Dir string
	// Join allows a directory that has neither key nor anchor to begin on a ledger
	// that has records: another process's, on a log that several share.
	Join bool
	// Patience is how long a log may deliver nothing of what it has, or say that it
	// is shorter than it was, before it counts as damaged, 30 seconds if zero.
	Patience time.Duration
	// Rand is what the key is made from.
	Rand io.Reader
	// Logger gets a line for every checkpoint that has to be tried again. The
	// default drops them.
	Logger *slog.Logger
}

const patience = 30 * time.Second

// Ledger is the account of one log. It is safe for concurrent use.
type Ledger struct {
	config Config
	signer *signer

	// writing is held by who makes checkpoints.
	writing sync.Mutex

	mu   sync.Mutex // guards what follows
	book *book
	// restoring says that keys are removed without being named, by nobody else.
	restoring bool
	// unanchored is why the last anchor could not be written.
	unanchored error
}

// Open verifies the log against ledger and anchor, and returns the ledger only
// if they agree; see [Ledger.Check] for what is verified. Its errors are
// *[DamageError], ErrBadKey, events.ErrUnavailable, and those of the files. On a
// first start it makes the key and the anchor.
func Open(ctx context.Context, c Config, progress Progress) (*Ledger, error) {
	if c.Patience == 0 {
		c.Patience = patience
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	b, s, left, err := check(ctx, c, progress)
	if err == nil {
		err = finishKeys(ctx, c.Keys, left)
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l := &Ledger{config: c, signer: s.signer, book: b}
	if s.first() {
		if err := l.begin(ctx); err != nil {
			return nil, fmt.Errorf("open ledger: %w", err)
		}
	}
	return l, nil
}

// begin makes key and anchor. The key comes into its place last: one that is there
// without an anchor has lost it, however the first start ended.
func (l *Ledger) begin(ctx context.Context) error {
	if l.signer != nil {
		return l.anchorNow(ctx)
	}
	var err error
	if l.signer, err = draftSigner(l.config.Dir, l.config.Rand); err != nil {
		return err
	}
	l.book.ours = l.signer.verify
	if err := l.anchorNow(ctx); err != nil {
		return err
	}
	return keepSigner(l.config.Dir)
}

// Check reads the whole log once more and returns a *[DamageError] unless the
// anchor is signed by the key and of this log; ledger, log and keys reach as far
// as it says; the records up to it are those that it vouches for; every message
// that the tree covers has its leaf; every empty position is named as erased; and the
// rows of the keys are those that there were, as [Ledger.CheckKeys] says.
// It can run while the log is written.
func (l *Ledger) Check(ctx context.Context, progress Progress) error {
	_, _, _, err := check(ctx, l.config, progress)
	if err != nil {
		return fmt.Errorf("check log: %w", err)
	}
	return nil
}

// Verifier verifies the notes of this ledger.
func (l *Ledger) Verifier() note.Verifier { return l.signer.verify }

// Sign signs a text, which must end in a newline.
func (l *Ledger) Sign(text string) ([]byte, error) { return l.signer.note(text) }

// Covered is how many positions the last checkpoint covers.
func (l *Ledger) Covered() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.tree.size
}

// catchUp reads what the ledger has and this process does not know.
func (l *Ledger) catchUp(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.read(ctx)
}

// anchorNow writes the anchor as of the records that are known. What the keys get
// meanwhile is behind the anchor.
func (l *Ledger) anchorNow(ctx context.Context) error {
	if err := l.coverKeys(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	c, err := l.book.checkpoint(ctx)
	a := anchor{
		Checkpoint: c, tombstones: l.book.tombstones, records: l.book.records, chain: l.book.chain,
		keys: l.book.keys, settled: l.book.settledUpTo(),
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	err = a.write(l.config.Dir, l.signer)
	l.mu.Lock()
	l.unanchored = err
	l.mu.Unlock()
	return err
}

// Unanchored is why the last anchor could not be written, nil if it was. [Ledger.Run]
// tries again until it can be.
func (l *Ledger) Unanchored() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unanchored
}

// AsDamage returns the damage that an error is about, if it is about any.
func AsDamage(err error) (*DamageError, bool) { return errors.AsType[*DamageError](err) }
