package guard

import "slices"

// trie finds, at one place of a text, every entry that begins there.
type trie struct {
	root  [256]int32
	nodes []trieNode
	edges []trieEdge
	// rows are the edges of the nodes that have many, by their byte.
	rows [][256]int32
	outs []entry
}

type trieNode struct {
	edge, edges int32
	out, outs   int32
	// row is one more than the place of the node's row, or 0.
	row int32
}

// manyEdges is from how many edges on a node has a row.
const manyEdges = 7

type trieEdge struct {
	b  byte
	to int32
}

// entry is a word, phrase or literal with what it stands for.
type entry struct {
	id int32
	// open is set if the entry may go on in the text: a stem.
	open bool
	// closed is set if the entry has spaces: it is not looked for in a word.
	spaced bool
	// length is that of the entry, in bytes.
	length int32
}

// trieBuilder collects entries.
type trieBuilder struct {
	next [](map[byte]int32)
	outs [][]entry
}

func newTrieBuilder() *trieBuilder {
	return &trieBuilder{next: []map[byte]int32{{}}, outs: [][]entry{nil}}
}

func (b *trieBuilder) add(s string, e entry) {
	at := int32(0)
	for i := range len(s) {
		to, ok := b.next[at][s[i]]
		if !ok {
			to = int32(len(b.next)) //nolint:gosec // Rules are far below 2 GiB.
			b.next[at][s[i]] = to
			b.next = append(b.next, map[byte]int32{})
			b.outs = append(b.outs, nil)
		}
		at = to
	}
	e.length = int32(len(s)) //nolint:gosec // As above.
	if !slices.Contains(b.outs[at], e) {
		b.outs[at] = append(b.outs[at], e)
	}
}

func (b *trieBuilder) build() *trie {
	t := &trie{nodes: make([]trieNode, len(b.next))}
	for i, next := range b.next {
		n := &t.nodes[i]
		n.edge, n.edges = int32(len(t.edges)), int32(len(next))   //nolint:gosec // As above.
		n.out, n.outs = int32(len(t.outs)), int32(len(b.outs[i])) //nolint:gosec // As above.
		for c, to := range next {
			t.edges = append(t.edges, trieEdge{c, to})
			if i == 0 {
				t.root[c] = to
			}
		}
		slices.SortFunc(t.edges[n.edge:], func(x, y trieEdge) int { return int(x.b) - int(y.b) })
		if len(next) >= manyEdges {
			var row [256]int32
			for c, to := range next {
				row[c] = to
			}
			t.rows = append(t.rows, row)
			n.row = int32(len(t.rows)) //nolint:gosec // As above.
		}
		t.outs = append(t.outs, b.outs[i]...)
	}
	return t
}

// step follows b from a node; 0 says that nothing goes on.
func (t *trie) step(at int32, b byte) int32 {
	if at == 0 {
		return t.root[b]
	}
	n := &t.nodes[at]
	if n.row > 0 {
		return t.rows[n.row-1][b]
	}
	for _, e := range t.edges[n.edge : n.edge+n.edges] {
		if e.b == b {
			return e.to
		}
	}
	return 0
}

// ends are the entries that end at a node.
func (t *trie) ends(at int32) []entry {
	n := &t.nodes[at]
	return t.outs[n.out : n.out+n.outs]
}
