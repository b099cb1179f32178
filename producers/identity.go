package producers

import (
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// The names of the commands. They are part of derived ids and are for ever.
const (
	cmdCapture = "capture"
	cmdBatch   = "capture_batch"
	cmdPropose = "propose"
	cmdRetract = "retract"
	cmdUse     = "use_trace"
	cmdJudge   = "judge_trace"
)

// command is one command of one caller: what an idempotency key stands for.
type command struct {
	name      string
	principal string
	key       string
	// part tells the parts of one command apart, such as a batch's items.
	part string
}

// id is the id that the command's record has, whenever and wherever it is
// repeated: a UUID of version 8 from a keyed hash. Without a key it is fresh.
func (c command) id(t *seal.Tenant, fresh func() string) string {
	if c.key == "" {
		return fresh()
	}
	var b strings.Builder
	for _, s := range []string{c.name, c.principal, c.key, c.part} {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return uuidOf(t.Hash("idem", b.String()))
}

// uuidOf makes a UUID of version 8 of a hash token, which holds 128 bits.
func uuidOf(token string) string {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(token))
	if err != nil || len(raw) < 16 {
		return "" // no hash token is like this; an empty id is refused by the log
	}
	return uuid8(raw)
}

// uuid8 writes 16 bytes as a UUID of version 8 (RFC 9562).
func uuid8(raw []byte) string {
	var id [16]byte
	copy(id[:], raw)
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// fingerprint is a keyed hash of a request, equal for requests that mean the
// same: members in any order, numbers in any notation.
func fingerprint(t *seal.Tenant, request any) (string, error) {
	raw, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("encode request: %w", events.ErrInvalid)
	}
	canonical, err := canonicalJSON(raw)
	if err != nil {
		return "", err
	}
	return t.Hash("fingerprint", string(canonical)), nil
}

// canonicalJSON is a value in the form of RFC 8785, except that integers keep
// all their digits: two large ones must not become equal by rounding.
func canonicalJSON(v jsontext.Value) (jsontext.Value, error) {
	c := v.Clone()
	if err := c.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, fmt.Errorf("canonicalize value: %w", events.ErrInvalid) // the error itself may quote the value
	}
	return c, nil
}

// note is what is sealed beside a record's key: what tells a repetition from
// another command, and where the record's events are.
type note struct {
	Fingerprint string      `json:"fingerprint,omitempty"`
	Kind        events.Kind `json:"kind"`
	// Aggregate is the id of the aggregate; for a fact that of its slot.
	Aggregate string `json:"aggregate"`
	// Position is that of the commit of a command that has no record.
	Position uint64 `json:"position,omitzero"`
}

// kindCommand marks the row of a command that has no record of its own.
const kindCommand events.Kind = "command"

func (n note) encode() ([]byte, error) {
	b, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("encode note: %w", err)
	}
	return b, nil
}

func decodeNote(b []byte) (note, error) {
	var n note
	if err := json.Unmarshal(b, &n); err != nil {
		return note{}, fmt.Errorf("decode note: %w", events.ErrCorrupt)
	}
	return n, nil
}

// token is the keyed hash of a name, "" for none. Two spellings of the same
// characters are one name.
func token(t *seal.Tenant, field, value string) string {
	if value == "" {
		return ""
	}
	return t.Hash(field, norm.NFC.String(value))
}

// DefaultCategory is the consent category of what names none.
const DefaultCategory = "general"

func categoryToken(t *seal.Tenant, category string) string {
	if category == "" {
		category = DefaultCategory
	}
	return token(t, "category", category)
}

func sourceToken(t *seal.Tenant, s events.Source) string {
	return token(t, "source", s.Kind+"\x00"+s.Ref)
}

// slotID is the id of the aggregate of all facts about one subject, predicate
// and scope.
func slotID(t *seal.Tenant, sid, predicate, scope string) string {
	return token(t, "slot", sid+"\x00"+predicate+"\x00"+scope)
}

func labelToken(t *seal.Tenant, key string, value jsontext.Value) (string, error) {
	canonical, err := canonicalJSON(value)
	if err != nil {
		return "", err
	}
	return token(t, "label", key+"\x00"+string(canonical)), nil
}

func principalToken(t *seal.Tenant, principal string) string { return token(t, "principal", principal) }
