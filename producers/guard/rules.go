package guard

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"
)

//go:embed rules.yaml
var defaultRules []byte

// engine is the version of what the code makes of rules. It is part of the
// hash: the same rules under another engine may answer otherwise.
const engine = 1

// ErrRules says that rules cannot be used; the error says which and why.
var ErrRules = errors.New("guard rules are not usable")

// ruleFile is the YAML file.
type ruleFile struct {
	Engine  int    `json:"engine" yaml:"-"`
	Version string `json:"version" yaml:"version"`
	// Classes are named sets of words, phrases and stems (with * at the end).
	Classes map[string][]string `json:"classes" yaml:"classes"`
	Rules   []instructionRule   `json:"rules" yaml:"rules"`
	Markers []markerRule        `json:"markers" yaml:"markers"`
	// Hidden scores what hides text from people but not from a model.
	Hidden   hiddenRule   `json:"hidden" yaml:"hidden"`
	Secrets  []secretRule `json:"secrets" yaml:"secrets"`
	Assign   assignRule   `json:"assign" yaml:"assign"`
	Personal personalRule `json:"personal" yaml:"personal"`
}

// instructionRule matches sequences of classes: "override ..3 prior|above".
type instructionRule struct {
	ID    string   `json:"id" yaml:"id"`
	Score int      `json:"score" yaml:"score"`
	Any   []string `json:"any" yaml:"any"`
	// Unless are classes that undo the match if they come shortly before it.
	Unless []string `json:"unless" yaml:"unless"`
	// Not are classes that undo the match if they come inside it.
	Not []string `json:"not" yaml:"not"`
}

// markerRule matches literals anywhere, signs included.
type markerRule struct {
	ID    string   `json:"id" yaml:"id"`
	Score int      `json:"score" yaml:"score"`
	Any   []string `json:"any" yaml:"any"`
}

type hiddenRule struct {
	Tags    int `json:"tags" yaml:"tags"`
	Encoded int `json:"encoded" yaml:"encoded"`
}

// New makes a scanner of rules in YAML. It returns [ErrRules] if they are not
// of the expected shape.
func New(rules []byte) (*Scanner, error) {
	d := yaml.NewDecoder(bytes.NewReader(rules))
	d.KnownFields(true)
	var f ruleFile
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRules, err)
	}
	if err := d.Decode(new(ruleFile)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: more than one document", ErrRules)
	}
	f.Engine = engine
	s, err := compile(&f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRules, err)
	}
	// The hash is of the meaning: comments and layout do not change it.
	text, err := json.Marshal(&f, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRules, err)
	}
	sum := sha256.Sum256(text)
	s.hash, s.version = hex.EncodeToString(sum[:]), f.Version
	return s, nil
}

// Default makes a scanner of the rules that come with the package. It takes
// tens of milliseconds: make one and share it.
func Default() *Scanner {
	s, err := New(defaultRules)
	if err != nil {
		panic(err) // The embedded rules are tested.
	}
	return s
}

// compiler turns a rule file into a scanner.
type compiler struct {
	scanner  *Scanner
	classes  map[string]int32
	literals map[string]int32
	words    *trieBuilder
}

func compile(f *ruleFile) (*Scanner, error) {
	if f.Version == "" {
		return nil, errors.New("version is missing")
	}
	c := &compiler{
		scanner: &Scanner{hidden: f.Hidden}, classes: map[string]int32{}, literals: map[string]int32{}, words: newTrieBuilder(),
	}
	for _, name := range []string{classStart, classAddress} {
		c.class(name)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Classes)) {
		entries := f.Classes[name]
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" || name == "" {
			return nil, fmt.Errorf("class %q: a name is of small letters", name)
		}
		id := c.class(name)
		for _, e := range entries {
			if err := c.entry(e, id); err != nil {
				return nil, fmt.Errorf("class %s: %w", name, err)
			}
		}
	}
	for _, r := range f.Rules {
		if err := c.rule(r); err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.ID, err)
		}
	}
	markers := newTrieBuilder()
	for _, m := range f.Markers {
		id, err := c.name(m.ID, m.Score)
		if err != nil {
			return nil, fmt.Errorf("marker %s: %w", m.ID, err)
		}
		for _, literal := range m.Any {
			if len(plain(literal)) < 3 {
				return nil, fmt.Errorf("marker %s: a literal is too short", m.ID)
			}
			markers.add(plain(literal), entry{id: id})
		}
	}
	s := c.scanner
	s.words, s.markers = c.words.build(), markers.build()
	s.index()
	if err := s.compileSecrets(f); err != nil {
		return nil, err
	}
	if err := s.compilePersonal(f.Personal); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *compiler) class(name string) int32 {
	id, ok := c.classes[name]
	if !ok {
		id = int32(len(c.classes) + len(c.literals)) //nolint:gosec // Rules are small.
		c.classes[name] = id
	}
	return id
}

