package tombstones

import (
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
)

// What a deployment keeps of deleted messages has a deadline, or says why there is
// none.
func TestResiduesHaveADeadlineOrAReason(t *testing.T) {
	t.Parallel()
	until := events.At(time.Unix(1, 0))
	for name, c := range map[string]struct {
		residue Residue
		want    bool
	}{
		"neither":    {Residue{Kind: "replicas"}, false},
		"a reason":   {Residue{Kind: "replicas", Why: "nobody knows"}, true},
		"a deadline": {Residue{Kind: "replicas", Until: &until}, true},
	} {
		p := Purging{
			Remains: struct{ Remains }{}, Log: struct{ LogBytes }{}, Quarantine: struct{ Quarantine }{}, Notary: struct{ Notary }{},
			Residues: []Residue{c.residue},
		}
		if got := p.complete(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
