package natslog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"

	"github.com/annals-memory/annals/events/disk"
)

// The server first notes that a message is deleted, and then writes its block anew
// without it. A process that ends in between leaves the note and the bytes, and after
// the next start no request reaches them any more: for all who ask the message is
// gone. So a start after such an end looks through the blocks for what is noted as
// deleted and still stands there, and overwrites it as the server would have.
//
// The form of a block is that of nats-server 2.12 to 2.15 (filestore.go): a record is
// overwritten only if its checksum is what that form says, and a note is believed only
// if its own is, so that a damaged one does not take what it does not name.

const (
	// openFile is in the directory while a server is on it.
	openFile = "annals.open"

	// A record's header is its length in 4 bytes, its sequence in 8, its time in 8 and
	// the length of its subject in 2. The checksum behind it covers the header from the
	// sequence to the time, the subject and what follows it, without the length of the
	// message's header.
	checksumFrom, checksumTo = recordLengthAt, recordHeader - 2
	subjectLengthAt          = recordHeader - 2
	headerLength             = 4
	checksumLength           = 8
	erasedFlag               = 1 << 63

	blockSuffix = ".blk"
	stateFile   = "index.db"
)

// unfinished are the files in which the server, and [replaceFile], write a block anew. One
// that is left was never put in a block's place: the server does not look at it again,
// and it has whatever the block had.
func unfinished() []string { return []string{"*.new", "*.tmp"} }

// begin notes that a server is on the directory. If the last one has not ended well,
// it first finishes what that one was deleting.
func begin(dir string) error {
	note := filepath.Join(dir, openFile)
	switch _, err := os.Stat(note); {
	case err == nil:
		return finishDeletions(dir)
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("look for an end: %w", err)
	}
	f, err := os.OpenFile(filepath.Clean(note), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note the start: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close(), disk.SyncDir(dir)); err != nil {
		return fmt.Errorf("note the start: %w", err)
	}
	return nil
}

// end takes the note away again.
func end(dir string) error {
	if err := os.Remove(filepath.Join(dir, openFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("note the end: %w", err)
	}
	return nil
}

// finishDeletions overwrites what is deleted and still stands in a block, in every
// stream of the directory.
func finishDeletions(dir string) error {
	folders, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs"))
	if err != nil {
		return fmt.Errorf("finish deletions: %w", err)
	}
	for _, folder := range folders {
		if err := removeUnfinished(folder); err != nil {
			return fmt.Errorf("finish deletions: %w", err)
		}
		blocks, err := blocksOf(folder)
		if err != nil {
			return fmt.Errorf("finish deletions: %w", err)
		}
		if err := finishStream(folder, blocks); err != nil {
			return fmt.Errorf("finish deletions: %w", err)
		}
	}
	return nil
}

// removeUnfinished removes the blocks that were being written anew.
func removeUnfinished(folder string) error {
	var left []string
	for _, pattern := range unfinished() {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return fmt.Errorf("look for unfinished blocks: %w", err)
		}
		left = append(left, found...)
	}
	if len(left) == 0 {
		return nil
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("remove unfinished block: %w", err)
		}
	}
	return disk.SyncDir(folder)
}

// blocksOf returns the numbers of the blocks of a folder, in their order.
func blocksOf(folder string) ([]int, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list blocks: %w", err)
	}
	var blocks []int
	for _, e := range entries {
		name, isBlock := strings.CutSuffix(e.Name(), blockSuffix)
		if n, err := strconv.Atoi(name); isBlock && err == nil {
			blocks = append(blocks, n)
		}
	}
	slices.Sort(blocks)
	return blocks, nil
}

// finishStream goes through the blocks backwards, for the note of a deletion stands
// behind what it deletes.
func finishStream(folder string, blocks []int) error {
	deleted := make(map[uint64]struct{})
	changed := false
	for _, number := range slices.Backward(blocks) {
		name := filepath.Join(folder, strconv.Itoa(number)+blockSuffix)
		block, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			return fmt.Errorf("read block: %w", err)
		}
		stream := filepath.Base(filepath.Dir(folder))
		if eraseDeleted(block, records(block), deleted, stream+"-"+strconv.Itoa(number)) == 0 {
			continue
		}
		changed = true
		if err := replaceFile(name, block); err != nil {
			return fmt.Errorf("write block: %w", err)
		}
	}
	if !changed {
		return nil
	}
	// What the server has kept of the blocks it would believe.
	if err := os.Remove(filepath.Join(folder, stateFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove state: %w", err)
	}
	return nil
}

// records returns where the records of a block begin, as far as they lead from one to
// the next, and where the last of them ends.
func records(block []byte) []int {
	var at []int
	begin := 0
	for begin+recordHeader+checksumLength <= len(block) {
		length := int(binary.LittleEndian.Uint32(block[begin:]) &^ recordFlag)
		if length < recordHeader+checksumLength || begin+length > len(block) {
			break
		}
		at = append(at, begin)
		begin += length
	}
	return append(at, begin)
}

// eraseDeleted adds to deleted what the block notes as such, and overwrites in it what
// stands before its note, here or in a later block. It returns the number of records.
func eraseDeleted(block []byte, at []int, deleted map[uint64]struct{}, key string) (n int) {
	for i := len(at) - 2; i >= 0; i-- {
		record := block[at[i]:at[i+1]]
		sequence := binary.LittleEndian.Uint64(record[recordLengthAt:])
		if sequence&erasedFlag == 0 && !bytes.Equal(checksum(record, key), record[len(record)-checksumLength:]) {
			continue // it is damaged, and so is perhaps what it says it is
		}
		switch {
		case sequence&tombFlag != 0:
			deleted[sequence&^sequenceFlags] = struct{}{}
			continue
		case sequence&erasedFlag != 0:
			continue
		}
		if _, gone := deleted[sequence]; gone {
			erase(record, key)
			n++
		}
	}
	return n
}

// checksum is what must stand at the end of a record.
func checksum(record []byte, key string) []byte {
	sum := sha256.Sum256([]byte(key))
	h, err := highwayhash.NewDigest64(sum[:])
	if err != nil {
		panic(err) // a key of another length than 32 bytes
	}
	_, _ = h.Write(record[checksumFrom:checksumTo])
	body := record[recordHeader : len(record)-checksumLength]
	subject := min(int(binary.LittleEndian.Uint16(record[subjectLengthAt:])), len(body))
	_, _ = h.Write(body[:subject])
	rest := body[subject:]
	if binary.LittleEndian.Uint32(record)&recordFlag != 0 {
		rest = rest[min(headerLength, len(rest)):]
	}
	_, _ = h.Write(rest)
	return h.Sum(nil)
}

// erase makes of a record one that was erased: of the same length, without time,
// subject and header, and nothing for the rest.
func erase(record []byte, key string) {
	sequence := binary.LittleEndian.Uint64(record[recordLengthAt:])
	clear(record[:recordHeader])
	binary.LittleEndian.PutUint32(record, uint32(len(record))) //nolint:gosec // it has come from such a number
	binary.LittleEndian.PutUint64(record[recordLengthAt:], sequence|erasedFlag)
	clear(record[recordHeader : len(record)-checksumLength])
	copy(record[len(record)-checksumLength:], checksum(record, key))
}

// replaceFile puts content in the place of a file, whole or not at all.
func replaceFile(name string, content []byte) error {
	tmp := name + ".tmp"
	f, err := os.OpenFile(filepath.Clean(tmp), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write: %w", err), os.Remove(tmp))
	}
	if err := os.Rename(tmp, name); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	return disk.SyncDir(filepath.Dir(name))
}
