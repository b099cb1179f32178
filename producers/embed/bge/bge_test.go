package bge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// goldenCase is a text with the token ids of the reference implementation, and the vector that onnxruntime computes of
// the first 126 from these weights. It has no vector for a text without tokens.
type goldenCase struct {
	Text string    `json:"text"`
	IDs  []int32   `json:"ids"`
	Emb  []float32 `json:"emb"`
}

func golden(tb testing.TB) []goldenCase {
	tb.Helper()

	b, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	if err != nil {
		tb.Fatal(err)
	}

	var cases []goldenCase
	if err := json.Unmarshal(b, &cases); err != nil {
		tb.Fatal(err)
	}

	return cases
}

// shared has one encoder per kernel. Tests leave them as they are.
var shared = struct {
	sync.Mutex
	encoders map[gemm.Kernel]*encoder
}{encoders: map[gemm.Kernel]*encoder{}}

func network(tb testing.TB, k gemm.Kernel) *encoder {
	tb.Helper()

	shared.Lock()
	defer shared.Unlock()

	if e := shared.encoders[k]; e != nil {
		return e
	}

	ops, err := gemm.Choose(k)
	if err != nil {
		tb.Fatal(err)
	}

	e, err := readEncoder(weightsFile, ops)
	if err != nil {
		tb.Fatal(err)
	}

	shared.encoders[k] = e

	return e
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}

	return sum
}
