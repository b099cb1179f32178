package query

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// RecallAnswer is what was found, best first.
type RecallAnswer struct {
	TraceID  string   `json:"trace_id"`
	Position uint64   `json:"position"`
	Results  []Result `json:"results"`
	// Omitted counts results that the token budget left out, and those withheld
	// because a tool or somebody outside said what looks like an instruction.
	Omitted int `json:"omitted"`
	// NothingRelevant says that nothing eligible had to do with the question,
	// as opposed to results that did not fit the budget.
	NothingRelevant bool `json:"nothing_relevant"`
	// LexicalOnly says that the question could not be embedded, so that only
	// its words were searched for.
	LexicalOnly bool `json:"lexical_only,omitempty"`
}

// Result is one recalled memory.
type Result struct {
	Kind       string       `json:"kind"`
	ID         string       `json:"id"`
	Text       string       `json:"text"`
	Score      float64      `json:"score"`
	Components *Components  `json:"components,omitempty"`
	OccurredAt *events.Time `json:"occurred_at,omitempty"`
	ObservedAt *events.Time `json:"observed_at,omitempty"`
	Trust      events.Trust `json:"trust"`
	// Sources are the ids of the episodes it rests on; an episode's own id.
	Sources []string `json:"sources"`
	// Suspicious says that it is of low trust and looks like an instruction; only
	// reviewers and admins get to see such a one.
	Suspicious bool `json:"suspicious,omitempty"`
	// Status is set if what it says holds no more, as far as facts tell: all that was
	// taken from an episode was superseded or retracted, has expired or is retired.
	Status events.FactStatus `json:"status,omitempty"`
	// SupersededBy is what is true instead, if the caller may read it.
	SupersededBy []Replacement `json:"superseded_by,omitempty"`
	// DemotedFrom is the score that a result with a status would have without, if it
	// is explained.
	DemotedFrom *float64 `json:"demoted_from,omitempty"`
}

// said is all that a result says.
func (r *Result) said() string {
	texts := []string{r.Text}
	for i := range r.SupersededBy {
		texts = append(texts, r.SupersededBy[i].Text)
	}
	return strings.Join(texts, "\n")
}

// Fact is one version of a fact: what was held true, when, and since when the
// log knows.
type Fact struct {
	ID             string          `json:"id"`
	Subject        string          `json:"subject"`
	Predicate      string          `json:"predicate"`
	Value          jsontext.Value  `json:"value"`
	Category       string          `json:"category"`
	Scope          string          `json:"scope"`
	Confidence     float64         `json:"confidence"`
	Trust          events.Trust    `json:"trust"`
	SourceEpisodes []string        `json:"source_episodes"`
	Provenance     []events.Source `json:"provenance"`
	ObservedAt     events.Time     `json:"observed_at"`
	CreatedAt      events.Time     `json:"created_at"`
	ReviewedAt     *events.Time    `json:"reviewed_at"`
	ExpiresAt      *events.Time    `json:"expires_at"`
	// Status is a state of the slot, or [StatusRetired].
	Status events.FactStatus `json:"status"`
	// ValidFrom and ValidTo bound the stretch that holds the time asked about,
	// or else the whole of what is valid; nil if nothing is, a nil ValidTo
	// beside a ValidFrom is open.
	ValidFrom *events.Time `json:"valid_from"`
	ValidTo   *events.Time `json:"valid_to"`
	// Valid are all stretches, if there is more than one.
	Valid []Stretch `json:"valid,omitempty"`
	// RecordedAt is since when this version is known, RecordedTo until when it
	// was; nil if it still is.
	RecordedAt   events.Time  `json:"recorded_at"`
	RecordedTo   *events.Time `json:"recorded_to,omitempty"`
	SupersededBy string       `json:"superseded_by,omitempty"`
	// Suspicious is as in [Result].
	Suspicious bool `json:"suspicious,omitempty"`
}

// Stretch is a stretch of valid time; a nil To is open.
type Stretch struct {
	From events.Time  `json:"from"`
	To   *events.Time `json:"to"`
}

// FactAnswer is one fact and the position at which it was read.
type FactAnswer struct {
	Fact

	Position uint64 `json:"position"`
}

