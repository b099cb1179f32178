package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/cmd/annals/internal/residue"
	"github.com/annals-memory/annals/tombstones/scan"
)

type scanCmd struct {
	Word    []string `help:"Word to look for. Whoever may list processes sees it: prefer --words -." placeholder:"WORD" sep:"none"`
	Words   string   `help:"File of words, one on each line; - is the standard input." placeholder:"FILE"`
	Vectors string   `help:"File of vectors, JSON arrays of numbers; - is the standard input." placeholder:"FILE"`
	Dir     string   `help:"Directory to search; without it the data directory." placeholder:"DIR"`
	Heap    bool     `help:"Open the data directory first and count what stands in memory then, for information. A --word is in memory itself; what --words and --vectors name is read later. A server's memory cannot be seen."`
}

// errResidue says that a scan has found something, or could not say.
var errResidue = errors.New("not clean")

// Run looks for words and vectors in every file of a directory. It prints where
// they are and in which encoding, never what they are.
func (k scanCmd) Run(ctx context.Context, c *cli, t terminal) (err error) {
	heap := scan.Heap{Unread: heapNotAsked}
	var dump *scan.HeapDump
	if k.Heap {
		// Before anything that is looked for is read: that would be in it.
		if dump, heap.Unread, err = c.dumpHeap(ctx, t); err != nil {
			return fmt.Errorf("heap: %w", err)
		}
	}
	if dump != nil {
		defer func() { err = errors.Join(err, dump.Close()) }()
	}
	o, err := k.options(t.in)
	if err != nil {
		return err
	}
	dir := k.Dir
	if dir == "" {
		dir = c.Data
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%w: %s is no directory", errMisuse, dir)
	}
	s, err := scan.New(o)
	if _, bad := errors.AsType[*scan.InputError](err); bad || errors.Is(err, scan.ErrNothing) {
		return fmt.Errorf("%w: %w; see --word, --words and --vectors", errMisuse, err)
	}
	if err != nil {
		return fmt.Errorf("prepare scan: %w", err)
	}
	r, err := s.Run(ctx, dir)
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	if dump != nil {
		if heap, err = s.Heap(ctx, dump); err != nil {
			return fmt.Errorf("scan: %w", err)
		}
	}
	r.Heap = &heap
	if err := printReport(c, t, r); err != nil {
		return err
	}
	if !r.Clean() {
		return errResidue
	}
	return nil
}

func printReport(c *cli, t terminal, r *scan.Report) error {
	if c.JSON {
		return printJSON(t, r)
	}
	for _, h := range r.Hits {
		if err := say(t, "%s: pattern %d as %s in its %s at %d, %d bytes\n", h.File, h.Pattern, h.Encoding, h.In, h.Offset, h.Length); err != nil {
			return err
		}
	}
	for _, u := range r.Unread {
		if err := say(t, "%s: not searched: %s\n", u.File, u.Why); err != nil {
			return err
		}
	}
	if err := say(t, "%s\n", r.Heap); err != nil {
		return err
	}
	return say(t, "%s; %d patterns, %d planted and found first\n", r, r.Patterns, r.Planted)
}

// Why a heap was not looked at.
const (
	heapNotAsked = "nobody asked; see --heap"
	heapOfOther  = "it is another process's, which has the data directory open"
	heapOfNone   = "there is no memory to open in the data directory"
)

// dumpHeap opens the memory, takes what is on the heap once it has caught up, and
// closes the memory. What it cannot look at it says why, which is no error.
func (c *cli) dumpHeap(ctx context.Context, t terminal) (_ *scan.HeapDump, unread string, err error) {
	if !node.Exists(c.Data) {
		return nil, heapOfNone, nil
	}
	n, err := node.Open(ctx, node.Options{Data: c.Data, KeepAll: true, KeepModel: true, Logger: c.logger(t)})
	if errors.Is(err, node.ErrLocked) {
		return nil, heapOfOther, nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("open data directory: %w", err)
	}
	stop := n.Start(ctx)
	var d *scan.HeapDump
	if err = n.CatchUp(ctx); err == nil {
		d, err = scan.DumpHeap(rand.Reader)
	}
	if err = errors.Join(err, stop(), n.Close()); err != nil && d != nil {
		return nil, "", errors.Join(err, d.Close())
	}
	return d, "", err
}

func (k scanCmd) options(in io.Reader) (scan.Options, error) {
	o := scan.Options{Words: k.Word, Formats: []scan.Format{residue.Tables{}}, Random: rand.Reader}
	if k.Words == "-" && k.Vectors == "-" {
		return o, fmt.Errorf("%w: --words and --vectors cannot both be the standard input", errMisuse)
	}
	if k.Words != "" {
		b, err := readInput(k.Words, in)
		if err != nil {
			return o, err
		}
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				o.Words = append(o.Words, line)
			}
		}
	}
	if k.Vectors != "" {
		b, err := readInput(k.Vectors, in)
		if err != nil {
			return o, err
		}
		if o.Vectors, err = readVectors(b); err != nil {
			return o, err
		}
	}
	return o, nil
}

func readInput(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		b, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read the standard input: %w", err)
		}
		return b, nil
	}
	b, err := os.ReadFile(name) //nolint:gosec // The operator names it.
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no file %s", errMisuse, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return b, nil
}

// readVectors takes arrays of numbers, one after another or in an array.
func readVectors(b []byte) ([][]float64, error) {
	bad := fmt.Errorf("%w: --vectors takes JSON arrays of numbers", errMisuse)
	var out [][]float64
	for dec := jsontext.NewDecoder(bytes.NewReader(b)); ; {
		value, err := dec.ReadValue()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, bad // what the decoder says may repeat the input
		}
		var one []float64
		var many [][]float64
		switch {
		case json.Unmarshal(value, &one) == nil:
			out = append(out, one)
		case json.Unmarshal(value, &many) == nil:
			out = append(out, many...)
		default:
			return nil, bad
		}
	}
}
