package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// magic begins an artefact.
const magic = "annals backup 1\n"

// Source takes snapshots of the parts of a log, which are named like the kinds.
type Source interface {
	Snapshot(ctx context.Context, part string, w io.Writer) (events.State, error)
}

// Head tells where the log stands.
type Head interface {
	State(ctx context.Context) (events.State, error)
}

// Config is what artefacts are taken from. All of it is required.
type Config struct {
	Source Source
	Log    Head
	Ledger *ledger.Ledger
	// Dir has the anchor and the public key of the ledger.
	Dir string
	Now func() time.Time
}

// Take writes one artefact to w. What was written before an error has no manifest
// and is of no use.
func Take(ctx context.Context, c Config, kind Kind, w io.Writer) (Manifest, error) {
	// The anchor of a ledger must be in it, that of data and keys must be as new.
	if kind == KindLedger {
		if err := c.Ledger.Checkpoint(ctx); err != nil {
			return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
		}
	}
	_, signed, err := ledger.Anchor(c.Dir)
	if err != nil {
		return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
	}
	head, err := c.Log.State(ctx)
	if err != nil {
		return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
	}
	out := &framer{w: w, sum: sha256.New()}
	if err := out.put([]byte(magic)); err != nil {
		return Manifest{}, err
	}
	state, err := c.Source.Snapshot(ctx, string(kind), out)
	if err == nil {
		err = out.end()
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
	}
	if kind != KindLedger {
		if err := c.Ledger.Checkpoint(ctx); err != nil {
			return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
		}
		if _, signed, err = ledger.Anchor(c.Dir); err != nil {
			return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
		}
	}
	a, err := ledger.OpenAnchor(c.Ledger.Verifier(), signed)
	if err != nil {
		return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
	}
	public, err := os.ReadFile(filepath.Join(c.Dir, publicFile))
	if err != nil {
		return Manifest{}, fmt.Errorf("take %s: %w", kind, err)
	}
	m := Manifest{
		Format: format, Kind: kind, Log: a.Log, Epoch: a.Epoch, Last: state.Last, Messages: state.Messages,
		LogLast: head.Last, MadeAt: c.Now().UTC(), Bytes: out.n, SHA256: hex.EncodeToString(out.sum.Sum(nil)),
		Anchor: string(signed), Public: strings.TrimSpace(string(public)),
	}
	return m, c.seal(m, w)
}

// seal signs the manifest and ends the artefact with it.
func (c Config) seal(m Manifest, w io.Writer) error {
	text, err := m.text()
	if err != nil {
		return err
	}
	signed, err := c.Ledger.Sign(text)
	if err != nil {
		return fmt.Errorf("sign manifest: %w", err)
	}
	if _, err := w.Write(signed); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// framer writes pieces with their length before them, counts and hashes.
type framer struct {
	w   io.Writer
	sum hash.Hash
	n   uint64
}

// Write writes one piece.
func (f *framer) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := f.length(len(b)); err != nil {
		return 0, err
	}
	return len(b), f.put(b)
}

// end writes the piece of no length, behind which the manifest is.
func (f *framer) end() error { return f.length(0) }

func (f *framer) length(n int) error {
	return f.put(binary.BigEndian.AppendUint32(nil, uint32(n))) //nolint:gosec // a piece is small
}

func (f *framer) put(b []byte) error {
	if _, err := f.w.Write(b); err != nil {
		return fmt.Errorf("write artefact: %w", err)
	}
	_, _ = f.sum.Write(b) // a hash takes everything
	f.n += uint64(len(b))
	return nil
}
