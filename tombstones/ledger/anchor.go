package ledger

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

const (
	anchorFile = "anchor"
	modeAnchor = 0o600
)

var errText = errors.New("text is not that of a checkpoint")

// anchor is where everything stood last, as it is kept outside the log.
type anchor struct {
	Checkpoint

	tombstones uint64
	// records is the position of the ledger's last record, chain the hash of all
	// up to it.
	records uint64
	chain   chain
	// keys is the account of the keys as of that record, and settled the record up
	// to which every removal that was named is done.
	keys    account
	settled uint64
}

func (a anchor) text() string {
	return fmt.Sprintf("%stombstones %d\nledger %d %s\nkeys %d %d %s %d\n", a.Checkpoint.text(),
		a.tombstones, a.records, base64.StdEncoding.EncodeToString(a.chain[:]),
		a.keys.last, a.keys.stock.count, base64.StdEncoding.EncodeToString(a.keys.stock.bytes()), a.settled)
}

// Anchored says whether a data directory has an anchor: its log was there, and
// no part of it may be made anew.
func Anchored(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, anchorFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for the anchor: %w", err)
	}
	return true, nil
}

// Anchor returns the last checkpoint that the directory vouches for and its
// signed note, which has lines of its own behind the root. It needs no log.
func Anchor(dir string) (Checkpoint, []byte, error) {
	v, err := LoadVerifier(dir)
	if err != nil {
		return Checkpoint{}, nil, err
	}
	a, b, err := readAnchor(dir, v)
	return a.Checkpoint, b, err
}

// readAnchor is fs.ErrNotExist if there is none.
func readAnchor(dir string, v note.Verifier) (anchor, []byte, error) {
	b, err := readSmall(filepath.Join(dir, anchorFile), maxNoteBytes)
	if err != nil {
		return anchor{}, nil, fmt.Errorf("read anchor: %w", err)
	}
	text, err := open(v, b)
	if err != nil {
		return anchor{}, nil, damage(KindAnchorInvalid, 0)
	}
	a, ok := parseAnchor(text)
	if !ok {
		return anchor{}, nil, damage(KindAnchorInvalid, 0)
	}
	return a, b, nil
}

func parseAnchor(text string) (anchor, bool) {
	c, more, ok := parseCheckpoint(text)
	a := anchor{Checkpoint: c}
	if !ok {
		return a, false
	}
	var sum, keys string
	var count uint64
	if _, err := fmt.Sscanf(strings.Join(more, "\n"), "tombstones %d\nledger %d %s\nkeys %d %d %s %d",
		&a.tombstones, &a.records, &sum, &a.keys.last, &count, &keys, &a.settled); err != nil {
		return a, false
	}
	b, err := base64.StdEncoding.DecodeString(sum)
	if err != nil || len(b) != len(a.chain) {
		return a, false
	}
	copy(a.chain[:], b)
	if b, err = base64.StdEncoding.DecodeString(keys); err != nil {
		return a, false
	}
	if a.keys.stock, ok = stockOf(count, b); !ok || a.settled > a.records {
		return a, false
	}
	a.keys.known = true
	return a, text == a.text()
}

func (a anchor) write(dir string, s *signer) error {
	b, err := s.note(a.text())
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, anchorFile), b, modeAnchor)
}
