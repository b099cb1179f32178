package ledger

import "fmt"

// Kind is what is wrong with a log.
type Kind string

// The kinds of damage.
const (
	// KindAnchorMissing: the ledger has checkpoints, or there is a signing key
	// beside a log, and the anchor is not there.
	KindAnchorMissing Kind = "anchor_missing"
	// KindAnchorInvalid: the anchor cannot be read or is not signed by the key.
	KindAnchorInvalid Kind = "anchor_invalid"
	// KindKeyMissing: there is an anchor and no key that verifies it.
	KindKeyMissing Kind = "key_missing"
	// KindKeyInvalid: the ledger key or its public half cannot be read, or they do not
	// belong together.
	KindKeyInvalid Kind = "key_invalid"
	// KindOtherLog: the anchor is of another log.
	KindOtherLog Kind = "other_log"
	// KindStreamMissing: a stream of the log is not there, and an anchor says that
	// it was.
	KindStreamMissing Kind = "stream_missing"
	// KindBlockInvalid: a file of a stream has what cannot be, so that no server can
	// be started on it.
	KindBlockInvalid Kind = "block_invalid"
	// KindLogShort: the log ends before the anchor or the tree does.
	KindLogShort Kind = "log_short"
	// KindLogHole: a position is empty and nothing says that it was erased.
	KindLogHole Kind = "log_hole"
	// KindLogDiffers: the message at a position is not the one that was there.
	KindLogDiffers Kind = "log_differs"
	// KindLogUnreadable: the log has a message at a position and does not deliver it.
	KindLogUnreadable Kind = "log_unreadable"
	// KindLedgerShort: the ledger ends before the anchor does.
	KindLedgerShort Kind = "ledger_short"
	// KindLedgerHole: a record of the ledger is missing.
	KindLedgerHole Kind = "ledger_hole"
	// KindLedgerDiffers: a record of the ledger is not what was written, or does
	// not fit those before it.
	KindLedgerDiffers Kind = "ledger_differs"
	// KindLedgerUnreadable: the ledger does not deliver its records.
	KindLedgerUnreadable Kind = "ledger_unreadable"
	// KindKeysShort: the keys end before the anchor says.
	KindKeysShort Kind = "keys_short"
	// KindKeysLost: rows of the keys are missing that nothing says were removed.
	KindKeysLost Kind = "keys_lost"
	// KindKeysDiffer: the rows of the keys are not those that were there.
	KindKeysDiffer Kind = "keys_differ"
	// KindKeysRisen: a row of the keys that was removed is there again.
	KindKeysRisen Kind = "keys_risen"
	// KindKeysUnreadable: the keys do not deliver their rows.
	KindKeysUnreadable Kind = "keys_unreadable"
)

// DamageError says that a log is not what it was. Nothing may be served from it.
type DamageError struct {
	Kind Kind
	// Position is where: in the ledger for the kinds of the ledger, among the keys
	// for those of the keys, in the log otherwise; 0 if it is at no position.
	Position uint64
	// Missing is how many rows are missing at least, for KindKeysLost.
	Missing uint64
	// Stream is the stream of KindStreamMissing and KindBlockInvalid.
	Stream string
}

// Error is one sentence that says what is wrong, where and what it means.
func (e *DamageError) Error() string {
	switch e.Kind {
	case KindAnchorMissing:
		return "the anchor is missing beside a log that had one"
	case KindAnchorInvalid:
		return "the anchor is not what this directory's ledger key signed"
	case KindKeyMissing:
		return "the ledger key is missing beside an anchor"
	case KindKeyInvalid:
		return "the ledger key, in ledger.key and ledger.pub, is not readable"
	case KindOtherLog:
		return "the anchor is of another log"
	case KindStreamMissing:
		return "the log has lost its stream " + e.Stream
	case KindBlockInvalid:
		return "the log has a block file of its stream " + e.Stream + " that is damaged"
	case KindLogShort:
		return fmt.Sprintf("the log ends at %d, before the anchor does", e.Position)
	case KindLogHole:
		return fmt.Sprintf("the log has lost its message at %d", e.Position)
	case KindLogDiffers:
		return fmt.Sprintf("the log's message at %d is not the one that was there", e.Position)
	case KindLogUnreadable:
		return fmt.Sprintf("the log does not deliver its message at %d", e.Position)
	case KindLedgerShort:
		return fmt.Sprintf("the ledger ends at %d, before the anchor does", e.Position)
	case KindLedgerHole:
		return fmt.Sprintf("the ledger has lost its record at %d", e.Position)
	case KindLedgerDiffers:
		return fmt.Sprintf("the ledger's record at %d is not what was written", e.Position)
	case KindLedgerUnreadable:
		return fmt.Sprintf("the ledger does not deliver its record at %d", e.Position)
	case KindKeysShort:
		return fmt.Sprintf("the keys, in the stream KEYS, end at %d, before they did", e.Position)
	case KindKeysLost:
		return fmt.Sprintf("the keys have lost rows of the stream KEYS, %d or more of them", max(e.Missing, 1))
	case KindKeysDiffer:
		return "the keys are not those that were in the stream KEYS"
	case KindKeysRisen:
		return fmt.Sprintf("the keys have a row at %d of the stream KEYS again that was destroyed", e.Position)
	case KindKeysUnreadable:
		return "the keys do not deliver the rows of the stream KEYS"
	}
	return "the log is damaged"
}

// Is reports ErrBadKey for KindKeyInvalid.
func (e *DamageError) Is(target error) bool { return e.Kind == KindKeyInvalid && target == ErrBadKey }

func damage(k Kind, position uint64) error { return &DamageError{Kind: k, Position: position} }
