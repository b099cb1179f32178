package scan

import (
	"errors"
	"fmt"
	"io"
)

// chunk is how many bytes are read at once.
const chunk = 256 << 10

// searcher finds patterns in streams. Any number of goroutines may use it.
type searcher struct {
	matchers []*matcher
	// overlap is how much of a stream is looked at again with what follows it.
	overlap int
}

func newSearcher(p *patterns) *searcher {
	var short, long []pattern
	for _, one := range p.list {
		if len(one.bytes) < longMin {
			short = append(short, one)
		} else {
			long = append(long, one)
		}
	}
	s := &searcher{overlap: max(p.longest()-1, 0)}
	for _, list := range [][]pattern{short, long} {
		if len(list) > 0 {
			s.matchers = append(s.matchers, newMatcher(list))
		}
	}
	return s
}

// find calls emit for every place of every pattern in b.
func (s *searcher) find(b []byte, emit func(start int, p *pattern)) {
	for _, m := range s.matchers {
		m.find(b, emit)
	}
}

// buffer is what stream needs to read size bytes at once.
func (s *searcher) buffer(size int) []byte { return make([]byte, s.overlap+size) }

// stream reads r to its end and calls emit for every place of every pattern,
// each once. It returns how many bytes there were.
func (s *searcher) stream(r io.Reader, buf []byte, emit func(offset int64, p *pattern)) (int64, error) {
	var read int64
	kept := 0 // bytes at the start of buf that were looked at before
	for {
		n, err := io.ReadFull(r, buf[kept:])
		end := kept + n
		base := read - int64(kept)
		read += int64(n)
		s.find(buf[:end], func(start int, p *pattern) {
			if start+len(p.bytes) > kept {
				emit(base+int64(start), p)
			}
		})
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return read, nil
		case err != nil:
			return read, fmt.Errorf("read: %w", err)
		}
		kept = min(s.overlap, end)
		copy(buf, buf[end-kept:end])
	}
}
