package tombstones

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// ErrIncomplete says that an erasure is not purged, so that there is no receipt.
var ErrIncomplete = errors.New("the erasure is not complete")

// ErrReceiptAltered says that a receipt is not what was signed, or does not prove
// what it says.
var ErrReceiptAltered = errors.New("receipt is not what was signed")

// The format of receipts.
const (
	ReceiptFormat  = "annals-receipt"
	ReceiptVersion = 1
)

// How long each level may take.
const (
	targetShredded    = 5 * time.Second
	targetPurged      = 24 * time.Hour
	targetBackupsDead = 30 * 24 * time.Hour
)

// Receipt says what was cleaned where. It has no value and no outside name in it.
type Receipt struct {
	Format    string       `json:"format"`
	Version   int          `json:"version"`
	ErasureID string       `json:"erasure_id"`
	Scope     string       `json:"scope"`
	Cause     events.Cause `json:"cause"`
	Matched   int          `json:"matched"`
	// Late is that of the account.
	Late        int         `json:"late,omitzero"`
	RequestedAt events.Time `json:"requested_at"`
	IssuedAt    events.Time `json:"issued_at"`
	// Tombstone proves that the last tombstone of what was asked for is in the log.
	Tombstone ledger.Proof `json:"tombstone"`
	// Levels are those there are, in their order.
	Levels []ReceiptLevel `json:"levels"`
	Stores []Store        `json:"stores"`
	// Residues are what is left of it, and until when, or why there is no such time.
	Residues []Residue `json:"residues"`
	// Recipients are who was given memories outside of this system, which no
	// erasure here reaches.
	Recipients []Recipient `json:"recipients"`
	// Scan is the result of a search of the files, if there was one.
	Scan *ScanResult `json:"scan,omitempty"`
}

// ReceiptLevel is when a level was reached, or has to be.
type ReceiptLevel struct {
	Level Level `json:"level"`
	// At is when it was reached, nil if it was not.
	At *events.Time `json:"at,omitempty"`
	// Due is by when it had to be.
	Due events.Time `json:"due"`
	// Met says that it was reached by then.
	Met bool `json:"met"`
}

// Residue is something that is left.
type Residue struct {
	// Kind is "backups": copies of the keys that were made before, which open until
	// the root key is rotated; "mixed_commits": messages that tell of something that
	// is kept as well, whose part of what was forgotten opens no more; or what the
	// deployment adds, such as "replicas" and "server_encryption".
	Kind string `json:"kind"`
	// Count is how many there are, 0 if that is not known.
	Count int `json:"count,omitzero"`
	// Until is when it will be gone. It is nil if there is no such time, and then
	// Why is there.
	Until *events.Time `json:"until,omitempty"`
	// Why says why there is no deadline, and what ends it instead.
	Why string `json:"why,omitempty"`
}

// Why a residue of an erasure has no deadline.
const (
	whyNoRotation = "no rotation of the root key is planned; the next one ends it"
	whyMixed      = "the message tells of something that is kept, and goes with that; its part of what was forgotten opens no more"
)

// Recipient is who was given memories.
type Recipient struct {
	// Kind is "embedder" or "export".
	Kind string `json:"kind"`
	// Name is that of an embedding endpoint.
	Name string `json:"name,omitempty"`
	// At is when an export was handed out.
	At *events.Time `json:"at,omitempty"`
}

// ScanResult is what a search of the files for the forgotten values has found.
type ScanResult struct {
	At    events.Time `json:"at"`
	Found int         `json:"found"`
}

// SignedReceipt is a receipt with the note that vouches for it: the text of the
// note is the receipt in canonical JSON and a newline.
type SignedReceipt struct {
	Receipt

	Note string `json:"note"`
}

// Receipt returns the signed receipt of an erasure of the caller's tenant. Before
// it is purged the error is ErrIncomplete; the others are those of
// [Eraser.Status], and of the ledger.
func (e *Eraser) Receipt(ctx context.Context, caller events.Caller, id string) (SignedReceipt, error) {
	if !caller.Has(events.RoleAgent, events.RoleAuditor, events.RoleAdmin) {
		return SignedReceipt{}, events.ErrForbidden
	}
	a, err := e.findAccount(ctx, caller, id)
	if err != nil {
		return SignedReceipt{}, err
	}
	if e.purging == nil || !a.state.Level.AtLeast(LevelPurged) {
		return SignedReceipt{}, ErrIncomplete
	}
	signed, err := e.purging.Notary.Receipt(ctx, a.aggregate.ID)
	if errors.Is(err, ledger.ErrNoReceipt) {
		return e.issue(ctx, a) // its process ended in between
	}
	if err != nil {
		return SignedReceipt{}, fmt.Errorf("read receipt: %w", err)
	}
	kept, err := readNote(signed)
	if err == nil && (!kept.tellsOf(a.state.Level) || kept.Late != a.state.Late.Records) {
		return e.issue(ctx, a) // it is of a level before, or of fewer records
	}
	return kept, err
}

// tellsOf reports whether the receipt says that the level was reached.
func (r Receipt) tellsOf(level Level) bool {
	return slices.ContainsFunc(r.Levels, func(l ReceiptLevel) bool { return l.Level == level && l.At != nil })
}

// issue makes the receipt of an erasure as it stands, and keeps it in the ledger.
// There is none while the anchor cannot be written.
func (e *Eraser) issue(ctx context.Context, a *account) (SignedReceipt, error) {
	if err := e.ledger.Checkpoint(ctx); err != nil {
		return SignedReceipt{}, fmt.Errorf("cover receipt: %w", err)
	}
	return e.sign(ctx, a)
}

