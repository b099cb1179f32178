package policy

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document reads the one document of a file.
func document(b []byte) (*yaml.Node, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Error{Fault: "is empty"}
		}
		return nil, &Error{Fault: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &Error{Fault: "must be one document"}
	}
	return doc.Content[0], nil
}

// readers read the fields of a mapping, by key.
type readers map[string]func(field string, value *yaml.Node) error

// read calls the reader of each field of a mapping once, and refuses every other
// field and the lack of one that is required.
func (r readers) read(n *yaml.Node, under string, required ...string) error {
	seen := make(map[string]bool)
	err := pairs(n, under, func(field string, key, value *yaml.Node) error {
		do, ok := r[key.Value]
		if !ok {
			return fault(key, field, "is not a field that a policy has here")
		}
		seen[key.Value] = true
		return do(field, value)
	})
	if err != nil {
		return err
	}
	for _, name := range required {
		if !seen[name] {
			return fault(n, join(under, name), "is missing")
		}
	}
	return nil
}

// pairs calls do with each field of a mapping, none of which may be there twice.
func pairs(n *yaml.Node, under string, do func(field string, key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return fault(n, under, "must be a mapping")
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Anchor != "" {
			return fault(key, under, "must have plain keys")
		}
		field := join(under, key.Value)
		switch {
		case value.Kind == yaml.AliasNode || value.Anchor != "":
			return fault(value, field, "must not be an anchor or an alias")
		case seen[key.Value]:
			return fault(key, field, "is given twice")
		}
		seen[key.Value] = true
		if err := do(field, key, value); err != nil {
			return err
		}
	}
	return nil
}

// entries calls do with each entry of a list of at most limit.
func entries(n *yaml.Node, field string, limit int, do func(field string, value *yaml.Node) error) error {
	switch {
	case n.Kind != yaml.SequenceNode:
		return fault(n, field, "must be a list")
	case len(n.Content) > limit:
		return fault(n, field, "must have at most "+strconv.Itoa(limit)+" entries")
	}
	for i, value := range n.Content {
		at := field + "[" + strconv.Itoa(i) + "]"
		if value.Kind == yaml.AliasNode || value.Anchor != "" {
			return fault(value, at, "must not be an anchor or an alias")
		}
		if err := do(at, value); err != nil {
			return err
		}
	}
	return nil
}

func join(under, name string) string {
	if under == "" {
		return name
	}
	return under + "." + name
}

func fault(n *yaml.Node, field, what string) error {
	return &Error{Line: n.Line, Field: field, Fault: what}
}

// text reads a string of 1 to limit bytes into where it belongs.
func text(to *string, limit int) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" || len(n.Value) > limit {
			return fault(n, field, "must be a text of 1 to "+strconv.Itoa(limit)+" bytes")
		}
		*to = n.Value
		return nil
	}
}

// word reads one of a few words.
func word[T ~string](to *T, allowed ...T) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		list := make([]string, len(allowed))
		for i, a := range allowed {
			if n.Kind == yaml.ScalarNode && n.Value == string(a) {
				*to = a
				return nil
			}
			list[i] = string(a)
		}
		return fault(n, field, "must be one of "+strings.Join(list, ", "))
	}
}

func boolean(to *bool) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
			return fault(n, field, "must be true or false")
		}
		*to = n.Value == "true"
		return nil
	}
}

func whole(to *int, lowest, highest int) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < lowest || v > highest {
			return fault(n, field, "must be a whole number of "+strconv.Itoa(lowest)+" to "+strconv.Itoa(highest))
		}
		*to = v
		return nil
	}
}

// share reads a number in 0..1.
func share(to *float64) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		v, err := strconv.ParseFloat(n.Value, 64)
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" || err != nil || !(v >= 0 && v <= 1) {
			return fault(n, field, "must be a number of 0 to 1")
		}
		*to = v
		return nil
	}
}

// texts reads a list of strings.
func texts(to *[]string) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		return entries(n, field, maxList, func(field string, n *yaml.Node) error {
			var s string
			err := text(&s, maxString)(field, n)
			*to = append(*to, s)
			return err
		})
	}
}
