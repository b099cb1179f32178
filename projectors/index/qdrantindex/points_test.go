package qdrantindex

import (
	"slices"
	"strings"
	"testing"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"

	"github.com/annals-memory/annals/projectors/index"
)

// longest is a document with as many terms as a text of one MiB can have, the most that is captured, each as long as it can
// be. Fewest bytes for a term take pairs of characters of three bytes, one with each further character: 350,000. Characters
// that stand for several may add the pairs within them and between two of them: fewer than 90,000 of those are distinct.
func longest(tb testing.TB) *qdrant.PointStruct {
	tb.Helper()
	const terms = 440_000
	m := memory{
		doc:     index.Doc{Tenant: "acme", Subject: "s", ID: "a", Kind: index.Episode, Length: terms},
		vectors: map[string]vector{"m": {seq: 1, values: make([]float32, index.MaxDim)}},
	}
	for i := range uint64(terms) { // those of negative numbers are the longest
		m.doc.Terms = append(m.doc.Terms, index.Term{Token: 1<<63 | i<<40 | i, TF: 1<<16 - 1})
	}
	w := m.document()
	p, err := w.point(Mark{Position: 1<<53 - 1})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// mostBytes is what a server is mostly set to take in one request at least.
const mostBytes = 32 << 20

// TestPages has no page that is larger than one request may be, or has more points; none is lost and their order stays. The
// longest document that there can be goes alone, and fits.
func TestPages(t *testing.T) {
	t.Parallel()
	long := longest(t)
	if size := proto.Size(long); size > mostBytes/2 || size < pageBytes {
		t.Fatalf("the longest document has %d bytes", size)
	}
	half := &qdrant.PointStruct{Id: qdrant.NewIDUUID(strings.Repeat("x", pageBytes/2-64))}
	small := &qdrant.PointStruct{Id: markID()}
	points := slices.Repeat([]*qdrant.PointStruct{small}, 2*pageSize+1)
	points = append(points, long, long, half, small, half, long)
	var sizes []int
	var all []*qdrant.PointStruct
	for page := range pages(points) {
		sizes, all = append(sizes, len(page)), append(all, page...)
		if size := proto.Size(&qdrant.UpsertPoints{Points: page}); len(page) > 1 && size > pageBytes+1<<10 {
			t.Errorf("a page of %d points has %d bytes", len(page), size)
		}
	}
	if want := []int{pageSize, pageSize, 1, 1, 1, 3, 1}; !slices.Equal(sizes, want) {
		t.Errorf("pages of %v points, want %v", sizes, want)
	}
	if !slices.Equal(all, points) {
		t.Error("the pages are not the points")
	}
	for range pages(nil) {
		t.Error("a page of nothing")
	}
}
