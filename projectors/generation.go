package projectors

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A projection's folder holds one folder for each generation, and a file that names the serving one. The file is replaced
// by renaming, so that at every instant it names a generation that is there.
const (
	currentFile = "CURRENT"
	currentTemp = "CURRENT.tmp"
	genPrefix   = "gen-"
	scratchDir  = "scratch"
)

// generation is one build of a view. It is closed when its owner and every reader have let go of it.
type generation struct {
	num uint64
	// spec is the projection by which it is folded, nil if this version has none that can read it.
	spec   *spec
	dir    string
	fs     vfs.FS
	db     *pebble.DB
	index  searchIndex
	failed atomic.Bool

	// work is told what the store does in the background.
	work *storeWork

	mu     sync.Mutex
	refs   int
	remove bool
	closed chan struct{}
	err    error
	// readers counts the leases by the epoch in which they began, left is closed and replaced when one ends.
	epoch   uint64
	readers map[uint64]int
	left    chan struct{}
}

func openGeneration(fs vfs.FS, dir string, num uint64, cache *pebble.Cache, log *slog.Logger, create bool) (*generation, error) {
	g := &generation{
		num: num, dir: dir, fs: fs, work: newStoreWork(), refs: 1, closed: make(chan struct{}),
		readers: make(map[uint64]int), left: make(chan struct{}),
	}
	db, err := openStore(fs, dir, cache, log, create, func() { g.failed.Store(true) }, g.work)
	if err != nil {
		return nil, err
	}
	g.db = db
	return g, nil
}

// lease is a reference that a reader has on a generation.
type lease struct {
	*generation
	epoch uint64
}

// acquire takes a reference; it fails if the generation is closed already.
func (g *generation) acquire() (lease, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refs == 0 {
		return lease{}, false
	}
	g.refs++
	g.readers[g.epoch]++
	return lease{generation: g, epoch: g.epoch}, true
}

// release ends the lease.
func (l lease) release() error {
	g := l.generation
	g.mu.Lock()
	if g.readers[l.epoch]--; g.readers[l.epoch] == 0 {
		delete(g.readers, l.epoch)
	}
	close(g.left)
	g.left = make(chan struct{})
	g.mu.Unlock()
	return g.release()
}

// nextEpoch begins another epoch, and returns it.
func (g *generation) nextEpoch() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.epoch++
	return g.epoch
}

// readersBefore counts the leases of earlier epochs than one, and returns a channel that is closed when any lease ends.
func (g *generation) readersBefore(epoch uint64) (n int, left <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e, count := range g.readers {
		if e < epoch {
			n += count
		}
	}
	return n, g.left
}

// flush writes down what the store has only in memory, unless it cannot, as on a full disk: then a flush would be tried for
// ever, and what is lost is folded from the log again.
func (g *generation) flush() error {
	done, err := g.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flush view: %w", err)
	}
	for {
		moved := g.work.next()
		if g.failed.Load() {
			return nil
		}
		select {
		case <-done:
			return nil
		case <-moved:
		}
	}
}

// release lets go of a reference. The last one closes the store.
func (g *generation) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refs--
	if g.refs > 0 {
		return nil
	}
	defer close(g.closed)
	g.err = g.db.Close()
	if g.err == nil && g.remove {
		g.err = g.fs.RemoveAll(g.dir)
	}
	if g.err != nil {
		return fmt.Errorf("close generation: %w", g.err)
	}
	return nil
}

// retire gives up the owner's reference, and has the files removed with the last one.
func (g *generation) retire() error {
	g.mu.Lock()
	g.remove = true
	g.mu.Unlock()
	return g.release()
}

func genName(num uint64) string { return fmt.Sprintf("%s%06d", genPrefix, num) }

func genNumber(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, genPrefix)
	if !ok {
		return 0, false
	}
	num, err := strconv.ParseUint(digits, 10, 64)
	return num, err == nil && num > 0 && genName(num) == name
}

// makeDir makes a folder that is there after a crash.
func makeDir(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return syncDir(fs, fs.PathDir(dir))
}

func syncDir(fs vfs.FS, dir string) (err error) {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	defer closeInto(d, &err)
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// readCurrent returns the number of the serving generation, zero if none is named or the name is none.
func readCurrent(fs vfs.FS, dir string) (num uint64, err error) {
	file, err := fs.Open(fs.PathJoin(dir, currentFile))
	if err != nil {
		if isNotExist(err) {
			return 0, nil
		}
		return 0, fmt.Errorf("open current: %w", err)
	}
	defer closeInto(file, &err)
	b, err := io.ReadAll(io.LimitReader(file, 64))
	if err != nil {
		return 0, fmt.Errorf("read current: %w", err)
	}
	num, _ = genNumber(strings.TrimSuffix(string(b), "\n"))
	return num, nil
}

// writeCurrent names the serving generation, atomically and durably.
func writeCurrent(fs vfs.FS, dir string, num uint64) error {
	temp := fs.PathJoin(dir, currentTemp)
	if err := writeFile(fs, temp, genName(num)+"\n"); err != nil {
		return err
	}
	if err := fs.Rename(temp, fs.PathJoin(dir, currentFile)); err != nil {
		return fmt.Errorf("rename current: %w", err)
	}
	return syncDir(fs, dir)
}

func writeFile(fs vfs.FS, name, content string) (err error) {
	file, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	defer closeInto(file, &err)
	if _, err := file.Write([]byte(content)); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync file: %w", err)
	}
	return nil
}

// sweep removes what a crash may have left: everything but the serving generation. It returns the highest number seen, so
// that none is used twice.
func sweep(fs vfs.FS, dir string, current uint64) (highest uint64, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return 0, fmt.Errorf("list folder: %w", err)
	}
	for _, name := range names {
		num, isGen := genNumber(name)
		highest = max(highest, num)
		if (isGen && num != current) || name == scratchDir || name == currentTemp {
			if err := fs.RemoveAll(fs.PathJoin(dir, name)); err != nil {
				return 0, fmt.Errorf("remove leftovers: %w", err)
			}
		}
	}
	return highest, nil
}

// damaged reports whether a store that cannot be opened is to be built anew: whatever is wrong inside it, for a view can be
// thrown away; not what is wrong around it, which the next build would meet again.
func damaged(err error) bool {
	for _, around := range []error{os.ErrPermission, syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.EROFS, syscall.ENOMEM} {
		if errors.Is(err, around) {
			return false
		}
	}
	return true
}
