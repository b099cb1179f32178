package seal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
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
	// ErrRootLength says that the file holds more than one key of 32 bytes.
	ErrRootLength = errors.New("root file has the wrong length")
	// ErrRootChecksum says that the file was edited or damaged.
	ErrRootChecksum = errors.New("root file does not match its checksum")
)

const (
	rootMagic = "annals-root v1 "
	// rootHeaderSize counts magic, id, blank, checksum and line end.
	rootHeaderSize = len(rootMagic) + TokenSize + 1 + rootSumSize + 1
	rootSumSize    = 32
	rootFileSize   = rootHeaderSize + 2*KeySize + 1
)

// rootSum is the checksum over the id and the key's text.
func rootSum(id, keyText string) string {
	buf := appendField(nil, rootMagic)
	buf = appendField(buf, id)
	buf = appendField(buf, keyText)
	sum := sha256.Sum256(buf)
	clear(buf)
	return hex.EncodeToString(sum[:rootSumSize/2])
}

// formatRoot writes a root file: a header line of magic with version, id and
// checksum, then a line with the key in lower-case hexadecimal.
func formatRoot(id string, key Secret) []byte {
	text := hex.EncodeToString(key.bytes())
	return []byte(rootMagic + id + " " + rootSum(id, text) + "\n" + text + "\n")
}

// parseRoot reads a root file. It accepts exactly what formatRoot writes.
func parseRoot(data []byte) (id string, key Secret, err error) {
	text := string(data)
	if !strings.HasPrefix(text, rootMagic) {
		if text == "" || strings.HasPrefix(rootMagic, text) {
			return "", Secret{}, ErrRootTruncated
		}
		return "", Secret{}, ErrRootFormat
	}
	if len(text) < rootFileSize {
		return "", Secret{}, ErrRootTruncated
	}
	if len(text) > rootFileSize {
		return "", Secret{}, ErrRootLength
	}
	header, keyText := text[len(rootMagic):rootHeaderSize-1], text[rootHeaderSize:rootFileSize-1]
	id, sum := header[:TokenSize], header[TokenSize+1:]
	if header[TokenSize] != ' ' || text[rootHeaderSize-1] != '\n' || text[rootFileSize-1] != '\n' || !isHashToken(id) {
		return "", Secret{}, ErrRootChecksum
	}
	if sum != rootSum(id, keyText) {
		return "", Secret{}, ErrRootChecksum
	}
	raw, err := hex.DecodeString(keyText)
	if err != nil {
		return "", Secret{}, ErrRootChecksum
	}
	defer clear(raw)
	return id, newSecret(raw), nil
}
