package uselite

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/internal/builtin"
	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// altered is the weights file with its header changed and the data as it is.
func altered(tb testing.TB, change func(h *header)) []byte {
	tb.Helper()

	size := int(binary.LittleEndian.Uint32([]byte(weightsFile[4:8])))

	var h header
	if err := json.Unmarshal([]byte(weightsFile[8:8+size]), &h); err != nil {
		tb.Fatal(err)
	}

	change(&h)

	b, err := json.Marshal(h)
	if err != nil {
		tb.Fatal(err)
	}

	blob := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(b)))

	return append(append(blob, b...), weightsFile[8+size:]...)
}

// at gives the header of one tensor to change.
func at(tb testing.TB, h *header, name string) *tensor {
	tb.Helper()

	for i := range h.Tensors {
		if h.Tensors[i].Name == name {
			return &h.Tensors[i]
		}
	}

	tb.Fatalf("no tensor %s", name)

	return nil
}

func TestLoadRefusesDamage(t *testing.T) {
	t.Parallel()

	whole := []byte(weightsFile)
	size := int(binary.LittleEndian.Uint32(whole[4:8]))
	patched := func(off int, b ...byte) []byte {
		c := append([]byte(nil), whole...)
		copy(c[off:], b)

		return c
	}
	with := func(change func(h *header)) []byte { return altered(t, change) }

	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))

	var tanhBias int

	with(func(h *header) { // Finds where the last bias lies.
		tanhBias = 8 + size + at(t, h, "tanh.b").Off
	})

	tests := map[string][]byte{
		"nothing":             nil,
		"magic only":          whole[:4],
		"other magic":         patched(0, 'X'),
		"header cut":          whole[:8+size-1],
		"no data":             whole[:8+size],
		"half":                whole[:len(whole)/2],
		"last byte":           whole[:len(whole)-1],
		"header of 4 GiB":     patched(4, 0xff, 0xff, 0xff, 0xff),
		"header of 0":         patched(4, 0, 0, 0, 0),
		"header is no JSON":   patched(8, 'x'),
		"bias is NaN":         patched(tanhBias, nan...),
		"no words":            with(func(h *header) { h.Words, h.Scores = nil, nil }),
		"fewer scores":        with(func(h *header) { h.Scores = h.Scores[1:] }),
		"more words":          with(func(h *header) { h.Words = append(h.Words, "a", "b", "c"); h.Scores = append(h.Scores, 0, 0, 0) }),
		"missing tensor":      with(func(h *header) { at(t, h, "timing").Name = "gone" }),
		"tensor twice":        with(func(h *header) { h.Tensors = append(h.Tensors, h.Tensors[0]) }),
		"no tensors":          with(func(h *header) { h.Tensors = nil }),
		"other type":          with(func(h *header) { at(t, h, "l0.qkv.w").Type = "f64" }),
		"vector as bytes":     with(func(h *header) { at(t, h, "timing").Type = "i8" }),
		"other shape":         with(func(h *header) { at(t, h, "l0.qkv.w").Shape = []int{768, 256} }),
		"no shape":            with(func(h *header) { at(t, h, "l0.qkv.w").Shape = nil }),
		"negative shape":      with(func(h *header) { at(t, h, "l0.ln.b").Shape = []int{-256} }),
		"huge shape":          with(func(h *header) { at(t, h, "emb").Shape = []int{1 << 30, 1 << 30} }),
		"negative offset":     with(func(h *header) { at(t, h, "l0.ln.g").Off = -1 }),
		"offset at the end":   with(func(h *header) { at(t, h, "l0.ln.g").Off = len(whole) - 8 - size - 4 }),
		"offset past the end": with(func(h *header) { at(t, h, "l0.ln.g").Off = math.MaxInt }),
		"scale past the end":  with(func(h *header) { at(t, h, "emb").Off = len(whole) - 8 - size - 100 }),
	}
	for name, blob := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if m, err := load(blob, gemm.Auto); !errors.Is(err, ErrWeights) || m != nil {
				t.Errorf("load = %v", err)
			}
		})
	}
}

