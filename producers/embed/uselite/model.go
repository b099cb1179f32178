package uselite

import (
	"crypto/sha256"
	_ "embed" // For the weights.
	"encoding/hex"
	"fmt"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/internal/builtin"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

//go:embed weights.bin
var weightsFile string

// prep changes whenever the same text could give another vector under the same weights.
const prep = "nfkc;max-32768-chars;windows-16x128-mean"

// Model is the encoder with its vocabulary. It is an embed.Embedder, safe for concurrent use.
type Model struct{ *builtin.Model }

var _ embed.Embedder = (*Model)(nil)

// New decodes the weights, which takes some 40 ms and 30 MB of memory; make one and share it. A sound build has no
// error.
func New() (*Model, error) { return load([]byte(weightsFile), gemm.Auto) }

func load(blob []byte, k gemm.Kernel) (*Model, error) {
	ops, err := gemm.Choose(k)
	if err != nil {
		return nil, fmt.Errorf("choose kernel %s: %w", k, err)
	}

	w, err := openWeights(blob)
	if err != nil {
		return nil, err
	}

	e := readEncoder(w, ops)
	if w.err != nil {
		return nil, w.err
	}

	sum := sha256.Sum256(blob)

	return &Model{builtin.New(builtin.Config{
		ID: embed.ModelID{
			Provider: "builtin",
			Model:    "use-lite-en-i8",
			Revision: hex.EncodeToString(sum[:8]),
			Dim:      Dim,
			Prep:     prep,
		},
		Network: e, Windows: maxWindows, Tokens: maxTokens,
	})}, nil
}