// entry adds a word, phrase or stem to a class.
func (c *compiler) entry(s string, id int32) error {
	stem, open := strings.CutSuffix(s, "*")
	cut := cut(plain(stem))
	text := string(cut.join(false).text)
	if text == "" {
		return errors.New("an entry has no words")
	}
	c.words.add(text, entry{id: id, open: open, spaced: strings.Contains(text, " ")})
	return nil
}

// name registers the id of a rule.
func (c *compiler) name(id string, score int) (int32, error) {
	s := c.scanner
	switch {
	case id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return 0, errors.New("an id is of small letters, digits and _")
	case score < 1 || score > 100:
		return 0, errors.New("a score is from 1 to 100")
	case id == hitTags, id == hitEncoded, id == hitTooLong,
		slices.ContainsFunc(s.rules, func(r scored) bool { return r.id == id }):
		return 0, errors.New("the id is taken")
	}
	s.rules = append(s.rules, scored{id, score})
	return int32(len(s.rules) - 1), nil //nolint:gosec // Rules are small.
}

func (c *compiler) rule(r instructionRule) error {
	id, err := c.name(r.ID, r.Score)
	if err != nil {
		return err
	}
	unless, err := c.known(r.Unless)
	if err != nil {
		return err
	}
	not, err := c.known(r.Not)
	if err != nil {
		return err
	}
	if len(r.Any) == 0 {
		return errors.New("nothing to match")
	}
	for _, s := range r.Any {
		p := pattern{rule: id, unless: unless, not: not}
		if err := c.parse(s, &p); err != nil {
			return fmt.Errorf("%q: %w", s, err)
		}
		c.scanner.patterns = append(c.scanner.patterns, p)
	}
	return nil
}

func (c *compiler) known(names []string) ([]int32, error) {
	var ids []int32
	for _, name := range names {
		id, ok := c.classes[name]
		if !ok {
			return nil, fmt.Errorf("class %q is unknown", name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// parse reads steps with gaps between them: class|'words' ..3 class.
func (c *compiler) parse(s string, p *pattern) error {
	gap := int32(0)
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if rest, ok := strings.CutPrefix(s, ".."); ok {
			digits, after, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseUint(digits, 10, 8)
			if err != nil || n > 30 {
				return errors.New("a gap is .. and a number up to 30")
			}
			gap, s = int32(n)*wordUnits, after
			continue
		}
		st := step{gap: gap}
		gap = 0
		for more := true; more; {
			var err error
			if s, more, err = c.alternative(s, &st); err != nil {
				return err
			}
		}
		p.steps = append(p.steps, st)
	}
	if len(p.steps) == 0 {
		return errors.New("no step")
	}
	return nil
}

// alternative reads one class or quoted phrase and says whether another comes.
func (c *compiler) alternative(s string, st *step) (rest string, more bool, err error) {
	if quoted, ok := strings.CutPrefix(s, "'"); ok {
		text, rest, ok := strings.Cut(quoted, "'")
		if !ok {
			return "", false, errors.New("a quote is not closed")
		}
		id, ok := c.literals[text]
		if !ok {
			id = int32(len(c.classes) + len(c.literals)) //nolint:gosec // Rules are small.
			c.literals[text] = id
			if err := c.entry(text, id); err != nil {
				return "", false, err
			}
		}
		st.classes = append(st.classes, id)
		rest, more = strings.CutPrefix(rest, "|")
		return rest, more, nil
	}
	end := strings.IndexAny(s, "| ")
	if end < 0 {
		end = len(s)
	}
	id, ok := c.classes[s[:end]]
	if !ok {
		return "", false, fmt.Errorf("class %q is unknown", s[:end])
	}
	st.classes = append(st.classes, id)
	rest, more = strings.CutPrefix(s[end:], "|")
	return rest, more, nil
}
