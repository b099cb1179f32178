package scan

import "strconv"

// Where a hit is.
const (
	// InBytes is in the bytes of a file.
	InBytes = "bytes"
	// InName is in the name of a file or a folder, or in what a link points to.
	InName = "name"
	// InPieces is in what a [Format] has unpacked of a file.
	InPieces = "pieces"
)

// Hit is a place at which a word or a vector stands. It does not say which word.
type Hit struct {
	// File is the path below the directory, with slashes. What it holds of a word
	// is blanked.
	File string `json:"file"`
	// In is [InBytes], [InName] or [InPieces].
	In string `json:"in"`
	// Offset is where it begins: in the file, in the path, or in the pieces one
	// after another. Length is how many bytes it takes; neighbouring windows of
	// one vector are one hit.
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
	// Encoding says how it stands there.
	Encoding string `json:"encoding"`
	// Pattern is the place among the words given, from 0, and the vectors after
	// them.
	Pattern int `json:"pattern"`
}

// Unread is a file that could not be searched.
type Unread struct {
	// File is as in [Hit].
	File string `json:"file"`
	Why  string `json:"why"`
}

// Report is what a scan found.
type Report struct {
	// Files, and their Bytes, were searched; Unpacked of them also as a [Format].
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	Unpacked int   `json:"unpacked"`
	// Patterns is how many sequences of bytes were looked for, and Planted how
	// many stand-ins were planted and found first.
	Patterns int `json:"patterns"`
	Planted  int `json:"planted"`
	// Hits are at most [MaxHits] for each file, and Found is how many there are.
	Hits  []Hit `json:"hits"`
	Found int   `json:"found"`
	// Unread are the files of which nothing can be said.
	Unread []Unread `json:"unread"`
	// Settled says that no file changed while the directory was last read.
	Settled bool `json:"settled"`
	// Heap is what a process had in memory, nil if nobody asked. See [Scanner.Heap].
	Heap *Heap `json:"heap,omitempty"`
}

// MaxHits is how many hits of one file are reported.
const MaxHits = 100

// Clean reports whether everything was searched and nothing found.
func (r *Report) Clean() bool { return r.Found == 0 && len(r.Unread) == 0 && r.Settled }

// String tells the result in one line.
func (r *Report) String() string {
	s := strconv.Itoa(r.Found) + " hits in " + strconv.Itoa(r.Files) + " files, " + strconv.FormatInt(r.Bytes, 10) + " bytes"
	if len(r.Unread) > 0 {
		s += ", " + strconv.Itoa(len(r.Unread)) + " files not searched"
	}
	if !r.Settled {
		s += ", files changed meanwhile"
	}
	return s
}

// findings are the hits of one file.
type findings struct {
	hits  []Hit
	count int
	last  map[findingKey]int // place of the last hit in hits
}

type findingKey struct {
	in, encoding string
	pattern      int
}

func (f *findings) add(in string, offset int64, p *pattern) {
	key := findingKey{in, p.encoding, p.index}
	length := int64(len(p.bytes))
	if at, ok := f.last[key]; ok {
		if h := &f.hits[at]; offset >= h.Offset && offset <= h.Offset+h.Length {
			h.Length = max(h.Length, offset+length-h.Offset)
			return
		}
	}
	f.count++
	if len(f.hits) == MaxHits {
		return
	}
	if f.last == nil {
		f.last = make(map[findingKey]int)
	}
	f.last[key] = len(f.hits)
	f.hits = append(f.hits, Hit{In: in, Offset: offset, Length: length, Encoding: p.encoding, Pattern: p.index})
}
