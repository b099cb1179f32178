package policy

import (
	"errors"
	"strconv"
	"strings"
)

// ErrPolicy says that a policy cannot be used. Every error of [Parse] matches it.
var ErrPolicy = errors.New("policy cannot be used")

// Error says what of a policy is at fault. It repeats parts of the policy, which
// is no personal data.
type Error struct {
	// Line counts from 1; 0 if it is about no line.
	Line int `json:"line,omitzero"`
	// Rule is the id of the rule at fault, and Example the name of the example, ""
	// if it is about none.
	Rule    string `json:"rule,omitempty"`
	Example string `json:"example,omitempty"`
	// Field is where, as "categories.health.horizon"; "" if it is about no field.
	Field string `json:"field,omitempty"`
	// Fault is what is wrong there.
	Fault string `json:"fault"`
}

// Error names the line, the rule or example, the field and the fault.
func (e *Error) Error() string {
	parts := []string{ErrPolicy.Error()}
	if e.Line > 0 {
		parts = append(parts, "line "+strconv.Itoa(e.Line))
	}
	if e.Rule != "" {
		parts = append(parts, "rule "+e.Rule)
	}
	if e.Example != "" {
		parts = append(parts, "example "+strconv.Quote(e.Example))
	}
	if e.Field != "" {
		parts = append(parts, e.Field)
	}
	return strings.Join(append(parts, e.Fault), ": ")
}

// Is matches [ErrPolicy].
func (e *Error) Is(target error) bool { return target == ErrPolicy }
