package embed

import (
	"net/url"
	"strconv"
	"strings"
)

// ModelID says which model made a vector, and from what input. It is stored with every vector.
type ModelID struct {
	// Provider is who runs the model, such as "builtin" or "openai-compatible".
	Provider string `json:"provider"`
	// Model is the provider's name for it.
	Model string `json:"model"`
	// Revision tells two sets of weights under one name apart: a hash of the weights where they are at hand, the
	// operator's statement where they are not.
	Revision string `json:"revision"`
	// Dim is the number of components of each vector.
	Dim int `json:"dim"`
	// Prep is everything that changes the input before the model sees it: normalisation, prefixes, windows, cuts.
	Prep string `json:"prep"`
}

// Key is the id as one printable string without spaces. Two ids have equal keys exactly when all their fields are
// equal, and only then may their vectors be compared: an index written under another key is rebuilt by replay.
func (m ModelID) Key() string {
	return strings.Join([]string{
		url.QueryEscape(m.Provider),
		url.QueryEscape(m.Model),
		url.QueryEscape(m.Revision),
		strconv.Itoa(m.Dim),
		url.QueryEscape(m.Prep),
	}, "/")
}
