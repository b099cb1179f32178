package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// maxRounds bounds how often a directory is gone through for what has changed.
const maxRounds = 5

// walk goes through a directory.
type walk struct {
	scanner *Scanner
	dir     string
	buf     []byte
	seen    map[string]*visit // by path below dir, with slashes
	// watch, if set, is told of everything that is found.
	watch func(file, in string, p *pattern)
}

// visit is what a look at a file, a folder or a link gave.
type visit struct {
	round    int
	size     int64
	modified time.Time

	regular  bool
	bytes    int64
	unpacked bool
	unread   string
	findings
}

// run goes through the directory until a round has met nothing new, and says
// whether one has.
func (w *walk) run(ctx context.Context) (settled bool, err error) {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return false, fmt.Errorf("open directory: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for round := range maxRounds {
		changed, err := w.round(ctx, root, round)
		if err != nil {
			return false, err
		}
		if !changed {
			return true, nil
		}
	}
	return false, nil
}

// round looks at everything that it has not seen as it is now.
func (w *walk) round(ctx context.Context, root *os.Root, round int) (changed bool, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name == "." {
			return err
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				changed = w.fail(name, round) || changed
			}
			return fs.SkipDir
		}
		info := infoOf(e)
		if info == nil { // gone meanwhile
			changed = true
			return nil
		}
		if v := w.seen[name]; v != nil && v.size == sizeOf(info) && v.modified.Equal(modified(info)) {
			v.round = round
			return nil
		}
		changed = true
		v, err := w.visit(ctx, root, name, info)
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone meanwhile
			delete(w.seen, name)
			return nil
		case err != nil:
			return err
		}
		v.round = round
		w.seen[name] = v
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("walk directory: %w", err)
	}
	maps.DeleteFunc(w.seen, func(_ string, v *visit) bool { return v.round != round })
	return changed, nil
}

// fail notes a folder that cannot be read, and says whether that is new.
func (w *walk) fail(name string, round int) bool {
	v := w.seen[name]
	if v == nil {
		v = &visit{}
		w.seen[name] = v
	}
	v.round = round
	isNew := v.unread == ""
	v.unread = "cannot be read"
	return isNew
}

// infoOf is nil for what is not there any more.
func infoOf(e fs.DirEntry) fs.FileInfo {
	info, err := e.Info()
	if err != nil {
		return nil
	}
	return info
}

// sizeOf and modified are of files only: what else changes about a folder is
// seen in it.
func sizeOf(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

func modified(info fs.FileInfo) time.Time {
	if info.Mode().IsRegular() {
		return info.ModTime()
	}
	return time.Time{}
}

// visit searches one file, or the name of whatever else it is. An error is one
// of the context, or says that the file is gone.
func (w *walk) visit(ctx context.Context, root *os.Root, name string, info fs.FileInfo) (*visit, error) {
	v := &visit{size: sizeOf(info), modified: modified(info), regular: info.Mode().IsRegular()}
	emit := func(in string) func(offset int64, p *pattern) {
		return func(offset int64, p *pattern) {
			if w.watch != nil {
				w.watch(name, in, p)
			}
			if p.index >= 0 {
				v.add(in, offset, p)
			}
		}
	}
	w.name(name, emit(InName))
	switch {
	case info.IsDir():
		return v, nil
	case info.Mode().Type() == fs.ModeSymlink:
		if target, err := root.Readlink(filepath.FromSlash(name)); err == nil {
			w.scanner.searcher.find([]byte(target), func(start int, p *pattern) { emit(InName)(int64(start), p) })
		}
		v.unread = "is a link, which is not followed"
		return v, nil
	case !v.regular:
		return v, nil
	}
	if err := w.read(ctx, root, name, v, emit(InBytes)); err != nil || v.unread != "" {
		return v, err
	}
	return v, w.unpack(ctx, name, v, emit(InPieces))
}

// name searches the last part of a path, which may begin before it.
func (w *walk) name(name string, emit func(offset int64, p *pattern)) {
	w.scanner.searcher.find([]byte(name), func(start int, p *pattern) {
		if start+len(p.bytes) > len(name)-len(path.Base(name)) {
			emit(int64(start), p)
		}
	})
}

func (w *walk) read(ctx context.Context, root *os.Root, name string, v *visit, emit func(offset int64, p *pattern)) error {
	f, err := root.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if err != nil {
		v.unread = "cannot be opened"
		return nil
	}
	defer func() { _ = f.Close() }() // nothing was written
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		v.unread = "cannot be read"
		return nil
	}
	head = head[:n]
	v.unread = opaque(name, head)
	v.bytes, err = w.scanner.searcher.stream(&contextReader{ctx: ctx, r: io.MultiReader(bytes.NewReader(head), f)}, w.buf, emit)
	if ctx.Err() != nil {
		return ctx.Err() //nolint:wrapcheck // It is the caller's.
	}
	if err != nil {
		v.unread = "cannot be read"
	}
	return nil
}

// unpack searches a file of a format once more, unpacked.
func (w *walk) unpack(ctx context.Context, name string, v *visit, emit func(offset int64, p *pattern)) error {
	for _, f := range w.scanner.formats {
		if !f.Has(path.Base(name)) {
			continue
		}
		var at int64
		err := f.Unpack(ctx, filepath.Join(w.dir, filepath.FromSlash(name)), func(piece []byte) error {
			w.scanner.searcher.find(piece, func(start int, p *pattern) { emit(at+int64(start), p) })
			at += int64(len(piece))
			return ctx.Err()
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err() //nolint:wrapcheck // It is the caller's.
		case errors.Is(err, fs.ErrNotExist):
			return fs.ErrNotExist
		case err != nil:
			v.unread = "cannot be unpacked as " + f.Name()
		default:
			v.unpacked = true
		}
	}
	return nil
}

// report gathers what the last round has left.
func (w *walk) report() *Report {
	r := &Report{Hits: []Hit{}, Unread: []Unread{}}
	for _, name := range slices.Sorted(maps.Keys(w.seen)) {
		v := w.seen[name]
		if v.regular {
			r.Files++
			r.Bytes += v.bytes
		}
		if v.unpacked {
			r.Unpacked++
		}
		r.Found += v.count
		file := w.blank(name)
		for _, h := range v.hits {
			h.File = file
			r.Hits = append(r.Hits, h)
		}
		if v.unread != "" {
			r.Unread = append(r.Unread, Unread{File: file, Why: v.unread})
		}
	}
	return r
}

// blank takes what is looked for out of a path.
func (w *walk) blank(name string) string {
	owner := make([]int, len(name)) // the pattern a byte belongs to, from 1
	w.scanner.searcher.find([]byte(name), func(start int, p *pattern) {
		for i := start; p.index >= 0 && i < start+len(p.bytes); i++ {
			owner[i] = p.index + 1
		}
	})
	var out []byte
	for i := range len(name) {
		switch {
		case owner[i] == 0:
			out = append(out, name[i])
		case i == 0 || owner[i-1] != owner[i]:
			out = append(out, "[pattern "+strconv.Itoa(owner[i]-1)+"]"...)
		}
	}
	return string(out)
}

// contextReader stops a long read when its context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // It lives as long as one call.
	r   io.Reader
}

// Read implements [io.Reader].
func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err //nolint:wrapcheck // It is the caller's.
	}
	return c.r.Read(p) //nolint:wrapcheck // Its reader wraps it.
}
