package ledger

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is the text of a signed note in the form of C2SP's tlog-checkpoint.
type Checkpoint struct {
	// Log is the identity of the log, and Epoch counts its restores.
	Log   string
	Epoch uint64
	// Size is the number of positions that the tree covers, Root its hash.
	Size uint64
	Root tlog.Hash
}

const originPrefix = "annals/"

func (c Checkpoint) text() string {
	return fmt.Sprintf("%s%s/%d\n%d\n%s\n", originPrefix, c.Log, c.Epoch, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// OpenCheckpoint verifies a signed checkpoint. It may have lines behind the root,
// as an anchor does.
func OpenCheckpoint(v note.Verifier, signed []byte) (Checkpoint, error) {
	text, err := open(v, signed)
	if err != nil {
		return Checkpoint{}, err
	}
	c, _, ok := parseCheckpoint(text)
	if !ok {
		return Checkpoint{}, fmt.Errorf("open checkpoint: %w", errText)
	}
	return c, nil
}

// parseCheckpoint returns the lines behind the root as well.
func parseCheckpoint(text string) (c Checkpoint, more []string, ok bool) {
	lines := strings.Split(text, "\n")
	const own = 3
	if len(lines) <= own || lines[len(lines)-1] != "" {
		return c, nil, false
	}
	origin, isOurs := strings.CutPrefix(lines[0], originPrefix)
	log, epoch, cut := strings.Cut(origin, "/")
	if !isOurs || !cut {
		return c, nil, false
	}
	var errEpoch, errSize error
	c.Log = log
	c.Epoch, errEpoch = strconv.ParseUint(epoch, 10, 63)
	c.Size, errSize = strconv.ParseUint(lines[1], 10, 63)
	root, errRoot := tlog.ParseHash(lines[2])
	c.Root = root
	if errEpoch != nil || errSize != nil || errRoot != nil || !strings.HasPrefix(text, c.text()) {
		return c, nil, false
	}
	return c, lines[own : len(lines)-1], true
}
