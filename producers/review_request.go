package producers

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// hashLen is the length of a SHA-256 in hex.
const hashLen = 64

// ReviewRequest says what a reviewer thinks of what was shown.
type ReviewRequest struct {
	// ContentHash is that of the review as it was shown.
	ContentHash string `json:"content_hash"`
	Note        string `json:"note,omitempty"`
	// Edit is what is to be remembered instead; of an approval only.
	Edit *FactEdit `json:"edit,omitempty"`
}

// FactEdit is what a reviewer changes of a candidate. What is left out stays.
type FactEdit struct {
	Value      jsontext.Value `json:"value,omitzero"`
	Confidence *float64       `json:"confidence,omitempty"`
	ValidFrom  *events.Time   `json:"valid_from,omitempty"`
	ValidTo    *events.Time   `json:"valid_to,omitempty"`
	ExpiresAt  *events.Time   `json:"expires_at,omitempty"`
}

// Reviewed answers a review.
type Reviewed struct {
	// ID is that of the candidate that was reviewed.
	ID string `json:"id"`
	// Decision is review while more approvals are needed.
	Decision events.Decision `json:"decision"`
	// Approvals is how many reviewers have approved, Needed how many have to.
	Approvals int `json:"approvals"`
	Needed    int `json:"needed"`
	// FactID is the fact that the candidate became, or to which its sources were
	// added; "" unless it was promoted.
	FactID string `json:"fact_id,omitempty"`
	// CandidateID is the candidate that an edit made.
	CandidateID string `json:"candidate_id,omitempty"`
	// Superseded are the facts that are true for a shorter time now.
	Superseded []string      `json:"superseded"`
	Gates      []events.Gate `json:"gates"`
	// Policy is left out for an episode, on which none decides.
	Policy   events.PolicyRef `json:"policy,omitzero"`
	Position uint64           `json:"position"`
}

func (r ReviewRequest) validate(now time.Time) error {
	checks := []error{required("content_hash", r.ContentHash)}
	if len(r.ContentHash) != hashLen {
		checks = append(checks, malformed("bad_hash", "content_hash", "must be the content_hash of what was shown"))
	}
	checks = append(checks, text("note", r.Note))
	if r.Edit != nil {
		checks = append(checks, r.Edit.validate(now))
	}
	return first(checks...)
}

func (e *FactEdit) validate(now time.Time) error {
	if e.isEmpty() {
		return missing("edit")
	}
	if e.Value != nil {
		if len(e.Value) > MaxValue {
			return tooLarge("too_large", "edit.value", "must have at most 65536 bytes")
		}
		if err := jsonValue("edit.value", e.Value); err != nil {
			return err
		}
	}
	if c := e.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		return malformed("out_of_range", "edit.confidence", "must be a number from 0 to 1")
	}
	if err := first(instant("edit.valid_from", e.ValidFrom), instant("edit.valid_to", e.ValidTo), instant("edit.expires_at", e.ExpiresAt)); err != nil {
		return err
	}
	if e.ExpiresAt != nil && !e.ExpiresAt.After(now) {
		return refused("in_the_past", "edit.expires_at", "must be in the future")
	}
	return nil
}

func (e *FactEdit) isEmpty() bool {
	return e.Value == nil && e.Confidence == nil && e.ValidFrom == nil && e.ValidTo == nil && e.ExpiresAt == nil
}

// apply is a candidate as it is after an edit.
func (e *FactEdit) apply(f events.FactProposed) (events.FactProposed, error) {
	if e.Confidence != nil {
		f.Confidence = *e.Confidence
	}
	f.ValidFrom = events.Micro(e.ValidFrom.Or(f.ValidFrom))
	f.ValidTo = events.Micro(e.ValidTo.Or(f.ValidTo))
	f.ExpiresAt = events.Micro(e.ExpiresAt.Or(f.ExpiresAt))
	from := f.ValidFrom
	if from.IsZero() {
		from = f.ObservedAt
	}
	if !f.ValidTo.IsZero() && !from.Before(f.ValidTo) {
		return f, refused("empty_interval", cmp.Or(fieldOf(e.ValidTo, "edit.valid_to"), "edit.valid_from"), "must leave time between valid_from and valid_to")
	}
	return f, nil
}

func fieldOf(t *events.Time, name string) string {
	if t == nil {
		return ""
	}
	return name
}
