package ledger

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// keysRecord names rows of the keys that are about to be removed, in one epoch.
type keysRecord struct {
	Epoch     uint64   `json:"epoch"`
	Plain     bool     `json:"plain,omitzero"`
	Last      uint64   `json:"last,omitzero"`
	Revisions []uint64 `json:"revisions"`
	// Hashes are 32 bytes for each revision.
	Hashes []byte `json:"hashes"`
}

// removal is what a record of the ledger says is about to be removed, and is not
// known to be gone.
type removal struct {
	position  uint64 // of the record
	plain     bool
	revisions []uint64
}

// RemoveKeys names rows of the keys that are about to be removed and returns when
// the ledger has acknowledged it: only then may they be. What is named is removed
// by the next [Open] if it was not before. It is a journal for
// [github.com/annals-memory/annals/events/natslog.Keys].
func (l *Ledger) RemoveKeys(ctx context.Context, r seal.Removal) error {
	if len(r.Marks) == 0 {
		return nil
	}
	l.mu.Lock()
	rec := keysRecord{Epoch: l.book.epoch, Plain: r.Plain, Last: r.Last}
	l.mu.Unlock()
	for some := range slices.Chunk(r.Marks, maxRemoved) {
		rec.Revisions, rec.Hashes = rec.Revisions[:0], rec.Hashes[:0]
		for _, m := range some {
			rec.Revisions, rec.Hashes = append(rec.Revisions, m.Revision), append(rec.Hashes, m.Hash[:]...)
		}
		if err := l.put(ctx, subjectKeys, rec); err != nil {
			return fmt.Errorf("name keys to remove: %w", err)
		}
	}
	return nil
}

// applyKeys takes in what is about to be removed. What it was before it was named
// is in its hash.
func (b *book) applyKeys(m events.Message) error {
	var r keysRecord
	if err := decodeRecord(m, &r); err != nil {
		return err
	}
	if len(r.Hashes) != sha256.Size*len(r.Revisions) {
		return damage(KindLedgerDiffers, m.Position)
	}
	if r.Epoch != b.epoch { // it is of who did not know of the restore
		return nil
	}
	b.written = max(b.written, r.Last)
	fresh := removal{position: m.Position, plain: r.Plain}
	for i, revision := range r.Revisions {
		b.written = max(b.written, revision)
		if !b.removed.add(revision) {
			continue
		}
		fresh.revisions = append(fresh.revisions, revision)
		mark := seal.Mark{Revision: revision, Hash: [sha256.Size]byte(r.Hashes[sha256.Size*i:])}
		if b.keys.known && revision <= b.keys.last {
			b.keys.stock.remove(mark)
		}
		if b.look != nil {
			b.look.removed(mark)
		}
	}
	if len(fresh.revisions) > 0 {
		b.pending = append(b.pending, fresh)
	}
	return nil
}

// forgetKeys begins the account of the keys anew.
func (b *book) forgetKeys() {
	b.keys, b.removed, b.settled, b.pending, b.written = account{}, numbers{}, nil, nil, 0
}

// anchored takes over what an anchor says of the keys, at its last record.
func (b *book) anchored(a anchor) { b.keys = a.keys }

// settle takes what was named so far for gone.
func (b *book) settle() { b.settled, b.pending = b.removed.clone(), nil }
