package bge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

func TestDamagedWeights(t *testing.T) {
	t.Parallel()

	ops, err := gemm.Choose(gemm.Auto)
	if err != nil {
		t.Fatal(err)
	}

	words := 8 + int(binary.LittleEndian.Uint32(weightsFile[4:8]))
	overwritten := func(at int, with []byte) []byte {
		blob := slices.Clone(weightsFile)
		copy(blob[at:], with)

		return blob
	}
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))

	for name, blob := range map[string][]byte{
		"empty":                     nil,
		"of another magic":          overwritten(0, []byte("USEL")),
		"with an endless header":    overwritten(4, []byte{255, 255, 255, 255}),
		"without the last byte":     weightsFile[:len(weightsFile)-1],
		"without all tensors":       weightsFile[:words],
		"with a byte more":          append(slices.Clone(weightsFile), 0),
		"with a word too many":      overwritten(8, []byte("\n")),
		"without a special token":   overwritten(8+bytes.Index(weightsFile[8:words], []byte("\n[CLS]\n")), []byte("\n[CLX]\n")),
		"with a scale that is NaN":  overwritten(words, nan),
		"with a factor that is NaN": overwritten(len(weightsFile)-4, nan),
	} {
		if e, err := readEncoder(blob, ops); !errors.Is(err, ErrWeights) || e != nil {
			t.Errorf("weights %s: %v", name, err)
		}
	}
}
