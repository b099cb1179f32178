package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrKeyFile says that a secret file cannot be used; the wrapping error names
// the file and the reason, never its content.
var ErrKeyFile = errors.New("secret file refused")

const secretBytes = 32

// LoadOrCreateSecret reads a 32-byte secret from a file of mode 0600, in
// base64. If there is none it makes one from random. A file that others can
// read, or that is no such secret, is refused.
func LoadOrCreateSecret(path string, random io.Reader) ([]byte, error) {
	secret, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	secret = make([]byte, secretBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return nil, fmt.Errorf("make secret: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("make secret: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already, or of no use
	_, err = tmp.WriteString(base64.StdEncoding.EncodeToString(secret) + "\n")
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return nil, fmt.Errorf("make secret: %w", err)
	}
	// A link fails if the file is there by now: of two processes one makes it.
	if err := os.Link(tmp.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return readSecret(path)
		}
		return nil, fmt.Errorf("make secret: %w", err)
	}
	return secret, nil
}

func readSecret(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrKeyFile, path)
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return nil, fmt.Errorf("%w: %s can be read by others (mode %04o); run chmod 600", ErrKeyFile, path, info.Mode().Perm())
	}
	b, err := os.ReadFile(path) //nolint:gosec // The path is the operator's data directory.
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(secret) != secretBytes {
		return nil, fmt.Errorf("%w: %s is not %d bytes in base64", ErrKeyFile, path, secretBytes)
	}
	return secret, nil
}
