package natslog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// BlockError says that a block file of a part has a record whose sequence cannot
// be: a damaged one. A server that starts on it fills the gap before it, in memory,
// until there is none left.
type BlockError struct {
	// Part is the part of the log, and Stream its stream.
	Part, Stream string
}

// Error names the stream.
func (e *BlockError) Error() string {
	return "a block file of the stream " + e.Stream + " has a record that cannot be"
}

const (
	// reachSlack is how many messages a part may have got since it was known where
	// it ends.
	reachSlack = 1 << 24

	// A record of a block file begins with its length, whose highest bit says that
	// it has a header, its sequence, whose two highest bits say that it was erased or
	// stands for an erased one, its time and the length of its subject.
	recordHeader   = 22
	recordLengthAt = 4
	recordFlag     = 1 << 31
	sequenceFlags  = 3 << 62
	// What stands for a deleted record has its sequence alone, and a checksum.
	tombFlag   = 1 << 62
	tombLength = recordHeader + 8
)

// inspect looks through the block files of parts for sequences far above those that
// they are known to have reached.
func inspect(dir string, reached map[string]uint64) error {
	for part, last := range reached {
		name, err := streamOf(part)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", name, "msgs", "*.blk"))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBadDirectory, err)
		}
		for _, file := range files {
			switch sound, err := inspectBlock(file, last+reachSlack); {
			case err != nil:
				return fmt.Errorf("%w: %w", ErrBadDirectory, err)
			case !sound:
				return &BlockError{Part: part, Stream: name}
			}
		}
	}
	return nil
}

// inspectBlock follows the records of a block file for as long as they lead from
// one to the next, and reports false if one has a sequence above most.
func inspectBlock(file string, most uint64) (sound bool, err error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return false, fmt.Errorf("inspect block: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReader(f)
	for {
		head, err := r.Peek(recordHeader)
		if errors.Is(err, io.EOF) {
			return true, nil // perhaps cut short, which the server sees
		}
		if err != nil {
			return false, fmt.Errorf("inspect block: %w", err)
		}
		length := binary.LittleEndian.Uint32(head) &^ recordFlag
		if length < recordHeader {
			return true, nil
		}
		sequence := binary.LittleEndian.Uint64(head[recordLengthAt:])
		if sequence&^sequenceFlags > most || (sequence&tombFlag != 0 && length != tombLength) {
			return false, nil
		}
		if _, err := r.Discard(int(length)); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, fmt.Errorf("inspect block: %w", err)
		}
	}
}
