package events

import "time"

// SubjectExported says that all that is kept of a subject was about to be handed
// to who asked, the commit's principal. It is written before the first of it is.
type SubjectExported struct {
	// Export is the id of the export, which stands in its manifest.
	Export string `json:"export"`
	// Position is the one up to which was read.
	Position uint64 `json:"position"`
	// Count is how many memories were kept of the subject then.
	Count int `json:"count"`
}

// Export is what a subject's state knows of one export.
type Export struct {
	SubjectExported

	// Principal is the token of who was given it, RecordedAt the log's time.
	Principal  string
	RecordedAt time.Time
}

// isEvent keeps Export out of the union of events, which the event that it embeds
// would bring it into.
func (*Export) isEvent(struct{}) {} //nolint:unused // it is there to hide the promoted one
