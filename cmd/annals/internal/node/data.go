package node

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
)

// ErrLocked says that another process has the data directory open.
var ErrLocked = errors.New("data directory is in use by another process")

// ErrNotServing says that no server announced an address.
var ErrNotServing = errors.New("that process is not a server")

const (
	lockFile   = "LOCK"
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
	tmp := filepath.Join(data, serverFile+".tmp")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write address: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(data, serverFile)); err != nil {
		return fmt.Errorf("write address: %w", err)
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
