package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

var (
	// ErrUnreachable is returned when the endpoint could not be reached, or broke off its answer, at every try.
	ErrUnreachable = errors.New("embeddings endpoint cannot be reached")
	// ErrResponse is returned for an answer with status 200 that is not what the API promises: no JSON, too large,
	// another number of vectors, wrong positions. Retrying does not help.
	ErrResponse = errors.New("embeddings endpoint gave a malformed response")
)

// StatusError is an answer with another status than 200.
type StatusError struct {
	Code int
}

// Error names the status; what the server wrote is left out, as it may repeat the texts.
func (e *StatusError) Error() string {
	text := http.StatusText(e.Code)
	if text == "" {
		text = "unknown status"
	}

	return "embeddings endpoint answered " + strconv.Itoa(e.Code) + " " + text
}

// Temporary says whether the same request may succeed later: too many requests, or a fault of the server. Any other
// status is for the operator: a wrong key, model, address or limit.
func (e *StatusError) Temporary() bool {
	return e.Code == http.StatusTooManyRequests || e.Code >= http.StatusInternalServerError
}

func malformed(rule string) error { return fmt.Errorf("%w: %s", ErrResponse, rule) }
