package projectors

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// A memory table grows to its size only while much is folded at once, as in a rebuild. The levels are tuned for that:
	// little is rewritten on the way, at the price of a few more files to look into for a read.
	memTableBytes    = 32 << 20
	baseLevelBytes   = 256 << 20
	level0Compaction = 8
	level0Stop       = 32
	bloomBits        = 10
	maxOpenFiles     = 500
	// A search reads long runs of rows of one to nine KiB and then some hundred single ones: with larger blocks it steps
	// over fewer of them, and finds its way to a row through fewer levels of the index.
	blockBytes      = 32 << 10
	indexBlockBytes = 256 << 10
)

// storeLogger passes on that something happened in a store, never its words: they may hold keys.
type storeLogger struct{ log *slog.Logger }

func (l storeLogger) Infof(string, ...any) {}

func (l storeLogger) Errorf(string, ...any) { l.log.Error("view store reports an error") }

// Fatalf is called where the store cannot go on. It must not return.
func (l storeLogger) Fatalf(string, ...any) {
	l.log.Error("view store cannot go on")
	panic("projectors: view store cannot go on")
}

// openStore opens a Pebble store without a write-ahead log: the log of events is that.
func openStore(
	fs vfs.FS, dir string, cache *pebble.Cache, log *slog.Logger, create bool, failed func(), work *storeWork,
) (*pebble.DB, error) {
	opts := &pebble.Options{
		FS:                 fs,
		Cache:              cache,
		DisableWAL:         true,
		ErrorIfNotExists:   !create,
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       memTableBytes,
		LBaseMaxBytes:      baseLevelBytes,
		MaxOpenFiles:       maxOpenFiles,
		Logger:             storeLogger{log: log},

		L0CompactionThreshold: level0Compaction,
		L0StopWritesThreshold: level0Stop,
	}
	opts.EventListener = &pebble.EventListener{
		BackgroundError: func(error) {
			log.Error("view store failed in the background")
			failed()
		},
		// Left out, a damaged block ends the process. Whoever reads it gets an error too; the view is unhealthy until it is
		// built again.
		DataCorruption: func(pebble.DataCorruptionInfo) {
			log.Error("view is damaged on disk; replay it")
			failed()
		},
		CompactionBegin: func(info pebble.CompactionInfo) { work.begin(info.JobID) },
		CompactionEnd:   func(info pebble.CompactionInfo) { work.end(info.JobID) },
		FlushBegin:      func(info pebble.FlushInfo) { work.begin(info.JobID) },
		FlushEnd:        func(info pebble.FlushInfo) { work.end(info.JobID) },
		TableDeleted:    func(pebble.TableDeleteInfo) { work.deleted() },
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
		opts.Levels[i].BlockSize, opts.Levels[i].IndexBlockSize = blockBytes, indexBlockBytes
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("open view store: %w", err)
	}
	return db, nil
}

// newCache makes the block cache that all views share.
func newCache(cfg *Config) *pebble.Cache { return pebble.NewCache(cfg.CacheBytes) }
