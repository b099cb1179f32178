package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/tombstones/ledger"
)

// ErrNoLedger says that a restore has no ledger, without which what was forgotten
// would be back.
var ErrNoLedger = errors.New("a restore needs the newest ledger artefact: without it what was forgotten since would be back")

// ErrMixed says that artefacts do not belong together.
var ErrMixed = errors.New("the artefacts do not belong together")

// Inputs name what is restored from.
type Inputs struct {
	// Data, Keys and Ledger are the paths of the artefacts.
	Data, Keys, Ledger string
	// Anchors are all signed anchors that are known from elsewhere.
	Anchors [][]byte
	// Public is a public key of the ledger that is trusted, "" for none: then the
	// artefacts vouch for themselves.
	Public string
}

// Plan is a restore that was found possible.
type Plan struct {
	Data, Keys, Ledger *Artefact

	anchors [][]byte
	verify  note.Verifier
}

// NewPlan reads all artefacts in full and holds them against each other and the
// anchors. It writes nothing. The errors are ErrNoLedger, ErrArtefact, ErrMixed,
// ledger.ErrStale, ledger.ErrForeign and those of the files.
func NewPlan(in Inputs) (*Plan, error) {
	if in.Ledger == "" {
		return nil, ErrNoLedger
	}
	p := &Plan{}
	for _, a := range []struct {
		to   **Artefact
		path string
		kind Kind
	}{{&p.Ledger, in.Ledger, KindLedger}, {&p.Data, in.Data, KindData}, {&p.Keys, in.Keys, KindKeys}} {
		if a.path == "" {
			return nil, fmt.Errorf("%w: there is no artefact of kind %s", ErrMixed, a.kind)
		}
		opened, err := Open(a.path, a.kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.kind, err)
		}
		*a.to = opened
	}
	p.verify = p.Ledger.verifier
	p.anchors = append(p.anchors, in.Anchors...)
	for _, a := range []*Artefact{p.Ledger, p.Data, p.Keys} {
		if a.Public != p.Ledger.Public || (in.Public != "" && a.Public != in.Public) {
			return nil, fmt.Errorf("%w: %s is signed by another key", ErrMixed, a.Kind)
		}
		p.anchors = append(p.anchors, []byte(a.Anchor))
	}
	return p, p.fits()
}

// fits holds that keys are as new as the data, and the ledger as everything.
func (p *Plan) fits() error {
	own, err := p.Ledger.anchor()
	if err != nil {
		return err
	}
	for _, signed := range p.anchors {
		a, err := ledger.OpenAnchor(p.verify, signed)
		if err != nil {
			return fmt.Errorf("compare with anchors: %w", err)
		}
		if a.Records > p.Ledger.Last || a.Epoch > own.Epoch {
			return fmt.Errorf("%w: it ends at %d in epoch %d, and an anchor says %d in epoch %d; give a newer one",
				ledger.ErrStale, p.Ledger.Last, own.Epoch, a.Records, a.Epoch)
		}
	}
	switch {
	case p.Keys.Epoch != p.Data.Epoch || p.Keys.Log != p.Data.Log:
		return fmt.Errorf("%w: data and keys are of different epochs", ErrMixed)
	case p.Keys.LogLast < p.Data.Last:
		return fmt.Errorf("%w: the keys were taken at %d of the log, and the data reaches to %d; give keys that are as new", ErrMixed, p.Keys.LogLast, p.Data.Last)
	}
	return nil
}

// Target puts parts of a log back, which are named like the kinds.
type Target interface {
	Restore(ctx context.Context, part string, snapshot io.Reader) error
}

// PutBack puts all parts back on an empty server. After an error the server is of
// no use. Nothing may be served before [Plan.Apply] has returned.
func (p *Plan) PutBack(ctx context.Context, t Target) error {
	for _, a := range []*Artefact{p.Data, p.Keys, p.Ledger} {
		err := a.read(func(r io.Reader) error { return t.Restore(ctx, string(a.Kind), r) })
		if err != nil {
			return fmt.Errorf("put back %s: %w", a.Kind, err)
		}
	}
	return nil
}