// FactsAnswer is one page of facts.
type FactsAnswer struct {
	Facts []Fact `json:"facts"`
	// Omitted counts facts of this page that are withheld, as in [RecallAnswer].
	Omitted int `json:"omitted,omitempty"`
	// Cursor goes on behind the last fact; empty at the end.
	Cursor   string `json:"cursor,omitempty"`
	Position uint64 `json:"position"`
}

// HistoryAnswer is every version of every fact of a slot, in the order in which
// they became known.
type HistoryAnswer struct {
	Versions []Fact `json:"versions"`
	// Omitted counts versions that are withheld, as in [RecallAnswer].
	Omitted  int    `json:"omitted,omitempty"`
	Position uint64 `json:"position"`
}

// Link is a record that another one came from, or that came from it. One that
// was forgotten has no content here, nor anywhere else.
type Link struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Relation is "source", "derived", "merged_into", "merged_from",
	// "superseded_by" or "supersedes".
	Relation   string         `json:"relation"`
	Forgotten  bool           `json:"forgotten"`
	OccurredAt *events.Time   `json:"occurred_at,omitempty"`
	Source     *events.Source `json:"source,omitempty"`
}

// LineageAnswer is what a fact came from, and what came from it.
type LineageAnswer struct {
	ID   string `json:"id"`
	From []Link `json:"from"`
	To   []Link `json:"to"`
	// Decision is what was decided on it last, and by whose reviews.
	Decision *DecisionLineage `json:"decision,omitempty"`
	Position uint64           `json:"position"`
}

// Episode is one captured episode.
type Episode struct {
	ID              string                    `json:"id"`
	Subject         string                    `json:"subject"`
	Text            string                    `json:"text"`
	OccurredAt      events.Time               `json:"occurred_at"`
	OccurredUnknown bool                      `json:"occurred_unknown"`
	Session         string                    `json:"session,omitempty"`
	Actors          []events.Actor            `json:"actors"`
	Action          string                    `json:"action,omitempty"`
	Outcome         string                    `json:"outcome,omitempty"`
	Source          events.Source             `json:"source"`
	Trust           events.Trust              `json:"trust"`
	Sensitivity     string                    `json:"sensitivity,omitempty"`
	Category        string                    `json:"category,omitempty"`
	Entities        []string                  `json:"entities"`
	Metadata        map[string]jsontext.Value `json:"metadata"`
	RecordedAt      events.Time               `json:"recorded_at"`
	// Recorded is the position of its capture.
	Recorded uint64 `json:"recorded_position"`
	// Retired says that it is of an earlier revision of its source: it is kept as
	// what happened, and is not recalled.
	Retired bool `json:"retired,omitempty"`
	// Suspicious is as in [Result].
	Suspicious bool `json:"suspicious,omitempty"`
}

// EpisodeAnswer is one episode and the position at which it was read.
type EpisodeAnswer struct {
	Episode

	Position uint64 `json:"position"`
}

// EpisodesAnswer is one page of episodes.
type EpisodesAnswer struct {
	Episodes []Episode `json:"episodes"`
	// Omitted counts episodes of this page that are withheld, as in [RecallAnswer].
	Omitted int `json:"omitted,omitempty"`
	// Cursor goes on behind the last episode; empty at the end.
	Cursor   string `json:"cursor,omitempty"`
	Position uint64 `json:"position"`
}

// TraceAnswer says which memories an answer was made of and what came of it.
type TraceAnswer struct {
	ID string `json:"trace_id"`
	// Query is empty if it was forgotten, and for a caller who may not read
	// memories.
	Query     string                      `json:"query,omitempty"`
	Forgotten bool                        `json:"forgotten,omitempty"`
	MemoryIDs []string                    `json:"memory_ids"`
	Used      []string                    `json:"used"`
	Judged    map[string]events.Judgement `json:"judged"`
	Weights   string                      `json:"weights,omitempty"`
	// ReadAt is the position that the recall read.
	ReadAt     uint64      `json:"read_at"`
	RecordedAt events.Time `json:"recorded_at"`
	Position   uint64      `json:"position"`
}
