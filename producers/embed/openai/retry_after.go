package openai

import (
	"net/http"
	"strconv"
	"time"
)

// retryAfter reads how long the server asks to wait, zero if it does not say. A date counts from the response's own
// Date, so that neither clock has to agree with the other.
func retryAfter(h http.Header) time.Duration {
	const longest = 1 << 32 // Seconds; more would overflow, and is never waited for.

	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, longest)) * time.Second
	}

	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}

	from, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}

	return max(0, until.Sub(from))
}
