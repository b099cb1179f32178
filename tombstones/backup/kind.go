package backup

import (
	"errors"
	"fmt"
)

// Kind is what an artefact holds.
type Kind string

// The kinds, in the order in which they are taken: keys are then as new as the
// data, and the ledger covers both.
const (
	KindData   Kind = "data"
	KindKeys   Kind = "keys"
	KindLedger Kind = "ledger"
)

// Kinds are the kinds in the order in which they are taken.
func Kinds() []Kind { return []Kind{KindData, KindKeys, KindLedger} }

// ErrKind says that there is no such kind of artefact.
var ErrKind = errors.New("there is no such artefact")

// ParseKind returns the kind of that name, or ErrKind.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case KindData, KindKeys, KindLedger:
		return k, nil
	}
	return "", fmt.Errorf("%w: data, keys and ledger are", ErrKind)
}