// TestLoadTakesAnotherHeader is the positive control: a rewritten header is no damage in itself, and is another model.
func TestLoadTakesAnotherHeader(t *testing.T) {
	t.Parallel()

	m, err := load(altered(t, func(h *header) { h.ID = "changed" }), gemm.Auto)
	if err != nil {
		t.Fatal(err)
	}

	if m.ID() == model(t, gemm.Auto).ID() {
		t.Error("other bytes have the same model id")
	}
}

// TestLoadedNonsenseIsCaught uses finite weights that overflow on the way: no NaN leaves the model.
func TestLoadedNonsenseIsCaught(t *testing.T) {
	t.Parallel()

	e := newNetwork(t, gemm.Auto)
	m := builtin.New(builtin.Config{ID: model(t, gemm.Auto).ID(), Network: e, Windows: maxWindows, Tokens: maxTokens})

	for i := range e.layers[1].ff2Bias {
		e.layers[1].ff2Bias[i] = math.MaxFloat32
	}

	huge := make([]float32, Dim*Dim)
	for i := range huge {
		huge[i] = float32(i%3-1) * math.MaxFloat32
	}

	e.last = gemm.NewPanels(huge, Dim, Dim)

	var bad *embed.VectorError
	if v, err := m.Embed(t.Context(), []string{"fine", "words"}, embed.Document); !errors.As(err, &bad) || v != nil {
		t.Errorf("Embed = %v", err)
	}
}

// FuzzLoad overwrites a part of the file, cuts it, and uses what still loads: an error or a sound answer, no panic.
func FuzzLoad(f *testing.F) {
	size := 8 + int(binary.LittleEndian.Uint32([]byte(weightsFile[4:8])))

	f.Add(uint32(0), []byte("USEL"), uint32(len(weightsFile)))
	f.Add(uint32(4), []byte{0, 0, 1, 0}, uint32(len(weightsFile)))
	f.Add(uint32(8), []byte(`{"id":"","words":["`), uint32(size))
	f.Add(uint32(size-40), []byte(`"shape":[-1],"off":99999999`), uint32(len(weightsFile)))
	f.Add(uint32(size+10), []byte{0xff, 0xff, 0x7f, 0x7f, 0, 0, 0xc0, 0x7f}, uint32(len(weightsFile)))
	f.Add(uint32(len(weightsFile)-100), []byte{0xff, 0xff, 0x7f, 0x7f}, uint32(len(weightsFile)-1))

	f.Fuzz(func(t *testing.T, off uint32, patch []byte, end uint32) {
		blob := []byte(weightsFile)
		copy(blob[min(int(off), len(blob)):], patch)
		blob = blob[:min(int(end), len(blob))]

		m, err := load(blob, gemm.Auto)
		if err != nil {
			if !errors.Is(err, ErrWeights) {
				t.Fatalf("load = %v", err)
			}

			return
		}

		var bad *embed.VectorError
		if _, err := m.Embed(t.Context(), []string{"a few words", ""}, embed.Document); err != nil && !errors.As(err, &bad) {
			t.Fatalf("Embed = %v", err)
		}
	})
}

// FuzzOpen feeds the header's reader small files that it can also take apart.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"words":["a"],"scores":[1],"tensors":[{"name":"tanh.b","shape":[512],"type":"f32","off":0}]}`), []byte{1})
	f.Add([]byte(`{"words":["","","","","","","a"],"scores":[0,0,0,0,0,0,1],"tensors":[{"name":"tanh.b","shape":[1,1],"type":"f32"}]}`),
		[]byte{1, 2, 3, 4})

	f.Fuzz(func(t *testing.T, head, data []byte) {
		blob := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(head)))
		blob = append(append(blob, head...), data...)

		w, err := openWeights(blob)
		if err != nil {
			if !errors.Is(err, ErrWeights) {
				t.Fatalf("openWeights = %v", err)
			}

			return
		}

		newTokenizer(w.header.Words, w.header.Scores).encode("a few words")

		if v := w.vector("tanh.b", 1); w.err == nil && len(v) != 1 {
			t.Fatalf("%d elements", len(v))
		}
	})
}
