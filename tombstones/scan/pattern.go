package scan

// pattern is one way in which a word or a vector may stand in a file.
type pattern struct {
	bytes    []byte
	encoding string
	// index is the place of the word or the vector among those given, words
	// first. Those below 0 are stand-ins of the control.
	index int
	// id is its place among all patterns of a scan.
	id int
}

// patterns collects patterns, each sequence of bytes once.
type patterns struct {
	list []pattern
	seen map[string]struct{}
}

func (p *patterns) add(index int, encoding string, b []byte) {
	if _, ok := p.seen[string(b)]; ok {
		return
	}
	if p.seen == nil {
		p.seen = make(map[string]struct{})
	}
	p.seen[string(b)] = struct{}{}
	p.list = append(p.list, pattern{bytes: b, encoding: encoding, index: index, id: len(p.list)})
}

// longest is the length of the longest pattern.
func (p *patterns) longest() int {
	n := 0
	for _, one := range p.list {
		n = max(n, len(one.bytes))
	}
	return n
}
