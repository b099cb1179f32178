package node

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// ErrIndexElsewhere says that the search index of a directory is in Qdrant. To go on
// without would leave there what is forgotten from now on.
var ErrIndexElsewhere = errors.New("the search index of this data directory is in Qdrant: " +
	"name the server, or delete its collections and then the file " + indexFile)

// ErrBadIndexFile says that what notes the names of the collections is not readable.
var ErrBadIndexFile = errors.New("the names of this directory's collections in Qdrant are not known: put " + indexFile +
	" back, or delete it and the collections and the index is built anew under other names")

// indexFile has the prefix of the names of the directory's collections.
const indexFile = "qdrant.prefix"

// QdrantOptions say where the search index is. The zero value is beside the rows.
type QdrantOptions struct {
	// Address is the host and port of the server's gRPC.
	Address string
	// TLS says to use it, with the roots of the system.
	TLS bool
	// APIKey is sent if it is not empty, and not without TLS.
	APIKey string
}

// openIndex connects to the server that has the search index, if one does.
func (n *Node) openIndex(ctx context.Context, o Options) (*projectors.Qdrant, error) {
	path := filepath.Join(o.Data, indexFile)
	prefix, err := readPrefix(path)
	switch {
	case err != nil:
		return nil, err
	case o.Qdrant.Address == "" && prefix != "":
		return nil, ErrIndexElsewhere
	case o.Qdrant.Address == "":
		return nil, nil //nolint:nilnil // no index elsewhere is no error.
	}
	cfg := qdrantindex.Config{Address: o.Qdrant.Address, APIKey: o.Qdrant.APIKey, Now: time.Now}
	if o.Qdrant.TLS {
		cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if n.qdrant, err = qdrantindex.Open(ctx, cfg); err != nil {
		return nil, fmt.Errorf("connect to Qdrant: %w", err)
	}
	if prefix == "" {
		// No other directory may use the same collections, whatever server both are given.
		random := make([]byte, prefixBytes)
		if _, err := rand.Read(random); err != nil {
			return nil, fmt.Errorf("make index prefix: %w", err)
		}
		prefix = prefixBegins + hex.EncodeToString(random)
		if err := replaceFile(path, []byte(prefix+"\n")); err != nil {
			return nil, fmt.Errorf("note index prefix: %w", err)
		}
	}
	return &projectors.Qdrant{Client: n.qdrant, Prefix: prefix}, nil
}

// A prefix is a word and the hexadecimal form of so many random bytes.
const (
	prefixBegins = "annals-"
	prefixBytes  = 8
)

// readPrefix reads the prefix of the names of the collections, "" if none was made. One
// that is not as it was made would name those of nobody, or of somebody else.
func readPrefix(path string) (string, error) {
	b, err := os.ReadFile(path) //nolint:gosec // a file of our own.
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read index prefix: %w", err)
	}
	prefix, ended := strings.CutSuffix(string(b), "\n")
	digits, begins := strings.CutPrefix(prefix, prefixBegins)
	random, err := hex.DecodeString(digits)
	if !ended || !begins || err != nil || len(random) != prefixBytes || digits != strings.ToLower(digits) {
		return "", ErrBadIndexFile
	}
	return prefix, nil
}
