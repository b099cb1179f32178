package bge

import (
	"crypto/sha256"
	_ "embed" // For the weights.
	"encoding/hex"
	"fmt"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/internal/builtin"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// The file is bytes, not a string, for the matrices to be multiplied where they lie. Nothing writes to it.
//
//go:embed weights.bin
var weightsFile []byte

// prep changes whenever the same text could give another vector under the same weights.
const prep = "uncased-wordpiece;max-32768-chars;windows-16x126-mean"

// Model is the encoder with its vocabulary. It is an embed.Embedder, safe for concurrent use.
type Model struct{ *builtin.Model }

var _ embed.Embedder = (*Model)(nil)

// New reads the weights, which takes about a tenth of a second and 10 MB of memory beside the file itself; make one and
// share it. A sound build has no error.
func New() (*Model, error) { return load(weightsFile, gemm.Auto) }

func load(blob []byte, k gemm.Kernel) (*Model, error) {
	ops, err := gemm.Choose(k)
	if err != nil {
		return nil, fmt.Errorf("choose kernel %s: %w", k, err)
	}

	e, err := readEncoder(blob, ops)
	if err != nil {
		return nil, err
	}

	sum := sha256.Sum256(blob)

	return &Model{builtin.New(builtin.Config{
		ID: embed.ModelID{
			Provider: "builtin",
			Model:    "bge-small-en-v1.5-i8",
			Revision: hex.EncodeToString(sum[:8]),
			Dim:      Dim,
			Prep:     prep,
		},
		Network: e, Windows: maxWindows, Tokens: maxTokens - 2,
	})}, nil
}
