package ledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrBadProof says that a proof does not lead from its leaf to its checkpoint.
var ErrBadProof = errors.New("proof does not verify")

// Proof shows that a position has its leaf in the tree of a checkpoint.
type Proof struct {
	Position uint64 `json:"position"`
	// LeafHash and Hashes are in hexadecimal.
	LeafHash string   `json:"leaf_hash"`
	TreeSize uint64   `json:"tree_size"`
	Hashes   []string `json:"hashes"`
	// Checkpoint is the signed note.
	Checkpoint string `json:"checkpoint"`
}

// Signed is a note, signed now, of what the last checkpoint in the ledger covers.
func (l *Ledger) Signed(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	c, err := l.book.checkpoint(ctx)
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return l.signer.note(c.text())
}

// Prove returns the proof of a position. One that no checkpoint covers is
// ErrNotCovered.
func (l *Ledger) Prove(ctx context.Context, position uint64) (Proof, error) {
	l.mu.Lock()
	t := l.book.tree.snapshot()
	c, err := l.book.checkpoint(ctx)
	fetch := l.book.leaves // it reads the store alone
	l.mu.Unlock()
	if err != nil {
		return Proof{}, fmt.Errorf("prove position: %w", err)
	}
	if position == 0 || position > t.size {
		return Proof{}, fmt.Errorf("prove position: %w", ErrNotCovered)
	}
	size, index := int64(t.size), int64(position-1) //nolint:gosec // A position fits for ever.
	r := t.reader(ctx, fetch)
	hashes, err := tlog.ProveRecord(size, index, r)
	if err != nil {
		return Proof{}, fmt.Errorf("prove position: %w", err)
	}
	leaf, err := r.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
	if err != nil {
		return Proof{}, fmt.Errorf("prove position: %w", err)
	}
	signed, err := l.signer.note(c.text())
	if err != nil {
		return Proof{}, fmt.Errorf("prove position: %w", err)
	}
	p := Proof{
		Position: position, LeafHash: hex.EncodeToString(leaf[0][:]), TreeSize: t.size,
		Hashes: make([]string, len(hashes)), Checkpoint: string(signed),
	}
	for i, h := range hashes {
		p.Hashes[i] = hex.EncodeToString(h[:])
	}
	return p, nil
}

// Verify verifies a proof and returns its checkpoint. It says that the leaf is
// in the tree, not what message it is of: for that compare it with [Leaf].
func (p Proof) Verify(v note.Verifier) (Checkpoint, error) {
	c, err := OpenCheckpoint(v, []byte(p.Checkpoint))
	if err != nil {
		return c, fmt.Errorf("%w: checkpoint: %w", ErrBadProof, err)
	}
	leaf, ok := parseHex(p.LeafHash)
	if !ok || p.TreeSize != c.Size || p.Position == 0 || p.Position > c.Size {
		return c, ErrBadProof
	}
	hashes := make(tlog.RecordProof, len(p.Hashes))
	for i, s := range p.Hashes {
		if hashes[i], ok = parseHex(s); !ok {
			return c, ErrBadProof
		}
	}
	if err := tlog.CheckRecord(hashes, int64(c.Size), c.Root, int64(p.Position-1), leaf); err != nil { //nolint:gosec // parsed with 63 bits.
		return c, ErrBadProof
	}
	return c, nil
}

func parseHex(s string) (tlog.Hash, bool) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != tlog.HashSize {
		return tlog.Hash{}, false
	}
	return tlog.Hash(b), true
}
