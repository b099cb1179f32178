package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Defaults of Config.
const (
	DefaultMaxBatch         = 64
	DefaultMaxTextBytes     = 16 << 10
	DefaultMaxResponseBytes = 32 << 20
	DefaultMaxTries         = 5
	DefaultMaxElapsed       = time.Minute
	DefaultRetryDelay       = 500 * time.Millisecond
	DefaultTimeout          = 30 * time.Second
)

// maxDim is far above any model there is; it bounds what a probed endpoint can make the index hold.
const maxDim = 1 << 14

// Config says which model to ask and how. BaseURL and Model are required, the rest has defaults.
type Config struct {
	// BaseURL is the address before "/embeddings", such as "https://api.openai.com/v1". It holds no credential and
	// no query. Over plain http the texts and the key travel unprotected.
	BaseURL string
	// APIKey is sent as a bearer token; empty sends none.
	APIKey string
	// Model is the name that the endpoint knows the model by.
	Model string
	// Revision goes into the model id. Change it when the model behind the name changed.
	Revision string
	// Dim is the dimension that every vector must have. Zero makes New ask the endpoint once.
	Dim int
	// RequestDim sends Dim along, for models that can shorten their vectors. Dim must be set.
	RequestDim bool
	// DocumentPrefix and QueryPrefix precede every text of their kind, for models that were trained so.
	DocumentPrefix string
	QueryPrefix    string

	// MaxBatch is the number of texts in one request.
	MaxBatch int
	// MaxTextBytes is where a text, without its prefix, is cut, at a character: most endpoints refuse a whole batch
	// for one text beyond their window.
	MaxTextBytes int
	// MaxResponseBytes is the most that is read of one response, after decompression.
	MaxResponseBytes int64
	// MaxTries is the number of times that one request is sent at most; 1 never retries.
	MaxTries int
	// MaxElapsed is the time within which a new try may start. A Retry-After beyond it ends the tries at once.
	MaxElapsed time.Duration
	// RetryDelay is the mean of the first delay; later ones grow by half.
	RetryDelay time.Duration
	// OnRetry, if set, is told the cause and the delay before each further try, for metrics. It may be called from
	// several goroutines.
	OnRetry func(cause error, delay time.Duration)
	// HTTP makes the requests; nil is a client with DefaultTimeout. Its redirect policy is not used.
	HTTP *http.Client
}

// ConfigError names the field of Config that is wrong, never its value.
type ConfigError struct {
	Field string
	Rule  string
}

// Error says which field breaks which rule.
func (e *ConfigError) Error() string { return fmt.Sprintf("config field %s %s", e.Field, e.Rule) }

func (c *Config) setDefaults() {
	setDefault(&c.MaxBatch, DefaultMaxBatch)
	setDefault(&c.MaxTextBytes, DefaultMaxTextBytes)
	setDefault(&c.MaxResponseBytes, DefaultMaxResponseBytes)
	setDefault(&c.MaxTries, DefaultMaxTries)
	setDefault(&c.MaxElapsed, DefaultMaxElapsed)
	setDefault(&c.RetryDelay, DefaultRetryDelay)
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// check returns the first fault of a config that has its defaults.
func (c *Config) check() error {
	if err := checkBaseURL(c.BaseURL); err != nil {
		return err
	}

	for _, rule := range []struct {
		broken bool
		field  string
		rule   string
	}{
		{c.Model == "", "Model", "is missing"},
		{!isHeaderValue(c.APIKey), "APIKey", "has characters that a header cannot hold"},
		{c.Dim < 0 || c.Dim > maxDim, "Dim", fmt.Sprintf("is not within 0 and %d", maxDim)},
		{c.RequestDim && c.Dim == 0, "RequestDim", "needs Dim"},
		{c.MaxBatch < 1, "MaxBatch", "is negative"},
		{c.MaxTextBytes < utf8.UTFMax, "MaxTextBytes", "does not hold one character"},
		{c.MaxResponseBytes < 1, "MaxResponseBytes", "is negative"},
		{c.MaxTries < 1, "MaxTries", "is negative"},
		{c.MaxElapsed < 0, "MaxElapsed", "is negative"},
		{c.RetryDelay < 0, "RetryDelay", "is negative"},
	} {
		if rule.broken {
			return &ConfigError{Field: rule.field, Rule: rule.rule}
		}
	}

	return nil
}

// checkBaseURL keeps credentials out of the address, because addresses end up in logs.
func checkBaseURL(address string) error {
	u, err := url.Parse(address)

	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return &ConfigError{Field: "BaseURL", Rule: "is not an http or https address"}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return &ConfigError{Field: "BaseURL", Rule: "has a user, a query or a fragment"}
	}

	return nil
}

func isHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
