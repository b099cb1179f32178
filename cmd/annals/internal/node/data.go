package node

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/events/disk"
)

// ErrLocked says that another process has the data directory open.
var ErrLocked = errors.New("data directory is in use by another process")

// ErrNotServing says that no server announced an address.
var ErrNotServing = errors.New("that process is not a server")

// ErrOtherLog says that the directory belongs to a log at another place. To go
// on would be to write a second history beside the first.
var ErrOtherLog = errors.New("data directory belongs to another log")

// ErrBadPlace says that what notes the place of a directory's log is not readable.
var ErrBadPlace = errors.New("the place of this directory's log is not known")

const (
	lockFile   = "LOCK"
	placeFile  = "log.place"
	rootFile   = "root.key"
	authFile   = "auth.key"
	localFile  = "local.token"
	serverFile = "server.json"
	logDir     = "log"
	viewsDir   = "views"
	embedDir   = "embedder"
)

// lock makes the directory if it is absent and takes it.
func lock(data string) (*flock.Flock, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	l := flock.New(filepath.Join(data, lockFile))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrLocked, data)
	}
	return l, nil
}

// Exists says whether a node was ever opened on a directory, or a restore begun.
func Exists(data string) bool {
	for _, name := range []string{lockFile, restoringFile} {
		if _, err := os.Stat(filepath.Join(data, name)); err == nil {
			return true
		}
	}
	return false
}

// OpenAuthority opens the keys that sign and verify credentials, making them
// if they are absent. A running server uses the same files.
func OpenAuthority(data string, now func() time.Time) (*auth.Authority, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	key, err := auth.LoadOrCreateSecret(filepath.Join(data, authFile), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	local, err := auth.LoadOrCreateSecret(filepath.Join(data, localFile), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("local token: %w", err)
	}
	return auth.New(key, local, now), nil
}

// ReadLocalToken returns the single-user token of a data directory.
func ReadLocalToken(data string) (string, error) {
	if _, err := os.Stat(filepath.Join(data, localFile)); err != nil {
		return "", fmt.Errorf("no local token in the data directory: %w", err)
	}
	secret, err := auth.LoadOrCreateSecret(filepath.Join(data, localFile), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("local token: %w", err)
	}
	return auth.LocalToken(secret), nil
}

// The places of a log.
const (
	placeInside   = "in this directory"
	placeExternal = "on an external NATS server"
)

func placeOf(natsURL string) string {
	if natsURL == "" {
		return placeInside
	}
	return placeExternal
}

// checkPlace refuses a log at another place than the one that the directory
// has been used with.
func checkPlace(data, place string) error {
	b, err := os.ReadFile(filepath.Join(data, placeFile)) //nolint:gosec // The path is the operator's data directory.
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the log's place: %w", err)
	}
	switch was := strings.TrimSpace(string(b)); was {
	case place:
		return nil
	case placeInside, placeExternal:
		return fmt.Errorf("%w, %s: start it with the same --nats as before", ErrOtherLog, was)
	}
	return fmt.Errorf("%w: %s has to say %q or %q", ErrBadPlace, placeFile, placeInside, placeExternal)
}

// wasUsed says whether a log was opened in a directory once, of which nothing may
// be made anew. With a log outside, a root key may have been put there for a first
// start beside others.
func wasUsed(data string, external bool) (bool, error) {
	names := []string{placeFile, viewsDir, embedDir, rootFile}
	if external {
		names = names[:len(names)-1]
	}
	for _, name := range names {
		switch _, err := os.Stat(filepath.Join(data, name)); {
		case err == nil:
			return true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, fmt.Errorf("look for a former log: %w", err)
		}
	}
	return false, nil
}

// keepPlace notes where the directory's log is.
func keepPlace(data, place string) error {
	return replaceFile(filepath.Join(data, placeFile), []byte(place+"\n"))
}

// replaceFile writes a file of mode 0600 that is there in full or not at all, after
// a power cut too.
func replaceFile(path string, b []byte) error {
	tmp := path + ".tmp"
	if err := writeSynced(tmp, b); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // The path is the operator's data directory.
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it was.
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

type announcement struct {
	Addr string `json:"addr"`
	PID  int    `json:"pid"`
}

// announce writes where the server listens.
func announce(data, addr string) error {
	b, err := json.Marshal(announcement{Addr: addr, PID: os.Getpid()})
	if err != nil {
		return fmt.Errorf("encode address: %w", err)
	}
	if err := replaceFile(filepath.Join(data, serverFile), b); err != nil {
		return fmt.Errorf("announce address: %w", err)
	}
	return nil
}

// RunningAddr returns the address of the server that has the directory.
func RunningAddr(data string) (string, error) {
	b, err := os.ReadFile(filepath.Join(data, serverFile)) //nolint:gosec // The path is the operator's data directory.
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNotServing
	}
	if err != nil {
		return "", fmt.Errorf("read address: %w", err)
	}
	var a announcement
	if err := json.Unmarshal(b, &a); err != nil || a.Addr == "" {
		return "", ErrNotServing
	}
	return a.Addr, nil
}
