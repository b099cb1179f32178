package producers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Checkpoint keeps the position that an [Embedder] or a [Sweeper] has dealt with.
type Checkpoint interface {
	// Load returns the stored position, 0 if there is none.
	Load() (uint64, error)
	// Store replaces it. A crash leaves the old one or the new one.
	Store(position uint64) error
}

// ErrCheckpoint says that a checkpoint cannot be read or written, or is not
// what was stored.
var ErrCheckpoint = errors.New("checkpoint is unusable")

// FileCheckpoint keeps the checkpoint of a model on a log in a file of their own
// under a directory, so that another model, and the same one on another log,
// starts from the beginning. The log is its events.State.Identity. The first
// Store makes both. It is for one embedder at a time.
func FileCheckpoint(dir, log, modelKey string) Checkpoint {
	sum := sha256.Sum256([]byte(log + "\x00" + modelKey))
	return &fileCheckpoint{path: filepath.Join(dir, "embedder-"+hex.EncodeToString(sum[:8]))}
}

// QuarantineCheckpoint keeps that of a [Sweeper] on a log in the same way.
func QuarantineCheckpoint(dir, log string) Checkpoint {
	sum := sha256.Sum256([]byte(log))
	return &fileCheckpoint{path: filepath.Join(dir, "quarantine-"+hex.EncodeToString(sum[:8]))}
}

type fileCheckpoint struct{ path string }

// Load implements [Checkpoint].
func (f *fileCheckpoint) Load() (uint64, error) {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%w: read", ErrCheckpoint)
	}
	line, complete := strings.CutSuffix(string(b), "\n")
	position, err := strconv.ParseUint(line, 10, 64)
	if err != nil || !complete {
		return 0, fmt.Errorf("%w: not a position", ErrCheckpoint)
	}
	return position, nil
}

// Store implements [Checkpoint]. The file is synced before it takes its name;
// the directory is not, for the older checkpoint is as valid.
func (f *fileCheckpoint) Store(position uint64) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("%w: make directory", ErrCheckpoint)
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), "position-*.tmp")
	if err != nil {
		return fmt.Errorf("%w: create", ErrCheckpoint)
	}
	_, err = tmp.WriteString(strconv.FormatUint(position, 10) + "\n")
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%w: write", ErrCheckpoint), os.Remove(tmp.Name()))
	}
	return nil
}
