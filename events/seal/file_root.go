package seal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const rootMode fs.FileMode = 0o600

// FileRoot is a [Root] kept in a file of mode 0600. The key is read once; the
// file may be taken away while the process runs. Whoever can read the file can
// read everything, so that it does not belong on the volume of the log, nor in
// the same backup.
type FileRoot struct {
	id  string
	box box
}

// FileRootOptions says how a root file is opened.
type FileRootOptions struct {
	// Create allows a new key to be made when the file is absent. Where a log
	// already exists this must be false: a new key opens nothing of it.
	Create bool
	// Rand is the source of keys and nonces; nil is the operating system's.
	Rand io.Reader
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
// hard links. Every refusal is a [*RootFileError].
func OpenFileRoot(path string, opts FileRootOptions) (*FileRoot, error) {
	src := newSource(opts.Rand)
	root, err := readRoot(path, src)
	if errors.Is(err, fs.ErrNotExist) {
		if !opts.Create {
			return nil, &RootFileError{Path: path, Err: ErrRootMissing}
		}
		if err := createRoot(path, src); err != nil {
			return nil, &RootFileError{Path: path, Err: err}
		}
		root, err = readRoot(path, src)
	}
	if err != nil {
		return nil, &RootFileError{Path: path, Err: err}
	}
	return root, nil
}

func readRoot(path string, src source) (*FileRoot, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("look at root file: %w", err)
	}
	if err := checkRootMode(named.Mode()); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("open root file: %w", err)
	}
	// Nothing was written: closing cannot lose anything.
	defer func() { _ = f.Close() }()
	opened, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at root file: %w", err)
	}
	// What was opened must be what was looked at, not something put in its place.
	if !os.SameFile(named, opened) {
		return nil, ErrRootLink
	}
	if err := checkRootMode(opened.Mode()); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(rootFileSize)+1))
	if err != nil {
		return nil, fmt.Errorf("read root file: %w", err)
	}
	defer clear(data)
	id, key, err := parseRoot(data)
	if err != nil {
		return nil, err
	}
	defer key.wipe()
	b, err := newBox(key, src)
	if err != nil {
		return nil, err
	}
	return &FileRoot{id: id, box: b}, nil
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
func createRoot(path string, src source) (err error) {
	key, err := drawSecret(src)
	if err != nil {
		return err
	}
	defer key.wipe()
	var id [idSize]byte
	if _, err := io.ReadFull(src, id[:]); err != nil {
		return fmt.Errorf("draw root id: %w", err)
	}
	data := formatRoot(encodeToken(id[:]), key)
	defer clear(data)

	dir := filepath.Dir(path)
	aside, err := writeAside(dir, data)
	if err != nil {
		return err
	}
	defer func() {
		if removeErr := os.Remove(aside); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("remove temporary root file: %w", removeErr))
			return
		}
		// Synced last, so that the temporary name is gone for good as well.
		err = errors.Join(err, syncDir(dir))
	}()
	if err := os.Link(aside, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put root file in place: %w", err)
	}
	return nil
}

// writeAside writes a temporary file of mode 0600 and makes its content durable.
func writeAside(dir string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, ".root-*")
	if err != nil {
		return "", fmt.Errorf("create temporary root file: %w", err)
	}
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
		return "", fmt.Errorf("set mode of temporary root file: %w", err)
	}
	if _, err := f.Write(data); err != nil {
		return "", fmt.Errorf("write temporary root file: %w", err)
	}
	if err := f.Sync(); err != nil {
		return "", fmt.Errorf("sync temporary root file: %w", err)
	}
	return f.Name(), nil
}

func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("open directory of root file: %w", err)
	}
	if err := d.Sync(); err != nil {
		return errors.Join(fmt.Errorf("sync directory of root file: %w", err), d.Close())
	}
	if err := d.Close(); err != nil {
		return fmt.Errorf("close directory of root file: %w", err)
	}
	return nil
}

// Wrap implements [Root].
func (r *FileRoot) Wrap(_ context.Context, plaintext, aad []byte) ([]byte, error) {
	return r.box.seal(nil, plaintext, r.aad(aad))
}

// Unwrap implements [Root].
func (r *FileRoot) Unwrap(_ context.Context, wrapped, aad []byte) ([]byte, error) {
	return r.box.open(nil, wrapped, r.aad(aad))
}

// ID implements [Root]. It is drawn when the file is made.
func (r *FileRoot) ID() string { return r.id }

func (r *FileRoot) aad(aad []byte) []byte {
	return appendAAD(nil, purposeRoot, r.id, string(aad))
}
