package backup

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/tombstones/ledger"
)

const (
	format      = "annals-backup-1"
	maxManifest = 1 << 20
)

// Manifest is what stands behind the snapshot in an artefact, as a signed note.
type Manifest struct {
	Format string `json:"format"`
	Kind   Kind   `json:"kind"`
	// Log is the identity of the log and Epoch counts its restores.
	Log   string `json:"log"`
	Epoch uint64 `json:"epoch"`
	// Last is the position of the part that the snapshot reaches, and Messages is
	// how many were there when it was begun.
	Last     uint64 `json:"last"`
	Messages uint64 `json:"messages"`
	// LogLast is where the log stood before the snapshot was begun.
	LogLast uint64    `json:"log_last"`
	MadeAt  time.Time `json:"made_at"`
	// Bytes and SHA256 are of everything before the manifest.
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Anchor is the signed anchor of the moment.
	Anchor string `json:"anchor"`
	// Public is the public key of the ledger.
	Public string `json:"public"`
}

func (m Manifest) text() (string, error) {
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	return string(b) + "\n", nil
}

// openManifest verifies a signed manifest by the key that it names.
func openManifest(signed []byte) (Manifest, note.Verifier, error) {
	text, _, _ := strings.Cut(string(signed), "\n\n")
	var m Manifest
	if err := json.Unmarshal([]byte(text), &m, json.RejectUnknownMembers(true)); err != nil {
		return Manifest{}, nil, errNoManifest
	}
	v, err := note.NewVerifier(m.Public)
	if err != nil {
		return Manifest{}, nil, errNoManifest
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil || n.Text != text+"\n" || m.Format != format {
		return Manifest{}, nil, errNoManifest
	}
	a, err := ledger.OpenAnchor(v, []byte(m.Anchor))
	if err != nil || a.Log != m.Log || a.Epoch != m.Epoch {
		return Manifest{}, nil, errNoManifest
	}
	return m, v, nil
}

// anchor is the anchor of a manifest that was verified.
func (a *Artefact) anchor() (ledger.AnchorState, error) {
	s, err := ledger.OpenAnchor(a.verifier, []byte(a.Anchor))
	if err != nil {
		return s, fmt.Errorf("%s: %w", a.Kind, err)
	}
	return s, nil
}
