package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/annals-memory/annals/events"
)

// chain is the running hash of the records of the ledger.
type chain [sha256.Size]byte

// next takes in one record.
func (c chain) next(m events.Message) chain {
	h := sha256.New()
	_, _ = h.Write(c[:]) // a hash takes everything
	field(h, number(m.Position))
	field(h, []byte(m.Subject))
	field(h, m.Data)
	field(h, number(uint64(m.RecordedAt.UnixNano())))
	return chain(h.Sum(nil))
}

// book is what the records of the ledger say, read in order.
type book struct {
	log   string // its identity, "" until a note says it; a restore changes it
	store Store
	// ours verifies the notes that were signed here, nil before there is a key.
	ours note.Verifier
	// anchor is what the book has to agree with when it gets there, nil if there
	// is none.
	anchor *anchor
	// known are other anchors that it has to agree with, by their last record.
	known map[uint64][]anchor

	tree       *tree
	epoch      uint64
	records    uint64 // the position of the last record
	lastTree   uint64 // and of the last on the subject of the tree
	chain      chain
	tombstones uint64
	// erased are the positions of this epoch's log that may be empty, changes those
	// of the events of subjects that the ledger has a copy of.
	erased, changes map[uint64]struct{}

	// keys is what the rows of the keys have to be, from the anchor's last record on.
	keys account
	// removed are the revisions of rows that were named before they were removed,
	// settled those of them that were gone when the anchor was written, and pending
	// what is not known to be gone. written is the last revision that any of them
	// speaks of.
	removed, settled numbers
	pending          []removal
	written          uint64
	// look is a reading of the rows that is told of what is named since, nil if
	// there is none.
	look *keysLook
}

func newBook(store Store) *book {
	return &book{store: store, tree: &tree{}, erased: map[uint64]struct{}{}, changes: map[uint64]struct{}{}, removed: numbers{}}
}

