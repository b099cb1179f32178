package embed

import "strconv"

// Kind says what a text is for. Asymmetric models are trained with another prefix for questions than for what is
// searched; symmetric ones ignore it.
type Kind uint8

const (
	// Document is a text to be found.
	Document Kind = iota
	// Query is a text to find others with.
	Query
)

// String names the kind, for logs and metric labels.
func (k Kind) String() string {
	switch k {
	case Document:
		return "document"
	case Query:
		return "query"
	}

	return "kind(" + strconv.Itoa(int(k)) + ")"
}
