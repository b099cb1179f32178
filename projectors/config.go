package projectors

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// DefaultCacheBytes is the block cache that the views share if the configuration names none.
const DefaultCacheBytes = 64 << 20

// DefaultPurgeWait is how long a purge waits for readers if the configuration names no time.
const DefaultPurgeWait = 10 * time.Second

// Config says where the views are and what they are made from.
type Config struct {
	// Dir is the folder of the views, made if it is absent. One process at a time may open it. It is required.
	Dir string
	// FS is the file system of Dir; nil is the disk.
	FS vfs.FS
	// Log is what is folded. It is required.
	Log events.Follower
	// Keys open what the search index needs to read. It is required.
	Keys *seal.Keyring
	// Model is the key of the embedding model whose vectors are indexed where memories are begun; empty indexes those of
	// every model. Memories that were made with another one go on with that until [Views.Build].
	Model string
	// Tokenizers are those that an index may have been made with, the one of memories that are begun first; nil is
	// [DefaultTokenizers].
	Tokenizers []Tokenizer
	// Qdrant is where the search index of memories that are begun is; nil is with their rows. An index that is with its
	// rows goes on there until [Views.Build]; one in a Qdrant that is not named here any more is built anew.
	Qdrant *Qdrant
	// CacheBytes bounds the block cache that all views share; zero is [DefaultCacheBytes].
	CacheBytes int64
	// PurgeWait bounds how long a purge waits for readers that keep deleted rows on disk; zero is [DefaultPurgeWait].
	PurgeWait time.Duration
	// Logger gets what an operator must know, without values or names; nil discards it.
	Logger *slog.Logger
	// Now is the clock of Status and of elapsed times. Nothing that is stored depends on it. It is required.
	Now func() time.Time
	// Node names this process in Status.
	Node string

	// quiet is how long a reader waits for what is pending before it asks whether that is still there.
	quiet time.Duration
}

func (c *Config) complete() error {
	if c.Dir == "" || c.Log == nil || c.Keys == nil || c.Now == nil {
		return fmt.Errorf("open views: folder, log, keys and clock are required: %w", ErrConfig)
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.CacheBytes <= 0 {
		c.CacheBytes = DefaultCacheBytes
	}
	if len(c.Tokenizers) == 0 {
		c.Tokenizers = DefaultTokenizers()
	}
	if c.quiet <= 0 {
		c.quiet = defaultQuiet
	}
	if c.PurgeWait <= 0 {
		c.PurgeWait = DefaultPurgeWait
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
