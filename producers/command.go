package producers

import (
	"cmp"

	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// The names of the commands. They are part of derived ids and are for ever.
const (
	cmdCapture = "capture"
	cmdBatch   = "capture_batch"
	cmdPropose = "propose"
	cmdRetract = "retract"
	cmdUse     = "use_trace"
	cmdJudge   = "judge_trace"
	cmdApprove = "approve"
	cmdReject  = "reject"
	cmdEdit    = "edit"
	cmdUndo    = "undo_review"
	cmdRevise  = "revise_source"
	cmdRelease = "release_episode"
	cmdDrop    = "drop_episode"
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
// repeated. Without a key it is fresh.
func (c command) id(t *seal.Tenant, fresh func() string) string {
	if c.key == "" {
		return fresh()
	}
	return token.Command(t, c.name, c.principal, c.key, c.part)
}

// DefaultCategory is the consent category of what names none.
const DefaultCategory = "general"

// classOf is the class of what has that consent category, or names none.
func classOf(t *seal.Tenant, category string) string {
	return token.Category(t, cmp.Or(category, DefaultCategory))
}
