package query

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrExportVoid says that an export has no manifest: it was cut off, or ended
// with an error line. ErrExportAltered says that its lines are not those that the
// manifest accounts for, or the manifest not what was signed.
var (
	ErrExportVoid    = errors.New("export has no manifest and is void")
	ErrExportAltered = errors.New("export is not what was signed")
)

// text is what is signed: the manifest without its note, in canonical JSON, and a
// newline.
func (m Manifest) text() (string, error) {
	m.Note = ""
	b, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	return string(v) + "\n", nil
}

// VerifyExport reads an export to its end and says whether it is what was signed.
// The function opens a signed note and returns its text, or an error if the key is
// another. It takes the memory of one line. The error matches ErrExportVoid or
// ErrExportAltered, or is that of the reader or of the function.
func VerifyExport(r io.Reader, open func(note []byte) (text string, err error)) (Manifest, error) {
	in, sum, counts := bufio.NewReader(r), sha256.New(), make(map[string]int)
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return Manifest{}, ErrExportVoid // a line that does not end is no line
		}
		if err != nil {
			return Manifest{}, fmt.Errorf("read export: %w", err)
		}
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return Manifest{}, ErrExportAltered // json's own words may quote the content
		}
		switch {
		case first != (head.Type == LineHeader):
			return Manifest{}, ErrExportAltered
		case head.Type == LineError:
			return Manifest{}, ErrExportVoid
		case head.Type == LineManifest:
			if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				return Manifest{}, ErrExportAltered
			}
			return checkManifest(line, hex.EncodeToString(sum.Sum(nil)), counts, open)
		}
		counts[head.Type]++
		_, _ = sum.Write(line) // a hash takes everything
	}
}

func checkManifest(line []byte, sum string, counts map[string]int, open func([]byte) (string, error)) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(bytes.TrimSpace(line), &m, json.RejectUnknownMembers(true)); err != nil {
		return Manifest{}, ErrExportAltered // as above
	}
	signed, err := open([]byte(m.Note))
	if err != nil {
		return Manifest{}, fmt.Errorf("open manifest: %w", err)
	}
	text, err := m.text()
	if err != nil {
		return Manifest{}, err
	}
	if signed != text || m.Format != ExportFormat || m.Version != ExportVersion || m.SHA256 != sum || !maps.Equal(m.Counts, counts) {
		return Manifest{}, ErrExportAltered
	}
	return m, nil
}
