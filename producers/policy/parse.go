package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/annals-memory/annals/tombstones/retention"
)

const (
	// MaxText is the length of a policy's text in bytes.
	MaxText    = 64 << 10
	maxVersion = 1 << 30
)

// errNotBool cannot happen with conditions that were type-checked.
var errNotBool = errors.New("condition is not true or false")

//go:embed default.yaml
var defaultText string

// Default is the policy that is in force until one is activated. It is parsed
// anew at each call; that takes milliseconds. It panics if the text that it was
// built with is not a policy.
func Default() *Policy {
	p, err := Parse([]byte(defaultText))
	if err != nil {
		panic(fmt.Errorf("embedded policy: %w", err))
	}
	return p
}

// Parse reads, compiles and checks a policy, runs its examples, and refuses it as
// a whole if anything is wrong. The error is an *[Error] and matches [ErrPolicy].
func Parse(b []byte) (*Policy, error) {
	switch {
	case len(b) > MaxText:
		return nil, &Error{Fault: fmt.Sprintf("must have at most %d bytes", MaxText)}
	case !utf8.Valid(b):
		return nil, &Error{Fault: "must be valid UTF-8"}
	}
	p := &Policy{text: canonical(string(b)), categories: map[string]Category{}, retention: keepAll()}
	root, err := document([]byte(p.text))
	if err != nil {
		return nil, err
	}
	l, err := newLanguage()
	if err != nil {
		return nil, &Error{Fault: err.Error()}
	}
	if err := p.readRoot(root, l); err != nil {
		return nil, err
	}
	p.ref.Hash = Hash(p.text)
	return p, nil
}

// canonical is a text with Unix line ends, of which one is at its end.
func canonical(s string) string {
	s = strings.TrimPrefix(s, "\ufeff")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.TrimRight(s, "\n") + "\n"
}

func keepAll() Retention {
	return Retention{Candidates: retention.Keep(), Unreviewed: retention.Keep(), Rejected: retention.Keep()}
}

func (p *Policy) readRoot(root *yaml.Node, l *language) error {
	// What comes after the rest, whatever its place in the file.
	var categories, examples *yaml.Node
	later := func(to **yaml.Node) func(string, *yaml.Node) error {
		return func(_ string, n *yaml.Node) error {
			*to = n
			return nil
		}
	}
	err := readers{
		"name": func(field string, n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode || !validID(n.Value) {
				return fault(n, field, "must be a name of a-z, 0-9, _ and -, a letter first")
			}
			p.ref.Name = n.Value
			return nil
		},
		"version":    whole(&p.ref.Version, 1, maxVersion),
		"rules":      func(field string, n *yaml.Node) error { return p.readRules(n, field, l) },
		"retention":  func(field string, n *yaml.Node) error { return p.readRetention(n, field) },
		"categories": later(&categories),
		"examples":   later(&examples),
	}.read(root, "", "name", "version", "rules")
	if err == nil && categories != nil {
		err = p.readCategories(categories, "categories")
	}
	if err == nil && examples != nil {
		err = p.runExamples(examples, "examples")
	}
	return err
}
