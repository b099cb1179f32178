package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"
)

const (
	publicFile = "ledger.pub"
	maxPiece   = 16 << 20
)

// ErrArtefact says that a file is no artefact, or not as it was signed.
var ErrArtefact = errors.New("artefact is damaged, cut off or altered")

var errNoManifest = fmt.Errorf("%w: no manifest that its key has signed", ErrArtefact)

// Artefact is a file that was read in full and is what was signed.
type Artefact struct {
	Manifest

	path     string
	verifier note.Verifier
}

// Open reads a file in full and returns it if it is an artefact of the kind, or of
// any if that is "". It is ErrArtefact otherwise.
func Open(path string, kind Kind) (*Artefact, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("open artefact: %w", err)
	}
	defer f.Close() //nolint:errcheck // It was only read.
	r, err := newPieces(f)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, fmt.Errorf("read artefact: %w", err)
	}
	m, v, err := r.manifest()
	if err != nil {
		return nil, err
	}
	if kind != "" && m.Kind != kind {
		return nil, fmt.Errorf("%w: it is of kind %s, not %s", ErrArtefact, m.Kind, kind)
	}
	return &Artefact{Manifest: m, path: path, verifier: v}, nil
}

// read has f read the snapshot, and holds that it is the one that was verified.
func (a *Artefact) read(f func(io.Reader) error) error {
	file, err := os.Open(filepath.Clean(a.path))
	if err != nil {
		return fmt.Errorf("open artefact: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	r, err := newPieces(file)
	if err != nil {
		return err
	}
	if err := f(r); err != nil {
		return err
	}
	m, _, err := r.manifest()
	if err != nil {
		return err
	}
	if m != a.Manifest {
		return fmt.Errorf("%w: it was replaced meanwhile", ErrArtefact)
	}
	return nil
}

// pieces reads the snapshot of an artefact.
type pieces struct {
	r    *bufio.Reader
	sum  hash.Hash
	n    uint64
	left int
	over bool
}

func newPieces(r io.Reader) (*pieces, error) {
	p := &pieces{r: bufio.NewReaderSize(r, 1<<20), sum: sha256.New()}
	begin := make([]byte, len(magic))
	if err := p.full(begin); err != nil || string(begin) != magic {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrArtefact)
	}
	return p, nil
}

// Read reads the snapshot and ends where the manifest begins.
func (p *pieces) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if p.left == 0 && !p.over {
		var length [4]byte
		if err := p.full(length[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > maxPiece {
			return 0, ErrArtefact
		}
		p.left, p.over = int(n), n == 0
	}
	if p.over {
		return 0, io.EOF
	}
	b = b[:min(len(b), p.left)]
	if err := p.full(b); err != nil {
		return 0, err
	}
	p.left -= len(b)
	return len(b), nil
}

func (p *pieces) full(b []byte) error {
	if _, err := io.ReadFull(p.r, b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrArtefact
		}
		return fmt.Errorf("read artefact: %w", err)
	}
	_, _ = p.sum.Write(b) // a hash takes everything
	p.n += uint64(len(b))
	return nil
}

// manifest reads what is behind the snapshot and holds the snapshot against it.
func (p *pieces) manifest() (Manifest, note.Verifier, error) {
	if !p.over {
		return Manifest{}, nil, ErrArtefact
	}
	signed, err := io.ReadAll(io.LimitReader(p.r, maxManifest))
	if err != nil {
		return Manifest{}, nil, fmt.Errorf("read artefact: %w", err)
	}
	m, v, err := openManifest(signed)
	if err != nil {
		return Manifest{}, nil, err
	}
	if m.Bytes != p.n || m.SHA256 != hex.EncodeToString(p.sum.Sum(nil)) {
		return Manifest{}, nil, ErrArtefact
	}
	return m, v, nil
}
