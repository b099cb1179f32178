package seal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/annals-memory/annals/events/disk"
)

const rootMode fs.FileMode = 0o600

// FileRoot is a [RotatingRoot] kept in a file of mode 0600. The keys are read once;
// the file may be taken away while the process runs, and must be there again to be
// rotated. Whoever can read the file can read everything, so that it does not
// belong on the volume of the log, nor in the same backup.
//
// A rotation puts another file in its place and overwrites the former one. That
// ends the former key where a file system writes in place: copies of the file,
// snapshots of the volume, journals and the spare blocks of a disk can keep it.
// One process at a time may rotate the file, and others that have it open go on
// with the keys that they have read: they must end, or open it again, before the
// rotation is finished.
type FileRoot struct {
	path string
	now  func() time.Time
	src  source
	// crash is called before each write of a rotation, in tests.
	crash func() error

	mu   sync.Mutex // is held by what writes the file
	held atomic.Pointer[heldRoot]
}

// heldRoot is what was read of a root file, ready for use.
type heldRoot struct {
	epochs          RootEpochs
	current, former box
}

// FileRootOptions says how a root file is opened.
type FileRootOptions struct {
	// Create allows a new key to be made when the file is absent. Where a log
	// already exists this must be false: a new key opens nothing of it.
	Create bool
	// Rand is the source of keys and nonces; nil is the operating system's.
	Rand io.Reader
	// Now tells when a key is drawn and destroyed; without it that is not known.
	Now func() time.Time
}

// RootFileError says what is wrong with a root file. It matches the sentinel in
// Err, such as [ErrRootMode].
type RootFileError struct {
	// Path is the file's path as it was given.
	Path string
	// Err is what is wrong.
	Err error
}

// Error names the path and what is wrong, never what is in the file.
func (e *RootFileError) Error() string { return fmt.Sprintf("root file %s: %v", e.Path, e.Err) }

// Unwrap returns what is wrong.
func (e *RootFileError) Unwrap() error { return e.Err }

// OpenFileRoot reads the root key at path, or makes one if that is allowed. A
// new file appears complete or not at all, is durable when the call returns, and
// never replaces another: of several that make one at the same time, one wins
// and all read its key. The directory must exist and its file system must know
// hard links. What a rotation that was interrupted has left of a former file is
// destroyed. Every refusal is a [*RootFileError].
func OpenFileRoot(path string, opts FileRootOptions) (*FileRoot, error) {
	r := &FileRoot{path: path, now: opts.Now, src: newSource(opts.Rand), crash: func() error { return nil }}
	if r.now == nil {
		r.now = func() time.Time { return time.Time{} }
	}
	if err := r.open(opts.Create); err != nil {
		return nil, &RootFileError{Path: path, Err: err}
	}
	return r, nil
}

func (r *FileRoot) open(create bool) error {
	keys, err := readRoot(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return ErrRootMissing
		}
		if err := createRoot(r.path, r.src, r.now()); err != nil {
			return err
		}
		keys, err = readRoot(r.path)
	}
	if err != nil {
		return err
	}
	defer keys.wipe()
	if err := buryFormerRoot(r.path); err != nil {
		return err
	}
	return r.hold(keys)
}

// hold makes keys the ones that are used.
func (r *FileRoot) hold(keys rootKeys) error {
	h := &heldRoot{epochs: RootEpochs{Current: keys.current.RootEpoch, Destroyed: keys.destroyed}}
	var err error
	if h.current, err = newBox(keys.current.key, r.src); err != nil {
		return err
	}
	if keys.rotating() {
		former := keys.former.RootEpoch
		h.epochs.Former = &former
		if h.former, err = newBox(keys.former.key, r.src); err != nil {
			return err
		}
	}
	r.held.Store(h)
	return nil
}

// readRoot reads the keys, which the caller wipes.
func readRoot(path string) (rootKeys, error) {
	f, err := openRoot(path, os.O_RDONLY)
	if err != nil {
		return rootKeys{}, err
	}
	// Nothing was written: closing cannot lose anything.
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxRootFile+1))
	if err != nil {
		return rootKeys{}, fmt.Errorf("read root file: %w", err)
	}
	defer clear(data)
	return parseRoot(data)
}

