package scan

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// The places of the stand-ins.
const (
	standInPlain   = -1 // a word of ASCII letters and digits
	standInSpecial = -2 // a word with what encodings treat differently
	standInVector  = -3
)

// addStandIns draws two words and a vector that no file holds.
func (s *Scanner) addStandIns() error {
	plain, err := s.draw()
	if err != nil {
		return err
	}
	special, err := s.draw()
	if err != nil {
		return err
	}
	raw := make([]byte, 16*4)
	if _, err := io.ReadFull(s.random, raw); err != nil {
		return fmt.Errorf("draw stand-in: %w", err)
	}
	v := make([]float64, len(raw)/4)
	for i := range v {
		v[i] = float64(int32(binary.LittleEndian.Uint32(raw[4*i:]))) / math.MaxInt32 //nolint:gosec // The bits are kept.
	}
	s.name = plain
	if err := s.patterns.addWord(standInPlain, plain); err != nil {
		return err
	}
	if err := s.patterns.addWord(standInSpecial, special+"é/ü \"<日𝄞>&\\"+special); err != nil {
		return err
	}
	return s.patterns.addVector(standInVector, 0, v)
}

// draw draws a word with letters of both cases.
func (s *Scanner) draw() (string, error) {
	raw := make([]byte, 10)
	if _, err := io.ReadFull(s.random, raw); err != nil {
		return "", fmt.Errorf("draw stand-in: %w", err)
	}
	return "Scan" + base32.StdEncoding.EncodeToString(raw), nil
}

// rehearse searches a stream in memory that holds every pattern, the wanted
// ones too, read in small pieces, so that they lie across the ends of those.
func (s *Scanner) rehearse() error {
	const piece = 509
	var stream bytes.Buffer
	at := make(map[int64][]int) // patterns by where they are expected
	for i, p := range s.patterns.list {
		if stream.Len() > 64*piece {
			if err := s.rehearsed(stream.Bytes(), at, piece); err != nil {
				return err
			}
			stream.Reset()
			clear(at)
		}
		stream.Write(make([]byte, i%17))
		at[int64(stream.Len())] = append(at[int64(stream.Len())], p.id)
		stream.Write(p.bytes)
	}
	return s.rehearsed(stream.Bytes(), at, piece)
}

func (s *Scanner) rehearsed(stream []byte, at map[int64][]int, piece int) error {
	missing := 0
	for _, ids := range at {
		missing += len(ids)
	}
	_, err := s.searcher.stream(bytes.NewReader(stream), s.searcher.buffer(piece), func(offset int64, p *pattern) {
		for _, id := range at[offset] {
			if id == p.id {
				missing--
			}
		}
	})
	if err != nil {
		return err
	}
	if missing != 0 {
		return fmt.Errorf("%w: %d patterns in memory", ErrControl, missing)
	}
	return nil
}

// control plants the stand-ins below the directory, finds them with the code
// that searches it, and takes them away again.
func (s *Scanner) control(ctx context.Context, dir string) (err error) {
	sub, err := os.MkdirTemp(dir, ".annals-scan-")
	if err != nil {
		return fmt.Errorf("plant in the directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(sub)) }()
	if err := s.plant(ctx, sub); err != nil {
		return fmt.Errorf("plant in the directory: %w", err)
	}
	type place struct {
		in, file string
		id       int
	}
	found := make(map[place]struct{})
	w := &walk{scanner: s, dir: sub, buf: s.searcher.buffer(chunk), seen: make(map[string]*visit)}
	w.watch = func(file, in string, p *pattern) { found[place{in, filepath.Dir(file), p.id}] = struct{}{} }
	settled, err := w.run(ctx)
	if err != nil {
		return fmt.Errorf("search what was planted: %w", err)
	}
	if r := w.report(); len(r.Unread) > 0 || !settled {
		return fmt.Errorf("%w: %d files not searched", ErrControl, len(r.Unread))
	}
	for _, p := range s.standIns {
		if _, ok := found[place{InBytes, plainFolder, p.id}]; !ok {
			return fmt.Errorf("%w: %s in a file", ErrControl, p.encoding)
		}
		for _, f := range s.formats {
			if _, ok := found[place{InPieces, f.Name(), p.id}]; !ok {
				return fmt.Errorf("%w: %s in a file of the format %s", ErrControl, p.encoding, f.Name())
			}
		}
	}
	if _, ok := found[place{InName, plainFolder, s.standIns[0].id}]; !ok {
		return fmt.Errorf("%w: a file name", ErrControl)
	}
	return nil
}

const plainFolder = "plain"

func (s *Scanner) plant(ctx context.Context, sub string) error {
	file := make([]byte, s.searcher.overlap+chunk-256) // so that they lie across the end of what is read at once
	values := make([][]byte, len(s.standIns))
	for i, p := range s.standIns {
		values[i] = p.bytes
		file = append(append(file, 0), p.bytes...)
	}
	for _, folder := range append([]string{plainFolder}, s.formatNames()...) {
		if err := os.Mkdir(filepath.Join(sub, folder), 0o700); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(sub, plainFolder, s.name), file, 0o600); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	for _, f := range s.formats {
		if err := f.Plant(ctx, filepath.Join(sub, f.Name()), values); err != nil {
			return fmt.Errorf("write a file of the format %s: %w", f.Name(), err)
		}
	}
	return nil
}

func (s *Scanner) formatNames() []string {
	names := make([]string, len(s.formats))
	for i, f := range s.formats {
		names[i] = f.Name()
	}
	return names
}
