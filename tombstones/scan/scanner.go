package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Options say what to look for. Random is required, and at least one word or
// vector.
type Options struct {
	// Words have [MinWord] to [MaxWord] bytes of UTF-8.
	Words []string
	// Vectors have [MinVector] to [MaxVector] values.
	Vectors [][]float64
	// Formats unpack files.
	Formats []Format
	// Random draws the stand-ins of the control.
	Random io.Reader
}

// Scanner looks for one set of words and vectors. It is safe for concurrent
// use on different directories.
type Scanner struct {
	patterns patterns
	standIns []pattern
	// name is the stand-in that a file is named after.
	name     string
	searcher *searcher
	formats  []Format
	random   io.Reader
}

// New works out how the words and vectors may stand in files. Its errors are
// [ErrNothing] and [*InputError], besides those of the random source.
func New(o Options) (*Scanner, error) {
	if len(o.Words)+len(o.Vectors) == 0 {
		return nil, ErrNothing
	}
	if o.Random == nil {
		return nil, errors.New("scan: no random source")
	}
	s := &Scanner{formats: slices.Clone(o.Formats), random: o.Random}
	for i, word := range o.Words {
		if err := s.patterns.addWord(i, word); err != nil {
			return nil, err
		}
	}
	for i, v := range o.Vectors {
		if err := s.patterns.addVector(len(o.Words)+i, i, v); err != nil {
			return nil, err
		}
	}
	wanted := len(s.patterns.list)
	if err := s.addStandIns(); err != nil {
		return nil, err
	}
	s.standIns = s.patterns.list[wanted:]
	s.searcher = newSearcher(&s.patterns)
	return s, nil
}

// Run searches everything below a directory, after it has shown that it finds
// there what it plants. An error says that there is no result: [ErrControl], or
// that the directory cannot be walked or written to.
func (s *Scanner) Run(ctx context.Context, dir string) (*Report, error) {
	if err := s.rehearse(); err != nil {
		return nil, err
	}
	if err := s.control(ctx, dir); err != nil {
		return nil, err
	}
	w := &walk{scanner: s, dir: dir, buf: s.searcher.buffer(chunk), seen: make(map[string]*visit)}
	settled, err := w.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("scan directory: %w", err)
	}
	r := w.report()
	r.Settled = settled
	r.Patterns, r.Planted = len(s.patterns.list)-len(s.standIns), len(s.standIns)
	return r, nil
}