// openRoot opens a regular file of the right mode, nothing else.
func openRoot(path string, flag int) (*os.File, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("look at root file: %w", err)
	}
	if err := checkRootMode(named.Mode()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Clean(path), flag, 0)
	if err != nil {
		return nil, fmt.Errorf("open root file: %w", err)
	}
	if err := checkOpened(f, named); err != nil {
		// The check's error is the one that matters.
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func checkOpened(f *os.File, named fs.FileInfo) error {
	opened, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at root file: %w", err)
	}
	// What was opened must be what was looked at, not something put in its place.
	if !os.SameFile(named, opened) {
		return ErrRootLink
	}
	return checkRootMode(opened.Mode())
}

func checkRootMode(mode fs.FileMode) error {
	switch {
	case mode&fs.ModeSymlink != 0:
		return ErrRootLink
	case !mode.IsRegular():
		return ErrRootNotFile
	case mode != rootMode:
		return ErrRootMode
	default:
		return nil
	}
}

// createRoot writes a new root file aside, makes it durable and links it into
// place. A link is used where a rename would do because it does not replace
// the file of someone who was faster.
func createRoot(path string, src source, now time.Time) (err error) {
	first, err := drawRootKey(src, 1, now)
	if err != nil {
		return err
	}
	defer first.key.wipe()
	data := formatRoot(rootKeys{current: first})
	defer clear(data)

	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".root-*")
	if err != nil {
		return fmt.Errorf("create temporary root file: %w", err)
	}
	aside := f.Name()
	if err := writeRoot(f, data); err != nil {
		return err
	}
	defer func() {
		if removeErr := os.Remove(aside); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("remove temporary root file: %w", removeErr))
			return
		}
		// Synced last, so that the temporary name is gone for good as well.
		err = errors.Join(err, disk.SyncDir(dir))
	}()
	if err := os.Link(aside, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put root file in place: %w", err)
	}
	return nil
}

func drawRootKey(src source, number uint64, now time.Time) (rootKey, error) {
	key, err := drawSecret(src)
	if err != nil {
		return rootKey{}, err
	}
	var id [idSize]byte
	if _, err := io.ReadFull(src, id[:]); err != nil {
		return rootKey{}, fmt.Errorf("draw root id: %w", err)
	}
	if !now.IsZero() {
		now = now.UTC().Round(0)
	}
	return rootKey{RootEpoch: RootEpoch{Number: number, ID: encodeToken(id[:]), Created: now}, key: key}, nil
}

// writeRoot gives a new file mode 0600 and its content, durably, and closes it.
// After an error it is gone.
func writeRoot(f *os.File, data []byte) (err error) {
	defer func() {
		if closeErr := f.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close temporary root file: %w", closeErr))
		}
		if err != nil {
			// The write's error is the one that matters.
			_ = os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(rootMode); err != nil {
		return fmt.Errorf("set mode of temporary root file: %w", err)
	}
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("write temporary root file: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync temporary root file: %w", err)
	}
	return nil
}

// Wrap implements [Root].
func (r *FileRoot) Wrap(_ context.Context, plaintext, aad []byte) ([]byte, error) {
	h := r.held.Load()
	return h.current.seal(nil, plaintext, rootAAD(h.epochs.Current.ID, aad))
}

// Unwrap implements [Root].
func (r *FileRoot) Unwrap(_ context.Context, wrapped, aad []byte) ([]byte, error) {
	h := r.held.Load()
	plaintext, err := h.current.open(nil, wrapped, rootAAD(h.epochs.Current.ID, aad))
	if err != nil && h.epochs.Former != nil {
		return h.former.open(nil, wrapped, rootAAD(h.epochs.Former.ID, aad))
	}
	return plaintext, err
}

// ID implements [Root]. It is drawn with the key.
func (r *FileRoot) ID() string { return r.held.Load().epochs.Current.ID }

// Epochs implements [RotatingRoot].
func (r *FileRoot) Epochs() RootEpochs {
	epochs := r.held.Load().epochs
	if epochs.Former != nil {
		former := *epochs.Former
		epochs.Former = &former
	}
	return epochs
}

func rootAAD(id string, aad []byte) []byte { return appendAAD(nil, purposeRoot, id, string(aad)) }
