package events

import "fmt"

// Trust says how far what came through a channel can be believed. It is set
// from the authenticated channel; a caller can lower it, never raise it; what
// is derived gets the lowest of its inputs.
type Trust uint8

// The lattice, lowest first. The zero value is not a trust.
const (
	TrustExternal Trust = iota + 1
	TrustTool
	TrustAgent
	TrustUser
	TrustHuman // human_verified
	TrustSystem
)

func trustNames() [TrustSystem + 1]string {
	return [...]string{"", "external", "tool", "agent", "user", "human_verified", "system"}
}

// ParseTrust reads the name of a trust.
func ParseTrust(s string) (Trust, error) {
	for i, n := range trustNames() {
		if n == s && s != "" {
			return Trust(i), nil
		}
	}
	return 0, fmt.Errorf("%w: trust", ErrInvalid)
}

// String is the name of t.
func (t Trust) String() string {
	if t > TrustSystem {
		return ""
	}
	return trustNames()[t]
}

// IsUntrusted says whether nothing of that trust is promoted without a review: it
// came from outside, or from a tool.
func (t Trust) IsUntrusted() bool { return t <= TrustTool }

// MarshalText writes the name of t.
func (t Trust) MarshalText() ([]byte, error) {
	if t == 0 || t > TrustSystem {
		return nil, fmt.Errorf("%w: trust", ErrInvalid)
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads the name of a trust.
func (t *Trust) UnmarshalText(b []byte) error {
	v, err := ParseTrust(string(b))
	if err != nil {
		return err
	}
	*t = v
	return nil
}