// sign is issue after a checkpoint.
func (e *Eraser) sign(ctx context.Context, a *account) (SignedReceipt, error) {
	r, err := e.receiptOf(ctx, a)
	if err != nil {
		return SignedReceipt{}, err
	}
	text, err := r.text()
	if err != nil {
		return SignedReceipt{}, err
	}
	signed, err := e.purging.Notary.Sign(text)
	if err != nil {
		return SignedReceipt{}, fmt.Errorf("sign receipt: %w", err)
	}
	if err := e.purging.Notary.KeepReceipt(ctx, a.aggregate.ID, signed); err != nil {
		return SignedReceipt{}, fmt.Errorf("keep receipt: %w", err)
	}
	return SignedReceipt{Receipt: r, Note: string(signed)}, nil
}

func (e *Eraser) receiptOf(ctx context.Context, a *account) (Receipt, error) {
	if a.state.Tombstone > e.ledger.Covered() {
		if err := e.ledger.Checkpoint(ctx); err != nil {
			return Receipt{}, fmt.Errorf("cover tombstone: %w", err)
		}
	}
	proof, err := e.purging.Notary.Prove(ctx, a.state.Tombstone)
	if err != nil {
		return Receipt{}, fmt.Errorf("prove tombstone: %w", err)
	}
	s := statusOf(a)
	r := Receipt{
		Format: ReceiptFormat, Version: ReceiptVersion, ErasureID: s.ErasureID, Scope: s.Scope, Cause: s.Cause,
		Matched: s.Matched, Late: s.Late, RequestedAt: s.RequestedAt, IssuedAt: events.At(events.Micro(e.now())), Tombstone: proof,
		Levels: levelsOf(&a.state), Stores: s.Stores, Residues: e.residues(a), Recipients: []Recipient{},
	}
	r.Recipients = append(r.Recipients, e.purging.Recipients...)
	if a.state.Scope != scopeSubject {
		return r, nil
	}
	subject, err := events.ReadSubject(ctx, e.log, a.aggregate.Tenant, a.state.Subject)
	if err != nil {
		return Receipt{}, fmt.Errorf("find exports: %w", err)
	}
	for _, x := range subject.Exports {
		r.Recipients = append(r.Recipients, Recipient{Kind: "export", At: events.AtOrNil(x.RecordedAt)})
	}
	return r, nil
}

func levelsOf(s *events.ErasureState) []ReceiptLevel {
	var list []ReceiptLevel
	for _, l := range []struct {
		level  Level
		target time.Duration
	}{{LevelDenied, 0}, {LevelShredded, targetShredded}, {LevelPurged, targetPurged}, {LevelBackupsDead, targetBackupsDead}} {
		due, at := s.RequestedAt.Add(l.target), s.Reached[l.level]
		list = append(list, ReceiptLevel{
			Level: l.level, At: events.AtOrNil(at), Due: events.At(due), Met: !at.IsZero() && !at.After(due),
		})
	}
	return list
}

func (e *Eraser) residues(a *account) []Residue {
	list := []Residue{}
	if !a.state.Level.AtLeast(LevelBackupsDead) {
		r := Residue{Kind: storeBackups, Until: events.AtOrNil(progressOf(&a.state, storeBackups).PendingUntil)}
		if r.Until == nil {
			r.Why = whyNoRotation
		}
		list = append(list, r)
	}
	if log := progressOf(&a.state, storeLog); log.Planned > log.Done {
		list = append(list, Residue{Kind: "mixed_commits", Count: log.Planned - log.Done, Why: whyMixed})
	}
	return append(list, e.purging.Residues...)
}

// text is what is signed.
func (r Receipt) text() (string, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode receipt: %w", err)
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return "", fmt.Errorf("encode receipt: %w", err)
	}
	return string(v) + "\n", nil
}

// readNote reads a receipt of this ledger.
func readNote(signed []byte) (SignedReceipt, error) {
	n, err := note.Open(signed, note.VerifierList())
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		n, err = unverified.Note, nil // what the ledger has needs no proof here
	}
	if err != nil {
		return SignedReceipt{}, fmt.Errorf("read receipt: %w", events.ErrCorrupt)
	}
	r := SignedReceipt{Note: string(signed)}
	if err := json.Unmarshal([]byte(n.Text), &r.Receipt); err != nil {
		return SignedReceipt{}, fmt.Errorf("read receipt: %w", events.ErrCorrupt)
	}
	return r, nil
}

// VerifyReceipt reads a receipt as it is served and holds it against the public key:
// signature, what was signed, checkpoint and proof. It needs nothing else. Its error
// matches ErrReceiptAltered.
func VerifyReceipt(b []byte, v note.Verifier) (SignedReceipt, error) {
	var r SignedReceipt
	if err := json.Unmarshal(b, &r, json.RejectUnknownMembers(true)); err != nil {
		return SignedReceipt{}, ErrReceiptAltered // json's own words may quote the content
	}
	n, err := note.Open([]byte(r.Note), note.VerifierList(v))
	if err != nil {
		return SignedReceipt{}, fmt.Errorf("%w: note: %w", ErrReceiptAltered, err)
	}
	for _, sig := range n.Sigs {
		// One signature has one spelling.
		raw, err := base64.StdEncoding.Strict().DecodeString(sig.Base64)
		if err != nil || len(raw) == 0 {
			return SignedReceipt{}, ErrReceiptAltered
		}
	}
	text, err := r.text()
	if err != nil || n.Text != text || r.Format != ReceiptFormat || r.Version != ReceiptVersion {
		return SignedReceipt{}, ErrReceiptAltered
	}
	if _, err := r.Tombstone.Verify(v); err != nil {
		return SignedReceipt{}, fmt.Errorf("%w: %w", ErrReceiptAltered, err)
	}
	return r, nil
}
