package seal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/annals-memory/annals/events/disk"
)

// Names beside a root file, during a rotation.
const (
	// nextRoot is the file that takes its place.
	nextRoot = ".next"
	// formerRoot is the one whose place was taken, until it is overwritten.
	formerRoot = ".former"
)

// Rotate implements [RotatingRoot]. The file has both keys when it returns. Every
// refusal is a [*RootFileError]: [ErrRootChanged] if the file is not what was
// opened.
func (r *FileRoot) Rotate(ctx context.Context) error {
	return r.change(ctx, func(keys *rootKeys) (bool, error) {
		if keys.rotating() {
			return false, nil
		}
		fresh, err := drawRootKey(r.src, keys.current.Number+1, r.now())
		if err != nil {
			return false, err
		}
		keys.former, keys.current = keys.current, fresh
		return true, nil
	})
}

// Finish implements [RotatingRoot]. When it returns, the former key is in no file
// that the root ever had, and no longer in memory but for what the garbage
// collector has yet to take. Its refusals are those of [FileRoot.Rotate].
func (r *FileRoot) Finish(ctx context.Context) error {
	return r.change(ctx, func(keys *rootKeys) (bool, error) {
		if !keys.rotating() {
			return false, nil
		}
		keys.former.key.wipe()
		keys.former, keys.destroyed = rootKey{}, r.now()
		if !keys.destroyed.IsZero() {
			keys.destroyed = keys.destroyed.UTC().Round(0)
		}
		return true, nil
	})
}

// change writes the file anew, if edit says that the keys are others now.
func (r *FileRoot) change(ctx context.Context, edit func(*rootKeys) (bool, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return &RootFileError{Path: r.path, Err: err}
	}
	if err := r.tryChange(edit); err != nil {
		return &RootFileError{Path: r.path, Err: err}
	}
	return nil
}

func (r *FileRoot) tryChange(edit func(*rootKeys) (bool, error)) error {
	keys, err := readRoot(r.path)
	if err != nil {
		return err
	}
	defer func() { keys.wipe() }()
	h := r.held.Load()
	if keys.current.ID != h.epochs.Current.ID || keys.rotating() != (h.epochs.Former != nil) {
		return ErrRootChanged
	}
	if err := r.tidy(); err != nil {
		return err
	}
	changed, err := edit(&keys)
	if err != nil || !changed {
		return err
	}
	if err := r.replace(keys); err != nil {
		return err
	}
	return r.shred(r.path + formerRoot)
}

// replace puts a new file in the place of the root file, which keeps another
// name until it is overwritten: a crash at any point leaves the one or the other
// in place, complete, and what has to be overwritten under a name. When the new
// one is in place, its keys are the ones in use, even if the rest fails.
func (r *FileRoot) replace(keys rootKeys) error {
	data := formatRoot(keys)
	defer clear(data)
	next, former := r.path+nextRoot, r.path+formerRoot
	if err := r.crash(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Clean(next), os.O_WRONLY|os.O_CREATE|os.O_EXCL, rootMode)
	if err != nil {
		return fmt.Errorf("create temporary root file: %w", err)
	}
	if err := writeRoot(f, data); err != nil {
		return err
	}
	if err := r.crash(); err != nil {
		return err
	}
	if err := os.Link(r.path, former); err != nil {
		return fmt.Errorf("keep former root file: %w", err)
	}
	if err := disk.SyncDir(filepath.Dir(r.path)); err != nil {
		return err
	}
	if err := r.crash(); err != nil {
		return err
	}
	if err := os.Rename(next, r.path); err != nil {
		return fmt.Errorf("put root file in place: %w", err)
	}
	if err := r.hold(keys); err != nil {
		return err
	}
	if err := r.crash(); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(r.path))
}

// tidy destroys what an interrupted rotation has left beside the file.
func (r *FileRoot) tidy() error {
	if err := r.shred(r.path + nextRoot); err != nil {
		return err
	}
	if err := buryFormerRoot(r.path); err != nil {
		return err
	}
	// The root file itself under its second name, before the new one took its place.
	if err := os.Remove(r.path + formerRoot); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove second name of root file: %w", err)
	}
	return nil
}

// shred overwrites a file and removes it.
func (r *FileRoot) shred(path string) error {
	if err := r.crash(); err != nil {
		return err
	}
	f, err := openRoot(path, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := overwriteRoot(f); err != nil {
		return err
	}
	if err := r.crash(); err != nil {
		return err
	}
	return removeRoot(path)
}

// buryFormerRoot destroys a former root file that a rotation left when it was
// interrupted. While that is the root file itself, under another name, it is left
// alone. It can be called whoever else opens the file: a file whose place has been
// taken never has it again.
func buryFormerRoot(path string) error {
	f, err := openRoot(path+formerRoot, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	former, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("look at former root file: %w", err), f.Close())
	}
	// Looked at after the other was opened.
	current, err := os.Lstat(path)
	if err != nil {
		return errors.Join(fmt.Errorf("look at root file: %w", err), f.Close())
	}
	if os.SameFile(current, former) {
		if err := f.Close(); err != nil {
			return fmt.Errorf("close root file: %w", err)
		}
		return nil
	}
	// The rename that took its place may not be durable yet.
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := overwriteRoot(f); err != nil {
		return err
	}
	return removeRoot(path + formerRoot)
}

// overwriteRoot fills a file with zeros, durably, and closes it.
func overwriteRoot(f *os.File) (err error) {
	defer func() {
		if closeErr := f.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close former root file: %w", closeErr))
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at former root file: %w", err)
	}
	if _, err := f.Write(make([]byte, info.Size())); err != nil {
		return fmt.Errorf("overwrite former root file: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync former root file: %w", err)
	}
	return nil
}

// removeRoot removes a name, durably. Absent is success.
func removeRoot(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove former root file: %w", err)
	}
	return disk.SyncDir(filepath.Dir(path))
}
