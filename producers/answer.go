package producers

import (
	"errors"

	"github.com/annals-memory/annals/events"
)

// Status is what became of a capture.
type Status string

// What can become of a capture.
const (
	StatusCaptured    Status = "captured"
	StatusQuarantined Status = "quarantined"
)

// Captured answers a capture. Position is the one to wait for; for a
// quarantined episode, which no view will ever show, it is 0.
type Captured struct {
	ID       string `json:"id"`
	Position uint64 `json:"position"`
	Status   Status `json:"status"`
}

// BatchCaptured answers a batch, item by item in the order of the request.
// Position is the highest of all items.
type BatchCaptured struct {
	Results  []ItemResult `json:"results"`
	Position uint64       `json:"position"`
}

// ItemResult is what became of one item: an id and a status, or an error.
type ItemResult struct {
	Index  int        `json:"index"`
	ID     string     `json:"id,omitempty"`
	Status Status     `json:"status,omitempty"`
	Error  *ItemError `json:"error,omitempty"`
}

// ItemError is the error of one item of a batch.
type ItemError struct {
	Code   string `json:"code"`
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail"`
	// Err is the error itself: an *events.InputError, events.ErrKeyReused or
	// events.ErrForgotten.
	Err error `json:"-"`
}

// Error is the detail, which holds no text of the item.
func (e *ItemError) Error() string { return e.Detail }

// Unwrap returns the error itself.
func (e *ItemError) Unwrap() error { return e.Err }

func itemError(err error) *ItemError {
	if in, ok := errors.AsType[*events.InputError](err); ok {
		return &ItemError{Code: in.Code, Field: in.Field, Detail: in.Rule, Err: err}
	}
	code := "failed"
	switch {
	case errors.Is(err, events.ErrKeyReused):
		code = "key_reused"
	case errors.Is(err, events.ErrForgotten):
		code = "forgotten"
	case errors.Is(err, events.ErrHeld):
		code = "held"
	case errors.Is(err, events.ErrTooLarge):
		code = "too_large"
	}
	return &ItemError{Code: code, Detail: err.Error(), Err: err}
}

// Proposed answers a proposal.
type Proposed struct {
	CandidateID string          `json:"candidate_id"`
	Decision    events.Decision `json:"decision"`
	// FactID is the fact that the candidate became, or to which its sources
	// were added; "" unless it was promoted.
	FactID string `json:"fact_id,omitempty"`
	// Superseded are the facts that are true for a shorter time now.
	Superseded []string         `json:"superseded"`
	Gates      []events.Gate    `json:"gates"`
	Policy     events.PolicyRef `json:"policy"`
	Position   uint64           `json:"position"`
}

// Written answers a command that makes nothing with an id.
type Written struct {
	Position uint64 `json:"position"`
}
