package guard

import (
	"slices"
	"strings"

	"github.com/annals-memory/annals/events"
)

// MaxText is the length of a text, in bytes, up to which it is read.
const MaxText = 64 << 20

// Ids of what is found without a rule of the file.
const (
	hitTags    = "hidden_tags"
	hitEncoded = "hidden_encoded"
	hitTooLong = "too_long"
)

// Scores from which on a text is to be looked at by a person, or refused. They
// are what the rules are weighed for; a policy may draw its lines elsewhere.
const (
	Review = 30
	Reject = 80
)

// Scanner looks for instructions, credentials and personal data. It does not
// change and may be used by any number of goroutines at once.
type Scanner struct {
	hash, version string

	rules    []scored
	patterns []pattern
	words    *trie
	markers  *trie
	uses     [][]use
	breaks   [][]int32
	states   int
	hidden   hiddenRule

	secrets  secretTable
	personal personalTable
}

// Span is a stretch of a text that was recognised, in bytes.
type Span struct {
	// Kind is the kind of personal data, or "secret".
	Kind string
	// Rule is the id of the rule of a secret, and the kind otherwise.
	Rule string
	// From is the first byte and To the one after the last.
	From, To int
}

// Rules is the hex SHA-256 of the rules, apart from their layout and comments,
// and of the version of the code that reads them.
func (s *Scanner) Rules() string { return s.hash }

// Version is the version that the rules give themselves.
func (s *Scanner) Version() string { return s.version }

// Scan looks at a text. The score is that of the heaviest rule that matched and
// a quarter of all the others', at most 100.
//
// The text is read as it is; with what looks like Latin letters folded into
// them, if there is such; and what is hidden in it, in base64, percent encoding
// or invisible tag characters, is read once more in the same way, one level
// deep. Each reading is one pass, and what was hidden is never twice as long as the
// text, so the whole is at most six passes over the text's length: there is no
// text that takes longer per byte than a constant, and none of which only a part
// is read. A text longer than [MaxText] is not read at all: its score is 100.
func (s *Scanner) Scan(text string) events.Guard {
	g := events.Guard{Rules: s.hash}
	if len(text) > MaxText {
		g.Score, g.Hits = 100, []string{hitTooLong}
		return g
	}
	hits := make([]bool, len(s.rules))
	m := s.newMatch(hits)
	s.read(m, text)
	before := count(hits)
	hiddenText, tags := hidden(text)
	if hiddenText != "" {
		s.read(m, hiddenText)
	}
	score := 0
	heaviest := 0
	add := func(id string, weight int) {
		g.Hits = append(g.Hits, id)
		score += weight
		heaviest = max(heaviest, weight)
	}
	for i, hit := range hits {
		if hit {
			add(s.rules[i].id, s.rules[i].score)
		}
	}
	if tags && s.hidden.Tags > 0 {
		add(hitTags, s.hidden.Tags)
	}
	if count(hits) > before && s.hidden.Encoded > 0 {
		add(hitEncoded, s.hidden.Encoded)
	}
	slices.Sort(g.Hits)
	g.Score = min(100, heaviest+(score-heaviest)/4)
	spans := s.Find(text)
	for _, f := range spans {
		if f.Kind == KindSecret {
			g.Secrets++
		} else if !slices.Contains(g.Personal, f.Kind) {
			g.Personal = append(g.Personal, f.Kind)
		}
	}
	slices.Sort(g.Personal)
	return g
}

// Find returns the credentials and personal data in a text, in order and
// without overlap: the longer of two that overlap is kept. It finds nothing in a
// text longer than [MaxText].
func (s *Scanner) Find(text string) []Span {
	if len(text) > MaxText {
		return nil
	}
	lower := asciiLower(text)
	return disjoint(append(s.findSecrets(text, lower), s.findPersonal(text, lower)...))
}

// read looks for instructions in one text.
func (s *Scanner) read(m *match, text string) {
	p := plain(text)
	s.mark(m.hits, p)
	c := cut(p)
	m.run(c.join(false))
	if c.foldable {
		if folded := c.join(true); folded.folded {
			m.run(folded)
		}
	}
}

// mark looks for the literals.
func (s *Scanner) mark(hits []bool, p string) {
	for i := range len(p) {
		node := s.markers.root[p[i]]
		for j := i + 1; node != 0; j++ {
			if s.markers.nodes[node].outs > 0 {
				for _, e := range s.markers.ends(node) {
					hits[e.id] = true
				}
			}
			if j == len(p) {
				break
			}
			node = s.markers.step(node, p[j])
		}
	}
}

func count(hits []bool) int {
	n := 0
	for _, hit := range hits {
		if hit {
			n++
		}
	}
	return n
}

// disjoint sorts spans and keeps the longer of two that overlap.
func disjoint(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int {
		if a.From != b.From {
			return a.From - b.From
		}
		if a.To != b.To {
			return b.To - a.To
		}
		return strings.Compare(a.Rule, b.Rule)
	})
	out := spans[:0]
	for _, f := range spans {
		if n := len(out); n > 0 && f.From < out[n-1].To {
			if f.To-f.From > out[n-1].To-out[n-1].From {
				out[n-1] = f
			}
			continue
		}
		out = append(out, f)
	}
	return out
}
