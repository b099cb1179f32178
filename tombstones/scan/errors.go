package scan

import (
	"errors"
	"fmt"
)

var (
	// ErrControl says that the scan did not find what it had planted. Whatever
	// else it would say is void.
	ErrControl = errors.New("scan missed what it had planted")
	// ErrNothing says that there is nothing to look for.
	ErrNothing = errors.New("no word and no vector to look for")
)

// InputError says that a word or a vector cannot be looked for. It names its
// place among those given, from 0, and not the thing.
type InputError struct {
	// What is "word" or "vector".
	What  string
	Index int
	Why   string
}

// Error implements error.
func (e *InputError) Error() string { return fmt.Sprintf("%s %d %s", e.What, e.Index+1, e.Why) }
