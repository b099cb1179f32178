package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Hash is the hex SHA-256 of a candidate as its slot has it, sealed, in
// deterministic JSON. A reviewer approves what has this hash: a source that is
// lost between the showing and the approval makes another.
func (e FactProposed) Hash() (string, error) {
	b, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("hash candidate: %w: %w", ErrInvalid, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
