package ledger

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/annals-memory/annals/events"
)

// The subjects of the records.
const (
	subjectTree      = "tree"
	subjectEpoch     = "epoch"
	prefixTombstone  = "tombstone."
	prefixErased     = "erased."
	prefixReceipt    = "receipt."
	prefixSubject    = "subject."
	subjectKeys      = "keys"
	anyTombstone     = prefixTombstone + "*"
	maxLeaves        = 1000
	maxTombstones    = 1000
	maxErasedEntries = 1000
	maxChanges       = 1000
	maxRemoved       = 1000
)

// Tombstone is the ledger's copy of one tombstone of the log.
type Tombstone struct {
	// Tenant is the token in the log's subjects.
	Tenant string `json:"-"`
	// Kind and Aggregate name the aggregate that ended, or one record of which did.
	Kind      events.Kind `json:"kind"`
	Aggregate string      `json:"aggregate"`
	// Record is the record of the aggregate that ended, "" if all of it did.
	Record string `json:"record,omitempty"`
	// Subject is the id of the subject, "" if there is none.
	Subject string `json:"subject,omitempty"`
	Erasure string `json:"erasure"`
	// Position is that of the tombstone in the log.
	Position uint64 `json:"position"`
}

// Erased names positions of the log whose bytes are about to be deleted.
type Erased struct {
	Tenant    string
	Erasure   string
	Positions []uint64
}

// erasedRecord is an Erased of one epoch. It counts as long as its positions belong
// to the log: behind where an epoch was cut off there are other messages.
type erasedRecord struct {
	Epoch     uint64   `json:"epoch"`
	Erasure   string   `json:"erasure"`
	Positions []uint64 `json:"positions"`
}

type subjectRecord struct {
	Epoch   uint64          `json:"epoch"`
	Changes []SubjectChange `json:"changes"`
}

type tombstonesRecord struct {
	Tombstones []Tombstone `json:"tombstones"`
}

type receiptRecord struct {
	Note string `json:"note"`
}

// treeRecord is one checkpoint. Leaves are the leaves from the index From on,
// 32 bytes each; the note is over the tree with them.
type treeRecord struct {
	Epoch  uint64 `json:"epoch"`
	From   uint64 `json:"from"`
	Size   uint64 `json:"size"`
	Leaves []byte `json:"leaves"`
	Note   string `json:"note"`
}

// leaves splits the leaves, and reports false if they do not fit the sizes.
func (r treeRecord) leaves() ([]tlog.Hash, bool) {
	n := len(r.Leaves) / tlog.HashSize
	if len(r.Leaves)%tlog.HashSize != 0 || n == 0 || n > maxLeaves || r.From+uint64(n) != r.Size {
		return nil, false
	}
	out := make([]tlog.Hash, n)
	for i := range out {
		out[i] = tlog.Hash(r.Leaves[i*tlog.HashSize:])
	}
	return out, true
}

// epochRecord begins an epoch. The note is the checkpoint of the tree that it
// leaves behind, which had the size and root named here. Log is the identity of the
// log from here on, "" if it stays.
type epochRecord struct {
	Epoch        uint64 `json:"epoch"`
	Log          string `json:"log,omitzero"`
	Size         uint64 `json:"size"`
	PreviousSize uint64 `json:"previous_size"`
	PreviousRoot string `json:"previous_root"`
	Note         string `json:"note"`
}

func decodeRecord(m events.Message, into any) error {
	if err := json.Unmarshal(m.Data, into, json.RejectUnknownMembers(true)); err != nil {
		return damage(KindLedgerDiffers, m.Position)
	}
	return nil
}

func encodeRecord(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return b, nil
}

func decodeTombstones(m events.Message) ([]Tombstone, error) {
	var r tombstonesRecord
	if err := decodeRecord(m, &r); err != nil {
		return nil, err
	}
	for i := range r.Tombstones {
		r.Tombstones[i].Tenant = strings.TrimPrefix(m.Subject, prefixTombstone)
	}
	return r.Tombstones, nil
}