// read takes in what was added since it was read last.
func (b *book) read(ctx context.Context) error {
	for m, err := range b.store.Read(ctx, "", b.records) {
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		if err := b.apply(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (b *book) apply(ctx context.Context, m events.Message) error {
	if m.Position != b.records+1 {
		return damage(KindLedgerHole, b.records+1)
	}
	var err error
	kind, _, _ := strings.Cut(m.Subject, ".")
	switch kind + "." {
	case subjectTree + ".":
		err = b.applyTree(ctx, m)
	case subjectEpoch + ".":
		err = b.applyEpoch(ctx, m)
	case prefixTombstone:
		var list []Tombstone
		list, err = decodeTombstones(m)
		b.tombstones += uint64(len(list))
	case prefixErased:
		var e erasedRecord
		err = decodeRecord(m, &e)
		if e.Epoch == b.epoch { // otherwise it is of who did not know of the restore
			for _, p := range e.Positions {
				b.erased[p] = struct{}{}
			}
		}
	case prefixSubject:
		var r subjectRecord
		r, err = decodeSubject(m)
		b.changed(r.Epoch, r.Changes)
	case subjectKeys + ".":
		err = b.applyKeys(m)
	case prefixReceipt:
		err = decodeRecord(m, &receiptRecord{})
	default:
		err = damage(KindLedgerDiffers, m.Position)
	}
	if err != nil {
		return err
	}
	b.records, b.chain = m.Position, b.chain.next(m)
	if b.anchor != nil && b.records == b.anchor.records {
		if err := b.agree(ctx, *b.anchor); err != nil {
			return err
		}
		b.anchored(*b.anchor)
	}
	if b.anchor != nil && b.records == b.anchor.settled {
		b.settle()
	}
	for _, a := range b.known[b.records] {
		if err := b.agree(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// name takes the identity of the log from the first note.
func (b *book) name(signed string) {
	if text, _, ok := strings.Cut(signed, "\n\n"); ok && b.log == "" {
		if c, _, ok := parseCheckpoint(text + "\n"); ok {
			b.log = c.Log
		}
	}
}

func (b *book) applyTree(ctx context.Context, m events.Message) error {
	differs := damage(KindLedgerDiffers, m.Position)
	var r treeRecord
	if err := decodeRecord(m, &r); err != nil {
		return err
	}
	leaves, ok := r.leaves()
	if !ok || r.Epoch != b.epoch || r.From != b.tree.size {
		return differs
	}
	b.name(r.Note)
	for _, leaf := range leaves {
		b.tree.add(leaf, m.Position)
	}
	c, err := b.checkpoint(ctx)
	if err != nil {
		return differs
	}
	b.lastTree = m.Position
	return b.noted(m.Position, r.Note, c)
}

// noted holds that a note is of a checkpoint. The signature is verified of what
// the anchor does not vouch for.
func (b *book) noted(position uint64, signed string, c Checkpoint) error {
	if !strings.HasPrefix(signed, c.text()+"\n") {
		return damage(KindLedgerDiffers, position)
	}
	if b.ours == nil || (b.anchor != nil && position <= b.anchor.records) {
		return nil
	}
	if _, err := open(b.ours, []byte(signed)); err != nil && !errors.Is(err, errNotOurs) {
		return damage(KindLedgerDiffers, position)
	}
	return nil
}

func (b *book) applyEpoch(ctx context.Context, m events.Message) error {
	differs := damage(KindLedgerDiffers, m.Position)
	var r epochRecord
	if err := decodeRecord(m, &r); err != nil {
		return err
	}
	b.name(r.Note)
	c, err := b.checkpoint(ctx)
	if err != nil || r.Epoch != b.epoch+1 || r.PreviousSize != c.Size || r.PreviousRoot != c.Root.String() || r.Size > c.Size {
		return differs
	}
	if err := b.noted(m.Position, r.Note, c); err != nil {
		return err
	}
	tail := b.tree.tail
	if block := r.Size / blockLeaves; block < b.tree.size/blockLeaves {
		if tail, err = b.leaves(ctx, b.tree, block); err != nil {
			return err
		}
	}
	b.tree.cut(r.Size, tail[:r.Size%blockLeaves])
	b.epoch = r.Epoch
	given := func(p uint64, _ struct{}) bool { return p > r.Size } // another message is there from now on
	maps.DeleteFunc(b.erased, given)
	maps.DeleteFunc(b.changes, given)
	b.forgetKeys()
	if r.Log != "" {
		b.log = r.Log
	}
	return nil
}

func (b *book) checkpoint(ctx context.Context) (Checkpoint, error) {
	root, err := b.tree.root(ctx)
	return Checkpoint{Log: b.log, Epoch: b.epoch, Size: b.tree.size, Root: root}, err
}

// agree holds that the book is what the anchor says, at the record where it was
// written.
func (b *book) agree(ctx context.Context, a anchor) error {
	if b.log == "" {
		b.log = a.Log
	}
	c, err := b.checkpoint(ctx)
	if err != nil || c != a.Checkpoint || b.chain != a.chain || b.tombstones != a.tombstones {
		return damage(KindLedgerDiffers, b.records)
	}
	return nil
}

// leaves reads the leaves of a full block from the records that added them.
func (b *book) leaves(ctx context.Context, t *tree, block uint64) ([]tlog.Hash, error) {
	if block >= uint64(len(t.index)) {
		return nil, errNoLeaves
	}
	out := make([]tlog.Hash, blockLeaves)
	first, last := t.index[block], uint64(0)
	if block+1 < uint64(len(t.index)) {
		last = t.index[block+1]
	}
	begin := block * blockLeaves
	// What an epoch left behind is overwritten by what came after it.
	for m, err := range b.store.Read(ctx, subjectTree, first-1) {
		if err != nil {
			return nil, fmt.Errorf("read leaves: %w", err)
		}
		if last != 0 && m.Position > last {
			break
		}
		var r treeRecord
		if err := decodeRecord(m, &r); err != nil {
			return nil, err
		}
		leaves, ok := r.leaves()
		if !ok {
			return nil, damage(KindLedgerDiffers, m.Position)
		}
		for i, leaf := range leaves {
			if at := r.From + uint64(i); at >= begin && at < begin+blockLeaves {
				out[at-begin] = leaf
			}
		}
		if m.Position == last {
			break
		}
	}
	if len(t.levels) == 0 || block >= uint64(len(t.levels[0])) || subtree(out) != t.levels[0][block] {
		return nil, damage(KindLedgerDiffers, first)
	}
	return out, nil
}
