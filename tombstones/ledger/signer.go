package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/events/disk"
)

const (
	keyFile = "ledger.key"
	pubFile = "ledger.pub"
	// nextFile has the key of a first start until there is an anchor of it.
	nextFile     = keyFile + ".new"
	signerName   = "annals"
	modeKey      = 0o600
	modePub      = 0o644
	maxKeyBytes  = 4 << 10
	maxNoteBytes = 64 << 10
)

// ErrBadKey says that the ledger key or what verifies it cannot be read.
var ErrBadKey = errors.New("ledger key is not readable")

// signer signs notes and knows its own.
type signer struct {
	sign   note.Signer
	verify note.Verifier
}

// loadSigner reads the key of a directory; it is fs.ErrNotExist if there is none.
func loadSigner(dir string) (*signer, error) { return readSigner(dir, keyFile) }

func readSigner(dir, file string) (*signer, error) {
	b, err := readSmall(filepath.Join(dir, file), maxKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("read ledger key: %w", err)
	}
	sign, err := note.NewSigner(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrBadKey, file)
	}
	verify, err := LoadVerifier(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing beside %s", ErrBadKey, pubFile, file)
	}
	if err != nil {
		return nil, err
	}
	if verify.KeyHash() != sign.KeyHash() {
		return nil, fmt.Errorf("%w: %s is of another key than %s", ErrBadKey, pubFile, file)
	}
	return &signer{sign: sign, verify: verify}, nil
}

// LoadVerifier reads the public key of a directory, which verifies its notes.
func LoadVerifier(dir string) (note.Verifier, error) {
	b, err := readSmall(filepath.Join(dir, pubFile), maxKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("read ledger's public key: %w", err)
	}
	verify, err := note.NewVerifier(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrBadKey, pubFile)
	}
	return verify, nil
}

// newSigner makes a key and puts it in place.
func newSigner(dir string, random io.Reader) (*signer, error) {
	s, err := draftSigner(dir, random)
	if err != nil {
		return nil, err
	}
	return s, keepSigner(dir)
}

// draftSigner makes a key that is not in place. The public half is written first:
// a key that is there has it.
func draftSigner(dir string, random io.Reader) (*signer, error) {
	private, public, err := note.GenerateKey(random, signerName)
	if err != nil {
		return nil, fmt.Errorf("make ledger key: %w", err)
	}
	if err := writeFile(filepath.Join(dir, pubFile), []byte(public+"\n"), modePub); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, nextFile), []byte(private+"\n"), modeKey); err != nil {
		return nil, err
	}
	return readSigner(dir, nextFile)
}

// keepSigner puts the key that was drafted in place, durably.
func keepSigner(dir string) error {
	if err := os.Rename(filepath.Join(dir, nextFile), filepath.Join(dir, keyFile)); err != nil {
		return fmt.Errorf("keep ledger key: %w", err)
	}
	return disk.SyncDir(dir)
}

// adoptSigner puts the key of a first start in place that was cut off behind its
// anchor. It is KindKeyMissing if no key that was drafted has signed the anchor.
func adoptSigner(dir string) (*signer, error) {
	s, err := readSigner(dir, nextFile)
	if err != nil {
		return nil, damage(KindKeyMissing, 0)
	}
	if _, _, err := readAnchor(dir, s.verify); err != nil {
		return nil, damage(KindKeyMissing, 0)
	}
	return s, keepSigner(dir)
}

// note signs a text, which ends in a newline.
func (s *signer) note(text string) ([]byte, error) {
	b, err := note.Sign(&note.Note{Text: text}, s.sign)
	if err != nil {
		return nil, fmt.Errorf("sign note: %w", err)
	}
	return b, nil
}

// errNotOurs is a note that this key did not sign.
var errNotOurs = errors.New("note of another key")

// open returns the text of a note that this key signed.
func open(v note.Verifier, b []byte) (string, error) {
	n, err := note.Open(b, note.VerifierList(v))
	if _, unknown := errors.AsType[*note.UnverifiedNoteError](err); unknown {
		return "", errNotOurs
	}
	if err != nil {
		return "", fmt.Errorf("open note: %w", err)
	}
	return n.Text, nil
}

// readSmall reads a file that cannot be large.
func readSmall(path string, most int64) (_ []byte, err error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err //nolint:wrapcheck // callers say what it was.
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, most)) //nolint:wrapcheck // as above.
}

// writeFile puts a file in place, in full or not at all, and durably.
func writeFile(path string, b []byte, mode fs.FileMode) (err error) {
	tmp := path + ".tmp"
	f, err := os.OpenFile(filepath.Clean(tmp), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	err = f.Chmod(mode) // it may be there, left by a crash
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return disk.SyncDir(filepath.Dir(path))
}
