package seal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Errors of a root file, one for each thing an operator can do about it.
var (
	// ErrRootMissing says that there is no root file and none was to be made.
	ErrRootMissing = errors.New("root file is missing")
	// ErrRootMode says that the root file's mode is not exactly 0600.
	ErrRootMode = errors.New("root file must have mode 0600")
	// ErrRootLink says that the root file's path is a symbolic link.
	ErrRootLink = errors.New("root file must not be a symbolic link")
	// ErrRootNotFile says that the root file's path is a directory, a device or the like.
	ErrRootNotFile = errors.New("root file must be a regular file")
	// ErrRootFormat says that the file is no root file, or one of another version.
	ErrRootFormat = errors.New("root file has an unknown format")
	// ErrRootTruncated says that the file begins like a root file and ends too early.
	ErrRootTruncated = errors.New("root file is truncated")
	// ErrRootLength says that the file goes on after its end.
	ErrRootLength = errors.New("root file has the wrong length")
	// ErrRootChecksum says that the file was edited or damaged.
	ErrRootChecksum = errors.New("root file does not match its checksum")
	// ErrRootChanged says that the file is not the one that was opened: someone
	// else has rotated it, or put another in its place.
	ErrRootChanged = errors.New("root file was changed by someone else")
)

const (
	rootMagicV1 = "annals-root v1 "
	// rootHeaderSize counts magic, id, blank, checksum and line end.
	rootHeaderSizeV1 = len(rootMagicV1) + TokenSize + 1 + rootSumSize + 1
	rootSumSize      = 32
	rootFileSizeV1   = rootHeaderSizeV1 + 2*KeySize + 1

	rootMagic      = "annals-root v2 "
	rootLengthSize = 4
	// rootHeaderSize counts magic, length of the rest, blank, checksum and line end.
	rootHeaderSize = len(rootMagic) + rootLengthSize + 1 + rootSumSize + 1
	maxRootFile    = 1024

	rootTime    = time.RFC3339Nano
	rootUnknown = "-"
)

// rootKeys is what a root file holds.
type rootKeys struct {
	current rootKey
	// former is the key before, of a rotation that is not finished; its number is
	// zero if there is none.
	former rootKey
	// destroyed is when the last former key was destroyed; zero if that is not
	// known.
	destroyed time.Time
}

type rootKey struct {
	RootEpoch

	key Secret
}

func (r rootKeys) wipe() {
	r.current.key.wipe()
	r.former.key.wipe()
}

func (r rootKeys) rotating() bool { return r.former.Number > 0 }

// A root file is a header line of magic with version, the length of the rest and
// its checksum, and then a line for each key: its role, the number of its epoch,
// its id, when it was drawn, and the key in lower-case hexadecimal. A last line
// may say when the key before the current one was destroyed.
func formatRoot(r rootKeys) []byte {
	var body strings.Builder
	writeKey := func(role string, k rootKey) {
		fmt.Fprintf(&body, "%s %d %s %s %s\n", role, k.Number, k.ID, formatRootTime(k.Created), hex.EncodeToString(k.key.bytes()))
	}
	writeKey("current", r.current)
	if r.rotating() {
		writeKey("former", r.former)
	}
	if !r.destroyed.IsZero() {
		fmt.Fprintf(&body, "destroyed %s\n", formatRootTime(r.destroyed))
	}
	text := body.String()
	return fmt.Appendf(nil, "%s%0*d %s\n%s", rootMagic, rootLengthSize, len(text), rootSum(rootMagic, text), text)
}

func formatRootTime(t time.Time) string {
	if t.IsZero() {
		return rootUnknown
	}
	return t.UTC().Format(rootTime)
}

// rootSum is the checksum over fields.
func rootSum(fields ...string) string {
	var buf []byte
	for _, f := range fields {
		buf = appendField(buf, f)
	}
	sum := sha256.Sum256(buf)
	clear(buf)
	return hex.EncodeToString(sum[:rootSumSize/2])
}

