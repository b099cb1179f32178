package scan

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type place struct {
	Offset int64
	ID     int
}

func sorted(places []place) []place {
	slices.SortFunc(places, func(a, b place) int {
		if a.Offset != b.Offset {
			return int(a.Offset - b.Offset)
		}
		return a.ID - b.ID
	})
	return places
}

// slowly finds patterns as simply as can be.
func slowly(b []byte, p *patterns) []place {
	var out []place
	for _, one := range p.list {
		for at := 0; ; at++ {
			next := bytes.Index(b[at:], one.bytes)
			if next < 0 {
				break
			}
			at += next
			out = append(out, place{int64(at), one.id})
		}
	}
	return sorted(out)
}

// FuzzSearcher holds that nothing is missed and nothing found twice, wherever
// it stands and however the stream is cut.
func FuzzSearcher(f *testing.F) {
	f.Add([]byte("abcdabcdabcd"), []byte("abcd\nbcda\nabcdabcdabcd"), uint8(1))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaa"), []byte("aaaa\naaaaaaaaa\naaaaaaaaaaaa"), uint8(3))
	f.Add([]byte("xxthe quick brown foxthe quick"), []byte("the quick\nquick brown fox\nfoxt"), uint8(7))
	f.Fuzz(func(t *testing.T, text, list []byte, size uint8) {
		var p patterns
		for i, one := range bytes.Split(list, []byte("\n")) {
			if len(one) >= shortMin && i < 50 {
				p.add(i, "raw", one)
			}
		}
		s := newSearcher(&p)
		var got []place
		n, err := s.stream(iotest.HalfReader(bytes.NewReader(text)), s.buffer(1+int(size)), func(offset int64, p *pattern) {
			got = append(got, place{offset, p.id})
		})
		if err != nil || n != int64(len(text)) {
			t.Fatalf("read %d of %d: %v", n, len(text), err)
		}
		if diff := cmp.Diff(slowly(text, &p), sorted(got)); diff != "" {
			t.Error(diff)
		}
	})
}

// Every pattern of many is found at every offset of a piece.
func TestEveryOffset(t *testing.T) {
	t.Parallel()
	var p patterns
	for i, word := range []string{"Anna", "Quixotic zanzibar", "Łódź/1", strings.Repeat("long ", 60)} {
		if err := p.addWord(i, word); err != nil {
			t.Fatal(err)
		}
	}
	s := newSearcher(&p)
	const size = 64
	for _, one := range p.list {
		for at := range size + 3 {
			text := append(make([]byte, at), one.bytes...)
			found := false
			_, err := s.stream(bytes.NewReader(append(text, 0, 0)), s.buffer(size), func(offset int64, p *pattern) {
				found = found || offset == int64(at) && p.id == one.id
			})
			if err != nil || !found {
				t.Fatalf("%s at %d is missed: %v", one.encoding, at, err)
			}
		}
	}
}

func TestReadError(t *testing.T) {
	t.Parallel()
	var p patterns
	p.add(0, "raw", []byte("word"))
	s := newSearcher(&p)
	if _, err := s.stream(iotest.ErrReader(iotest.ErrTimeout), s.buffer(10), func(int64, *pattern) {}); err == nil {
		t.Error("a read that fails looks like the end of a file")
	}
}

func BenchmarkStream(b *testing.B) {
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	random := make([]byte, 8<<20)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	text := bytes.Repeat([]byte(`{"position":123456,"kind":"episode","tenant":"tuvwxyz234567abcd"},`), 8<<20/66)
	words := []string{"Quixotic", "zanzibar", "Lisboa", "maria.santos@example.org", "moved to Porto"}
	var few patterns
	for i, word := range words {
		if err := few.addWord(i, word); err != nil {
			b.Fatal(err)
		}
	}
	var many patterns
	for i := range 5 {
		v := make([]float64, 512)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		if err := many.addVector(i, i, v); err != nil {
			b.Fatal(err)
		}
	}
	many.list = append(many.list, few.list...)
	for _, c := range []struct {
		name string
		p    *patterns
		text []byte
	}{{"words/random", &few, random}, {"words/text", &few, text}, {"vectors/random", &many, random}, {"vectors/text", &many, text}} {
		b.Run(c.name, func(b *testing.B) {
			s := newSearcher(c.p)
			buf := s.buffer(chunk)
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if _, err := s.stream(bytes.NewReader(c.text), buf, func(int64, *pattern) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(c.p.list)), "patterns")
		})
	}
}
