package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/events"
)

// ErrStale says that a ledger is older than an anchor of it, or than the log that
// it would be applied to: what was forgotten since is not in it.
var ErrStale = errors.New("the ledger is older than what is known of it")

// ErrForeign says that an anchor was not signed by the key of the ledger.
var ErrForeign = errors.New("the anchor is not signed by the key of this ledger")

// AnchorState is what a signed anchor says: a checkpoint, and how far ledger and keys
// reached at least.
type AnchorState struct {
	Checkpoint

	Records, Keys uint64
}

// LastAnchor is what the anchor of a directory says, with which nothing has been
// compared yet; false if there is none that can be read.
func LastAnchor(dir string) (AnchorState, bool) {
	_, signed, err := Anchor(dir)
	if err != nil {
		return AnchorState{}, false
	}
	v, err := LoadVerifier(dir)
	if err != nil {
		return AnchorState{}, false
	}
	state, err := OpenAnchor(v, signed)
	return state, err == nil
}

// OpenAnchor verifies a signed anchor, which is ErrForeign if another key signed
// it or it is none.
func OpenAnchor(v note.Verifier, signed []byte) (AnchorState, error) {
	a, err := openAnchor(v, signed)
	return AnchorState{Checkpoint: a.Checkpoint, Records: a.records, Keys: a.keys.last}, err
}

func openAnchor(v note.Verifier, signed []byte) (anchor, error) {
	text, err := open(v, signed)
	if err != nil {
		return anchor{}, fmt.Errorf("open anchor: %w", ErrForeign)
	}
	a, ok := parseAnchor(text)
	if !ok {
		return anchor{}, fmt.Errorf("open anchor: %w", ErrForeign)
	}
	return a, nil
}

// Standing is where a copy of the log was taken: in which epoch, and up to which
// position.
type Standing struct {
	Epoch, Last uint64
}

// Recovered is a ledger behind which an older copy of its log was put in place.
type Recovered struct {
	*Ledger

	// Epoch and Size are where the ledger ended. Common is the last position up to
	// which the copy is the log that it ended with.
	Epoch, Size, Common uint64
	// Erased are the positions of the copy that were named as erased, in order.
	Erased []uint64
	// Changes are those of subjects that the copy does not have, in the order of
	// the log.
	Changes []SubjectChange

	// again are the erased positions of the copy behind the common one.
	again []Erased
}

// Begin begins an epoch behind the common position. What the copy has behind it
// counts as erased where it was named so in the epoch that the copy is of.
func (r *Recovered) Begin(ctx context.Context) error {
	if err := r.NewEpoch(ctx, r.Common); err != nil {
		return err
	}
	for _, e := range r.again {
		if err := r.erase(ctx, e); err != nil {
			return fmt.Errorf("begin epoch: %w", err)
		}
	}
	return nil
}