// parseRoot reads a root file. It accepts exactly what formatRoot writes, and
// what the version before wrote.
func parseRoot(data []byte) (rootKeys, error) {
	text := string(data)
	switch {
	case strings.HasPrefix(text, rootMagicV1):
		return parseRootV1(text)
	case text == "", strings.HasPrefix(rootMagic, text), strings.HasPrefix(rootMagicV1, text):
		return rootKeys{}, ErrRootTruncated
	case !strings.HasPrefix(text, rootMagic):
		return rootKeys{}, ErrRootFormat
	case len(text) < rootHeaderSize:
		return rootKeys{}, ErrRootTruncated
	}
	length, sum, _ := strings.Cut(text[len(rootMagic):rootHeaderSize-1], " ")
	n, err := strconv.ParseUint(length, 10, 16)
	body := text[rootHeaderSize:]
	switch {
	case err != nil, len(length) != rootLengthSize, text[rootHeaderSize-1] != '\n', n > maxRootFile:
		return rootKeys{}, ErrRootChecksum
	case len(body) < int(n):
		return rootKeys{}, ErrRootTruncated
	case len(body) > int(n):
		return rootKeys{}, ErrRootLength
	case sum != rootSum(rootMagic, body):
		return rootKeys{}, ErrRootChecksum
	}
	keys, ok := parseRootLines(body)
	if !ok || string(formatRoot(keys)) != text {
		keys.wipe()
		return rootKeys{}, ErrRootChecksum
	}
	return keys, nil
}

func parseRootLines(body string) (keys rootKeys, ok bool) {
	for line := range strings.Lines(body) {
		role, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		ok = false
		switch role {
		case "current":
			keys.current, ok = parseRootKey(rest)
		case "former":
			keys.former, ok = parseRootKey(rest)
		case "destroyed":
			keys.destroyed, ok = parseRootTime(rest)
		}
		if !ok {
			return keys, false
		}
	}
	return keys, keys.current.Number > 0
}

func parseRootKey(text string) (rootKey, bool) {
	fields := strings.Split(text, " ")
	if len(fields) != 4 {
		return rootKey{}, false
	}
	number, err := strconv.ParseUint(fields[0], 10, 64)
	if err != nil || number == 0 || !isHashToken(fields[1]) {
		return rootKey{}, false
	}
	created, ok := parseRootTime(fields[2])
	if !ok {
		return rootKey{}, false
	}
	key, ok := parseRootSecret(fields[3])
	return rootKey{RootEpoch: RootEpoch{Number: number, ID: fields[1], Created: created}, key: key}, ok
}

func parseRootTime(text string) (time.Time, bool) {
	if text == rootUnknown {
		return time.Time{}, true
	}
	t, err := time.Parse(rootTime, text)
	return t, err == nil && !t.IsZero()
}

func parseRootSecret(text string) (Secret, bool) {
	raw, err := hex.DecodeString(text)
	defer clear(raw)
	if err != nil || len(raw) != KeySize {
		return Secret{}, false
	}
	return newSecret(raw), true
}

// parseRootV1 reads the first version: one key, of which is not known when it was
// drawn.
func parseRootV1(text string) (rootKeys, error) {
	if len(text) < rootFileSizeV1 {
		return rootKeys{}, ErrRootTruncated
	}
	if len(text) > rootFileSizeV1 {
		return rootKeys{}, ErrRootLength
	}
	header, keyText := text[len(rootMagicV1):rootHeaderSizeV1-1], text[rootHeaderSizeV1:rootFileSizeV1-1]
	id, sum := header[:TokenSize], header[TokenSize+1:]
	if header[TokenSize] != ' ' || text[rootHeaderSizeV1-1] != '\n' || text[rootFileSizeV1-1] != '\n' || !isHashToken(id) ||
		sum != rootSum(rootMagicV1, id, keyText) {
		return rootKeys{}, ErrRootChecksum
	}
	key, ok := parseRootSecret(keyText)
	if !ok {
		return rootKeys{}, ErrRootChecksum
	}
	return rootKeys{current: rootKey{RootEpoch: RootEpoch{Number: 1, ID: id}, key: key}}, nil
}
