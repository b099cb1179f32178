package query

import (
	"github.com/annals-memory/annals/events"
)

// The format of an export. A reader refuses a version that it does not know.
const (
	ExportFormat  = "annals.export"
	ExportVersion = 1
)

// The types of the lines of an export, in their order. An export that ends with
// anything but a manifest is void.
const (
	LineHeader    = "header"
	LineConsent   = "consent"
	LineHold      = "hold"
	LineRecipient = "recipient"
	LineEpisode   = "episode"
	LineFact      = "fact"
	LineTrace     = "trace"
	LineErased    = "erased"
	LineManifest  = "manifest"
	LineError     = "error"
)

// ExportHeader is the first line of an export.
type ExportHeader struct {
	Type    string `json:"type"`
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Export is the id of the export.
	Export     string       `json:"export"`
	Subject    string       `json:"subject"`
	ExportedAt events.Time  `json:"exported_at"`
	AsOf       *events.Time `json:"as_of,omitempty"`
	// Position is the one up to which everything is in the export that is kept.
	Position uint64 `json:"position"`
}

// ExportConsent is one consent as it was given or taken back.
type ExportConsent struct {
	Type string `json:"type"`
	// Category is the name, "" if it can no longer be opened; Token is always there.
	Category   string      `json:"category,omitempty"`
	Token      string      `json:"token"`
	Granted    bool        `json:"granted"`
	Basis      string      `json:"basis,omitempty"`
	RecordedAt events.Time `json:"recorded_at"`
}

// ExportHold is one legal hold as it was put or lifted.
type ExportHold struct {
	Type       string      `json:"type"`
	Hold       string      `json:"hold"`
	Held       bool        `json:"held"`
	RecordedAt events.Time `json:"recorded_at"`
}

// ExportRecipient is an earlier export.
type ExportRecipient struct {
	Type   string `json:"type"`
	Export string `json:"export"`
	// Principal is a pseudonym of who was given it.
	Principal  string      `json:"principal"`
	Position   uint64      `json:"position"`
	Count      int         `json:"count"`
	RecordedAt events.Time `json:"recorded_at"`
}

// ExportEpisode is one episode.
type ExportEpisode struct {
	Type string `json:"type"`
	Episode
}

// ExportFact is one fact or candidate with all that is known of it.
type ExportFact struct {
	Type string `json:"type"`
	Fact

	Decision *ExportDecision `json:"decision,omitempty"`
	// Retraction is the reason it was retracted for.
	Retraction string           `json:"retraction,omitempty"`
	Versions   []ExportRevision `json:"versions"`
}

// ExportDecision says how a candidate was decided on.
type ExportDecision struct {
	Decision events.Decision  `json:"decision"`
	Gates    []events.Gate    `json:"gates"`
	Policy   events.PolicyRef `json:"policy"`
	// Into is the fact that it became or was merged into.
	Into string `json:"into,omitempty"`
}

// ExportRevision is what was known of a fact for some time.
type ExportRevision struct {
	Status     events.FactStatus `json:"status"`
	Valid      []Stretch         `json:"valid"`
	RecordedAt events.Time       `json:"recorded_at"`
	RecordedTo *events.Time      `json:"recorded_to,omitempty"`
}

// ExportTrace is one answer that a memory of the subject went into, or that was
// asked for about the subject.
type ExportTrace struct {
	Type  string `json:"type"`
	Trace string `json:"trace_id"`
	// Query is there if the question was about the subject and can be opened.
	Query string `json:"query,omitempty"`
	// MemoryIDs are the memories of the subject that were recalled, Used those of
	// them that were used; others' are left out.
	MemoryIDs  []string                    `json:"memory_ids"`
	Used       []string                    `json:"used"`
	Judged     map[string]events.Judgement `json:"judged"`
	RecordedAt events.Time                 `json:"recorded_at"`
}

// ExportErased counts what was forgotten of the subject before.
type ExportErased struct {
	Type     string `json:"type"`
	Episodes int    `json:"episodes"`
	Facts    int    `json:"facts"`
}

// Manifest is the last line of an export.
type Manifest struct {
	Type       string       `json:"type"`
	Format     string       `json:"format"`
	Version    int          `json:"version"`
	Export     string       `json:"export"`
	ExportedAt events.Time  `json:"exported_at"`
	AsOf       *events.Time `json:"as_of,omitempty"`
	Position   uint64       `json:"position"`
	// Counts are the lines of each type before the manifest.
	Counts map[string]int `json:"counts"`
	// SHA256 is in hexadecimal, over all bytes before the manifest's line.
	SHA256 string `json:"sha256"`
	// Key names the key that signed.
	Key string `json:"key"`
	// Note is a signed note whose text is this manifest without the note, in
	// canonical JSON.
	Note string `json:"note,omitempty"`
}

// ExportError is the last line of an export that could not be ended.
type ExportError struct {
	Type string `json:"type"`
	// Code is "forgotten", "timeout", "unavailable", "damaged" or "internal".
	Code   string `json:"code"`
	Detail string `json:"detail"`
}
