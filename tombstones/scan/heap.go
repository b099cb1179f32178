package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// Heap says what the memory of a process had of what is looked for. It is
// information: no report is unclean by it.
type Heap struct {
	// Found is in how many places. They are not listed: one of memory says nothing
	// later.
	Found int `json:"found"`
	// Bytes is how long the dump was.
	Bytes int64 `json:"bytes"`
	// Unread says why there was nothing to search, "" if it was searched.
	Unread string `json:"unread,omitempty"`
}

// String tells it in one line.
func (h Heap) String() string {
	if h.Unread != "" {
		return "heap: not looked at: " + h.Unread
	}
	return fmt.Sprintf("heap, for information: %d places in %d bytes", h.Found, h.Bytes)
}

// HeapDump is what the heap of this process held at one moment. It holds its keys,
// too, so it is in memory where the system has files there, and elsewhere in a
// temporary file of this user alone. It is to be closed at once.
type HeapDump struct {
	file *os.File
	// stray is the path of a file that is still to be removed, "" if none is.
	stray string
	// marker stood in the heap when it was dumped.
	marker pattern
}

// DumpHeap stops the process for as long as writing its heap takes, and collects
// its garbage before. What the heap has given back and
// memory outside the runtime are not in it. Whoever dumps before reading what is to
// be looked for has none of that in it. Close removes it.
func DumpHeap(random io.Reader) (_ *HeapDump, err error) {
	marker := make([]byte, 32)
	if _, err := io.ReadFull(random, marker); err != nil {
		return nil, fmt.Errorf("draw stand-in: %w", err)
	}
	d := &HeapDump{}
	if d.file, d.stray, err = heapFile(); err != nil {
		return nil, fmt.Errorf("dump heap: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	runtime.GC()
	debug.WriteHeapDump(d.file.Fd())
	// The runtime does not tell when it could not write.
	if _, err := d.file.WriteString("\x00"); err != nil {
		return nil, fmt.Errorf("dump heap: %w", err)
	}
	d.marker = pattern{bytes: marker}
	return d, nil
}

// Close gives the dump up, and removes it.
func (d *HeapDump) Close() error {
	err := d.file.Close()
	if d.stray != "" {
		err = errors.Join(err, os.Remove(d.stray))
	}
	if err != nil {
		return fmt.Errorf("remove heap dump: %w", err)
	}
	return nil
}

// Heap counts what stands in a dump. ErrControl says that what was planted in the
// heap is not in it.
func (s *Scanner) Heap(ctx context.Context, d *HeapDump) (Heap, error) {
	planted := newSearcher(&patterns{list: []pattern{d.marker}})
	there := false
	search := func(find *searcher, emit func(offset int64, p *pattern)) (int64, error) {
		if _, err := d.file.Seek(0, io.SeekStart); err != nil {
			return 0, fmt.Errorf("search heap: %w", err)
		}
		n, err := find.stream(&contextReader{ctx: ctx, r: d.file}, find.buffer(chunk), emit)
		if err != nil {
			return n, fmt.Errorf("search heap: %w", err)
		}
		return n, nil
	}
	if _, err := search(planted, func(int64, *pattern) { there = true }); err != nil {
		return Heap{}, err
	}
	if !there {
		return Heap{}, fmt.Errorf("%w: the heap", ErrControl)
	}
	var found findings
	n, err := search(s.searcher, func(offset int64, p *pattern) {
		if p.index >= 0 {
			found.add(InBytes, offset, p)
		}
	})
	if err != nil {
		return Heap{}, err
	}
	return Heap{Found: found.count, Bytes: n}, nil
}
