package uselite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// goldenCase is a text with the token ids and the vector of the reference runtime, which cuts after 128 tokens. It
// has no vector for a text that the reference refuses.
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

// sharedModels makes each model once: with the race detector, decoding the weights is most of a test's time.
var sharedModels = struct {
	sync.Mutex
	models map[gemm.Kernel]*Model
}{models: map[gemm.Kernel]*Model{}}

func model(tb testing.TB, k gemm.Kernel) *Model {
	tb.Helper()

	sharedModels.Lock()
	defer sharedModels.Unlock()

	if m := sharedModels.models[k]; m != nil {
		return m
	}

	m, err := load([]byte(weightsFile), k)
	if err != nil {
		tb.Fatal(err)
	}

	sharedModels.models[k] = m

	return m
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}

	return sum
}

// sharedNetwork is the encoder of the fastest kernel, made once.
var sharedNetwork = struct {
	sync.Mutex
	made *encoder
}{}

// network is the encoder without what lets texts take turns. Tests that share it leave it as it is.
func network(tb testing.TB) *encoder {
	tb.Helper()

	sharedNetwork.Lock()
	defer sharedNetwork.Unlock()

	if sharedNetwork.made == nil {
		sharedNetwork.made = newNetwork(tb, gemm.Auto)
	}

	return sharedNetwork.made
}

func newNetwork(tb testing.TB, k gemm.Kernel) *encoder {
	tb.Helper()

	ops, err := gemm.Choose(k)
	if err != nil {
		tb.Fatal(err)
	}

	w, err := openWeights([]byte(weightsFile))
	if err != nil {
		tb.Fatal(err)
	}

	e := readEncoder(w, ops)
	if w.err != nil {
		tb.Fatal(w.err)
	}

	return e
}
