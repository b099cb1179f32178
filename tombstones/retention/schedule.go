package retention

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/annals-memory/annals/events/token"
)

// fileVersion is the version of the file that is read here.
const fileVersion = "1"

// maxCategories is the most categories in a file.
const maxCategories = 1_000

// ErrSchedule says that a schedule cannot be read. Every error of [Parse] matches
// it.
var ErrSchedule = errors.New("retention schedule cannot be read")

// ScheduleError says which line of a schedule breaks which rule.
type ScheduleError struct {
	// Line counts from 1; 0 if it is about no line.
	Line int
	// Field is where, as "categories.<name>.facts"; "" if it is about no field.
	Field string
	Rule  string
}

// Error names the line, the field and the rule.
func (e *ScheduleError) Error() string {
	var b strings.Builder
	b.WriteString(ErrSchedule.Error())
	if e.Line > 0 {
		fmt.Fprintf(&b, ": line %d", e.Line)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	return b.String() + ": " + e.Rule
}

// Is matches [ErrSchedule].
func (e *ScheduleError) Is(target error) bool { return target == ErrSchedule }

// Periods are how long each kind of memory of a category is kept.
type Periods struct {
	Episodes, Facts, Candidates Period
}

// Schedule is a retention schedule.
type Schedule struct {
	// Default is how long what no category names is kept.
	Default Period
	// ExpiryGrace is how long a fact is kept after it has expired.
	ExpiryGrace Period
	// Categories are by name, as [token.CategoryName] has it; what one leaves out has the default.
	Categories map[string]Periods
}

// Parse reads a schedule. The error is a *ScheduleError. It repeats keys of the
// file, which are the operator's, and no values.
func Parse(b []byte) (*Schedule, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &ScheduleError{Rule: "is empty"}
		}
		return nil, &ScheduleError{Rule: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &ScheduleError{Rule: "must be one document"}
	}
	s := &Schedule{Categories: map[string]Periods{}}
	seen, err := fields(doc.Content[0], "", func(field string, key, value *yaml.Node) error {
		var err error
		switch field {
		case "version":
			if value.Kind != yaml.ScalarNode || value.Value != fileVersion {
				err = fault(value, field, "must be "+fileVersion)
			}
		case "default":
			s.Default, err = period(value, field)
		case "expiry_grace":
			s.ExpiryGrace, err = grace(value, field)
		case "categories":
		default:
			err = fault(key, field, "is not a field of a schedule")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, required := range []string{"version", "default"} {
		if seen[required] == nil {
			return nil, &ScheduleError{Line: doc.Content[0].Line, Field: required, Rule: "is missing"}
		}
	}
	if list := seen["categories"]; list != nil {
		if err := s.categories(list); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Schedule) categories(list *yaml.Node) error {
	_, err := fields(list, "categories.", func(field string, key, value *yaml.Node) error {
		p := Periods{s.Default, s.Default, s.Default}
		name := strings.TrimPrefix(field, "categories.")
		// Two forms of one name are one category.
		form := token.CategoryName(name)
		switch _, twice := s.Categories[form]; {
		case name == "":
			return fault(value, field, "must have a name")
		case twice:
			return fault(key, field, "is given twice")
		}
		_, err := fields(value, field+".", func(field string, key, value *yaml.Node) error {
			var err error
			switch strings.TrimPrefix(field, "categories."+name+".") {
			case "episodes":
				p.Episodes, err = period(value, field)
			case "facts":
				p.Facts, err = period(value, field)
			case "candidates":
				p.Candidates, err = period(value, field)
			default:
				err = fault(key, field, "is none of episodes, facts and candidates")
			}
			return err
		})
		s.Categories[form] = p
		return err
	})
	if err == nil && len(s.Categories) > maxCategories {
		err = fault(list, "categories", fmt.Sprintf("must be at most %d", maxCategories))
	}
	return err
}

// fields calls do with each field of a mapping, once.
func fields(n *yaml.Node, under string, do func(field string, key, value *yaml.Node) error) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, fault(n, strings.TrimSuffix(under, "."), "must be a mapping")
	}
	seen := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field := under + key.Value
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			return nil, fault(key, strings.TrimSuffix(under, "."), "must have plain keys")
		case value.Kind == yaml.AliasNode || value.Anchor != "":
			return nil, fault(value, field, "must not be an anchor or an alias")
		case seen[key.Value] != nil:
			return nil, fault(key, field, "is given twice")
		}
		seen[key.Value] = value
		if err := do(field, key, value); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func period(n *yaml.Node, field string) (Period, error) {
	if n.Kind == yaml.ScalarNode {
		if p, ok := ParsePeriod(n.Value); ok {
			return p, nil
		}
	}
	return Period{}, fault(n, field, `must be "keep", or a whole number above zero and h, d, m or y`)
}

// grace also takes no time at all.
func grace(n *yaml.Node, field string) (Period, error) {
	if n.Kind == yaml.ScalarNode && (n.Value == "0" || n.Value == "0d" || n.Value == "0h") {
		return Period{}, nil
	}
	return period(n, field)
}

func fault(n *yaml.Node, field, rule string) error {
	return &ScheduleError{Line: n.Line, Field: field, Rule: rule}
}