// Recover opens the ledger of a directory in which a copy of the log was put in
// place. It has no anchor yet; without a key one is made. The known anchors were
// signed by the key of v. It writes no record and no anchor: call
// [Recovered.Begin], erase, append what is missing, and then make a checkpoint.
//
// It is ErrStale if the ledger is older than any of the anchors or than the copy,
// ErrForeign if an anchor is not of its key, and *[DamageError] if the ledger is
// not what an anchor vouches for, or the copy not what the ledger says.
func Recover(ctx context.Context, c Config, copied Standing, v note.Verifier, anchors [][]byte, progress Progress) (*Recovered, error) {
	if c.Patience == 0 {
		c.Patience = patience
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	b, err := recoverBook(ctx, c, v, anchors)
	if err != nil {
		return nil, fmt.Errorf("recover ledger: %w", err)
	}
	if copied.Epoch > b.epoch || (copied.Epoch == b.epoch && copied.Last > b.tree.size) {
		return nil, fmt.Errorf("recover ledger: %w", ErrStale)
	}
	h, err := readHistory(ctx, c.Store)
	if err != nil {
		return nil, fmt.Errorf("recover ledger: %w", err)
	}
	r := &Recovered{
		Epoch: b.epoch, Size: b.tree.size, Common: min(copied.Last, h.shared(copied.Epoch, b.epoch)), Changes: h.changesSince(copied),
	}
	r.Erased, r.again = h.erasedOf(copied, r.Common)
	if err := b.compare(ctx, c, r.Common, progress); err != nil {
		return nil, fmt.Errorf("recover ledger: %w", err)
	}
	signer, err := loadSigner(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		signer, err = newSigner(c.Dir, c.Rand)
	}
	if err != nil {
		return nil, fmt.Errorf("recover ledger: %w", err)
	}
	b.ours = signer.verify
	b.forgetKeys() // what was put in place is what there is
	r.Ledger = &Ledger{config: c, signer: signer, book: b, restoring: true}
	return r, nil
}

// recoverBook reads the ledger and holds it against the anchors.
func recoverBook(ctx context.Context, c Config, v note.Verifier, anchors [][]byte) (*book, error) {
	b := newBook(c.Store)
	b.ours, b.known = v, map[uint64][]anchor{}
	for _, signed := range anchors {
		a, err := openAnchor(v, signed)
		if err != nil {
			return nil, err
		}
		b.known[a.records] = append(b.known[a.records], a)
		if b.anchor == nil || a.records > b.anchor.records {
			b.anchor = &a
		}
	}
	state, err := c.Store.State(ctx)
	if err != nil {
		return nil, fmt.Errorf("state of the ledger: %w", err)
	}
	if b.anchor != nil && b.anchor.records > state.Last {
		return nil, ErrStale
	}
	if err := b.load(ctx, state.Last); err != nil {
		return nil, err
	}
	if b.log == "" {
		log, err := c.Log.State(ctx)
		if err != nil {
			return nil, fmt.Errorf("state of the log: %w", err)
		}
		b.log = log.Identity
	}
	return b, nil
}

// history is what the ledger says of epochs, and of what happened in them.
type history struct {
	// cuts[i] is the size at which the epoch i+1 began.
	cuts    []uint64
	erased  []erasedIn
	changes []changeIn
}

type erasedIn struct {
	Erased

	epoch uint64
}

type changeIn struct {
	SubjectChange

	epoch uint64
}

func readHistory(ctx context.Context, store Store) (*history, error) {
	h := &history{}
	for m, err := range store.Read(ctx, "", 0) {
		if err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		if err := h.take(m); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *history) take(m events.Message) error {
	epoch := uint64(len(h.cuts))
	switch {
	case m.Subject == subjectEpoch:
		var r epochRecord
		if err := decodeRecord(m, &r); err != nil {
			return err
		}
		h.cuts = append(h.cuts, r.Size)
	case strings.HasPrefix(m.Subject, prefixErased):
		var r erasedRecord
		if err := decodeRecord(m, &r); err != nil {
			return err
		}
		if r.Epoch == epoch {
			e := Erased{Tenant: strings.TrimPrefix(m.Subject, prefixErased), Erasure: r.Erasure, Positions: r.Positions}
			h.erased = append(h.erased, erasedIn{e, epoch})
		}
	case strings.HasPrefix(m.Subject, prefixSubject):
		r, err := decodeSubject(m)
		if err != nil {
			return err
		}
		if r.Epoch == epoch {
			for _, c := range r.Changes {
				h.changes = append(h.changes, changeIn{c, epoch})
			}
		}
	}
	return nil
}

// shared is the last position that two epochs have in common, one that no log
// reaches if they are the same.
func (h *history) shared(a, b uint64) uint64 {
	const all = 1 << 63
	if a > b {
		a, b = b, a
	}
	return slices.Min(append([]uint64{all}, h.cuts[a:b]...))
}

// erasedOf are the positions of a copy that were named as erased, and as what those
// behind a position were: a position that was given up by then, or that came later,
// names another message.
func (h *history) erasedOf(copied Standing, common uint64) (all []uint64, behind []Erased) {
	for _, e := range h.erased {
		last := min(copied.Last, h.shared(e.epoch, copied.Epoch))
		var again []uint64
		for _, p := range e.Positions {
			if p <= last {
				all = append(all, p)
			}
			if p <= last && p > common {
				again = append(again, p)
			}
		}
		if len(again) > 0 {
			behind = append(behind, Erased{Tenant: e.Tenant, Erasure: e.Erasure, Positions: again})
		}
	}
	slices.Sort(all)
	return slices.Compact(all), behind
}

// changesSince are the changes of the log that the ledger ends with which a copy does
// not have, in its order, each once. A restore has written those of what was given up
// anew.
func (h *history) changesSince(copied Standing) []SubjectChange {
	var list []changeIn
	for _, c := range h.changes {
		there := c.Position <= h.shared(c.epoch, uint64(len(h.cuts)))
		had := c.Position <= min(copied.Last, h.shared(c.epoch, copied.Epoch))
		if there && !had {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b changeIn) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.Position, b.Position))
	})
	var out []SubjectChange
	seen := map[changeIn]bool{}
	for _, c := range list {
		if !seen[c] {
			seen[c] = true
			out = append(out, c.SubjectChange)
		}
	}
	return out
}
