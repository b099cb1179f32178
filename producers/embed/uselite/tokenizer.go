package uselite

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// reserved is how many ids at the start of the vocabulary are no pieces of text: unknown, begin, end, spare.
	reserved = 6
	// unknown stands for a run of characters that no piece covers.
	unknown = 0
	// boundary is what the vocabulary has in the place of a space; one also precedes the text.
	boundary = '\u2581'
	// maxRunes is how many characters of a text are read: 2,048 tokens, which is all that the windows hold, of 16
	// characters, which is the longest piece.
	maxRunes = maxWindows * maxTokens * 16
)

// tokenizer cuts text into the pieces of a unigram vocabulary, by the most probable path. It gives the ids of the
// reference implementation, its handling of unknown characters included. It is read-only once made.
type tokenizer struct {
	scores   []float32
	lengths  []int            // In runes, by id.
	children map[uint64]int32 // Node and rune to node.
	pieces   []int32          // Node to id, or -1.
	space    int32            // The id of the bare boundary, or -1.
}

func newTokenizer(words []string, scores []float32) *tokenizer {
	t := &tokenizer{
		scores:   scores,
		lengths:  make([]int, len(words)),
		children: make(map[uint64]int32, 4*len(words)),
		pieces:   []int32{-1},
		space:    -1,
	}

	for id, word := range words {
		t.lengths[id] = 1
		if id < reserved || word == "" {
			continue
		}

		runes := []rune(word)
		t.lengths[id] = len(runes)
		t.pieces[t.insert(runes)] = int32(id)

		if word == string(boundary) {
			t.space = int32(id)
		}
	}

	return t
}

func edge(node int32, r rune) uint64 { return uint64(uint32(node))<<32 | uint64(uint32(r)) }

func (t *tokenizer) insert(word []rune) int32 {
	node := int32(0)

	for _, r := range word {
		next, ok := t.children[edge(node, r)]
		if !ok {
			next = int32(len(t.pieces))
			t.pieces = append(t.pieces, -1)
			t.children[edge(node, r)] = next
		}

		node = next
	}

	return node
}

// encode returns the ids of the text's tokens, nil when it has none that the model knows: an unknown character and
// white space say nothing, and would make all such texts look alike.
func (t *tokenizer) encode(text string) []int32 {
	runes := t.prepare(text)
	if len(runes) == 0 {
		return nil
	}

	ids := t.path(t.bestPieces(runes))
	for _, id := range ids {
		if id != unknown && id != t.space {
			return ids
		}
	}

	return nil
}

// prepare cuts a text that is too long, brings it to Unicode form NFKC and marks the word boundaries. White space
// only gives nothing.
func (t *tokenizer) prepare(text string) []rune {
	text = firstRunes(text, maxRunes)
	if strings.TrimFunc(text, unicode.IsSpace) == "" {
		return nil
	}

	text = norm.NFKC.String(text)
	runes := make([]rune, 1, len(text)+1)
	runes[0] = boundary

	for _, r := range text { // Bytes that are no UTF-8 read as U+FFFD.
		if r == ' ' {
			r = boundary
		}

		runes = append(runes, r)
	}

	return runes
}

func firstRunes(text string, n int) string {
	if len(text) <= n {
		return text
	}

	for i := range text {
		if n == 0 {
			return text[:i]
		}

		n--
	}

	return text
}

// bestPieces returns, for each position in the text, the last piece on the best path to it.
func (t *tokenizer) bestPieces(runes []rune) []int32 {
	best := make([]float32, len(runes)+1)
	last := make([]int32, len(runes)+1)
	// As in the reference, a score of zero counts as not yet reached.
	relax := func(start, end int, id int32, score float32) {
		score += best[start]
		if best[end] == 0 || score >= best[end] {
			best[end], last[end] = score, id
		}
	}

	for start := range runes {
		node, found := int32(0), false

		for i, r := range runes[start:] {
			next, ok := t.children[edge(node, r)]
			if !ok {
				break
			}

			node = next
			if id := t.pieces[node]; id >= 0 {
				found = true

				relax(start, start+i+1, id, t.scores[id])
			}
		}

		if !found {
			relax(start, start+1, unknown, 0)
		}
	}

	return last
}

// path walks back from the end and returns the ids in the order of the text; a run of unknown characters is one.
func (t *tokenizer) path(last []int32) []int32 {
	var ids []int32

	for end := len(last) - 1; end > 0; {
		id := last[end]
		if id != unknown || len(ids) == 0 || ids[len(ids)-1] != unknown {
			ids = append(ids, id)
		}

		end -= t.lengths[id]
	}

	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}

	return ids
}
