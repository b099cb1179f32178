package openai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/openai"
)

func TestEmbed(t *testing.T) {
	t.Parallel()

	s := newServer(t)
	c := config(s)
	c.QueryPrefix, c.DocumentPrefix, c.Revision, c.MaxTextBytes = "query: ", "d: ", "2026-01", 7
	client := newClient(t, c)

	got, err := client.Embed(t.Context(), []string{"", "a", " \n", "too long äö", "bb"}, embed.Document)
	if err != nil {
		t.Fatal(err)
	}

	unit := func(n float64) []float32 {
		l := math.Sqrt(n*n + 25)

		return []float32{float32(n / l), float32(3 / l), float32(4 / l)}
	}
	// The vector is of the prefix and the text, cut after 7 bytes.
	if diff := cmp.Diff([][]float32{nil, unit(4), nil, unit(10), unit(5)}, got); diff != "" {
		t.Errorf("vectors (-want +got):\n%s", diff)
	}

	if _, err := client.Embed(t.Context(), []string{"äöüß"}, embed.Query); err != nil {
		t.Fatal(err)
	}

	want := []seen{
		{path: "/v1/embeddings", auth: "Bearer " + secretKey, model: "org/model", input: []string{"d: a", "d: too lon", "d: bb"}},
		{path: "/v1/embeddings", auth: "Bearer " + secretKey, model: "org/model", input: []string{"query: äöü"}},
	}
	if diff := cmp.Diff(want, s.seen(), cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}

	wantID := embed.ModelID{
		Provider: "openai-compatible", Model: "org/model", Revision: "2026-01", Dim: 3,
		Prep: `document="d: ";query="query: ";max-7-bytes`,
	}
	if diff := cmp.Diff(wantID, client.ID()); diff != "" {
		t.Errorf("id (-want +got):\n%s", diff)
	}
}

func TestNewTouchesTheNetworkOnlyToLearnTheDimension(t *testing.T) {
	t.Parallel()

	s := newServer(t)
	newClient(t, config(s))

	if n := len(s.seen()); n != 0 {
		t.Errorf("%d requests with a dimension", n)
	}

	c := config(s)
	c.Dim, c.APIKey = 0, ""

	if client := newClient(t, c); client.ID().Dim != 3 {
		t.Errorf("dimension %d", client.ID().Dim)
	}

	if got := s.seen(); len(got) != 1 || got[0].auth != "" {
		t.Errorf("requests: %v", got)
	}

	broken := newServer(t, answerStatus(http.StatusUnauthorized))
	c.BaseURL = broken.URL

	if _, err := openai.New(t.Context(), c); err == nil {
		t.Error("New succeeds without an answer")
	}
}

func TestRequestDim(t *testing.T) {
	t.Parallel()

	s := newServer(t)
	c := config(s)
	c.RequestDim = true

	if _, err := newClient(t, c).Embed(t.Context(), []string{"a"}, embed.Document); err != nil {
		t.Fatal(err)
	}

	if got := s.seen(); len(got) != 1 || got[0].dim == nil || *got[0].dim != 3 {
		t.Errorf("requests: %v", got)
	}
}

func TestNoRequestWithoutText(t *testing.T) {
	t.Parallel()

	s := newServer(t)

	v, err := newClient(t, config(s)).Embed(t.Context(), []string{"", "\t"}, embed.Query)
	if err != nil || len(v) != 2 || v[0] != nil || v[1] != nil || len(s.seen()) != 0 {
		t.Errorf("%v, %v, %d requests", v, err, len(s.seen()))
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()

	s := newServer(t)
	c := config(s)
	c.MaxBatch = 2
	client := newClient(t, c)

	if _, err := client.Embed(t.Context(), []string{"a", "b", "c"}, embed.Document); !errors.Is(err, embed.ErrBatchTooLarge) {
		t.Errorf("Embed of too many: %v", err)
	}

	if n := len(s.seen()); n != 0 {
		t.Errorf("%d requests", n)
	}

	v, err := embed.All(t.Context(), client, []string{"a", "bb", "ccc"}, embed.Document)
	if err != nil || len(v) != 3 || v[0][0] >= v[1][0] || v[1][0] >= v[2][0] || len(s.seen()) != 2 {
		t.Errorf("All = %v, %v with %d requests", v, err, len(s.seen()))
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()

	statusIs := func(code int) func(error) bool {
		return func(err error) bool {
			status, ok := errors.AsType[*openai.StatusError](err)

			return ok && status.Code == code
		}
	}
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

	tests := map[string]struct {
		answer answer
		match  func(error) bool
		tries  int
	}{
		"bad request":       {answerStatus(http.StatusBadRequest), statusIs(http.StatusBadRequest), 1},
		"unauthorized":      {answerStatus(http.StatusUnauthorized), statusIs(http.StatusUnauthorized), 1},
		"not found":         {answerStatus(http.StatusNotFound, "Retry-After", "1"), statusIs(http.StatusNotFound), 1},
		"no content":        {func(w http.ResponseWriter, _ []string) { w.WriteHeader(http.StatusNoContent) }, statusIs(http.StatusNoContent), 1},
		"redirect":          {answerStatus(http.StatusTemporaryRedirect, "Location", "http://127.0.0.1:1/"), statusIs(http.StatusTemporaryRedirect), 1},
		"too many":          {answerStatus(http.StatusTooManyRequests), statusIs(http.StatusTooManyRequests), 3},
		"server fault":      {answerStatus(http.StatusInternalServerError), statusIs(http.StatusInternalServerError), 3},
		"unknown status":    {answerStatus(599), statusIs(599), 3},
		"broken off":        {answerBrokenOff, is(openai.ErrUnreachable), 3},
		"no HTTP":           {answerNoHTTP, is(openai.ErrUnreachable), 3},
		"long wait":         {answerStatus(http.StatusTooManyRequests, "Retry-After", "3600"), statusIs(http.StatusTooManyRequests), 1},
		"endless wait":      {answerStatus(http.StatusTooManyRequests, "Retry-After", "18446744073709551615"), statusIs(http.StatusTooManyRequests), 1},
		"no JSON":           {answerWith("sorry, " + secretText), is(openai.ErrResponse), 1},
		"empty":             {answerWith(""), is(openai.ErrResponse), 1},
		"null":              {answerWith("null"), is(openai.ErrResponse), 1},
		"strings":           {answerWith(`{"data":[{"index":0,"embedding":"` + secretText + `"}]}`), is(openai.ErrResponse), 1},
		"none":              {answerWith(`{"data":[]}`), is(openai.ErrResponse), 1},
		"two":               {answerWith(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}`), is(openai.ErrResponse), 1},
		"no index":          {answerWith(`{"data":[{"embedding":[0,0,1]}]}`), is(openai.ErrResponse), 1},
		"index too large":   {answerWith(`{"data":[{"index":1,"embedding":[0,0,1]}]}`), is(openai.ErrResponse), 1},
		"index below zero":  {answerWith(`{"data":[{"index":-1,"embedding":[0,0,1]}]}`), is(openai.ErrResponse), 1},
		"no vector":         {answerWith(`{"data":[{"index":0,"embedding":null}]}`), is(openai.ErrResponse), 1},
		"too large a float": {answerWith(`{"data":[{"index":0,"embedding":[1e39,0,0]}]}`), is(openai.ErrResponse), 1},
		"too large":         {answerWith(`{"data":[{"index":0,"embedding":[0,0,1` + strings.Repeat(" ", 5000) + `]}]}`), is(openai.ErrResponse), 1},
		"other dimension":   {answerWith(`{"data":[{"index":0,"embedding":[0,1]}]}`), is(embed.ErrVectorDim), 1},
		"zero":              {answerWith(`{"data":[{"index":0,"embedding":[0,0,0]}]}`), is(embed.ErrVectorNotUnit), 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newServer(t, times(3, tt.answer)...)
			c := config(s)
			c.MaxResponseBytes = 4096

			v, err := newClient(t, c).Embed(t.Context(), []string{secretText}, embed.Document)
			if err == nil || v != nil || !tt.match(err) {
				t.Fatalf("Embed = %v, %v", v, err)
			}

			if n := len(s.seen()); n != tt.tries {
				t.Errorf("%d tries, want %d", n, tt.tries)
			}

			keepsSecrets(t, err)
		})
	}
}

func TestPositionTwiceIsRefused(t *testing.T) {
	t.Parallel()

	twice := `{"data":[{"index":0,"embedding":[0,0,1]},{"index":0,"embedding":[0,0,1]}]}`
	s := newServer(t, answerWith(twice), answerWith(strings.Replace(twice, `"index":0`, `"index":1`, 1)))
	client := newClient(t, config(s))

	if _, err := client.Embed(t.Context(), []string{"a", "b"}, embed.Document); !errors.Is(err, openai.ErrResponse) {
		t.Errorf("same position twice: %v", err)
	}

	if _, err := client.Embed(t.Context(), []string{"a", "b"}, embed.Document); err != nil {
		t.Errorf("each position once: %v", err)
	}
}

func TestRetrySucceeds(t *testing.T) {
	t.Parallel()

	for name, first := range map[string]answer{
		"too many":     answerStatus(http.StatusTooManyRequests),
		"unavailable":  answerStatus(http.StatusServiceUnavailable),
		"broken off":   answerBrokenOff,
		"no HTTP":      answerNoHTTP,
		"odd header":   answerStatus(http.StatusServiceUnavailable, "Retry-After", "soon"),
		"past date":    answerStatus(http.StatusServiceUnavailable, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"),
		"no wait":      answerStatus(http.StatusServiceUnavailable, "Retry-After", "0"),
		"negative":     answerStatus(http.StatusServiceUnavailable, "Retry-After", "-5"),
		"date no date": answerStatus(http.StatusServiceUnavailable, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", "Date", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newServer(t, first, first)
			c := config(s)

			var delays []time.Duration

			c.OnRetry = func(cause error, delay time.Duration) {
				keepsSecrets(t, cause)

				delays = append(delays, delay)
			}

			v, err := newClient(t, c).Embed(t.Context(), []string{secretText}, embed.Document)
			if err != nil || len(v) != 1 || len(s.seen()) != 3 || len(delays) != 2 {
				t.Fatalf("Embed = %v, %v after %d tries", v, err, len(s.seen()))
			}

			if max(delays[0], delays[1]) > 10*time.Millisecond {
				t.Errorf("delays %v", delays)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()

	for name, headers := range map[string][]string{
		"seconds": {"Retry-After", "1"},
		"date":    {"Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", "Date", "Mon, 02 Jan 2006 15:04:04 GMT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newServer(t, answerStatus(http.StatusTooManyRequests, headers...))
			c := config(s)

			var delays []time.Duration

			c.OnRetry = func(_ error, delay time.Duration) { delays = append(delays, delay) }

			if _, err := newClient(t, c).Embed(t.Context(), []string{"a"}, embed.Document); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff([]time.Duration{time.Second}, delays); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()

	t.Run("while waiting for the answer", func(t *testing.T) {
		t.Parallel()

		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(t, func(http.ResponseWriter, []string) { cancel(); <-ctx.Done() })

		v, err := newClient(t, config(s)).Embed(ctx, []string{secretText}, embed.Document)
		if !errors.Is(err, context.Canceled) || v != nil || len(s.seen()) != 1 {
			t.Errorf("Embed = %v, %v", v, err)
		}

		keepsSecrets(t, err)
	})

	t.Run("while waiting to retry", func(t *testing.T) {
		t.Parallel()

		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(t, answerStatus(http.StatusTooManyRequests, "Retry-After", "30"))
		c := config(s)
		c.OnRetry = func(error, time.Duration) { cancel() }

		if _, err := newClient(t, c).Embed(ctx, []string{"a"}, embed.Document); !errors.Is(err, context.Canceled) || len(s.seen()) != 1 {
			t.Errorf("Embed = %v after %d tries", err, len(s.seen()))
		}
	})
}

func TestTimeout(t *testing.T) {
	t.Parallel()

	hang := make(chan struct{})
	s := newServer(t, times(2, func(http.ResponseWriter, []string) { <-hang })...)
	t.Cleanup(func() { close(hang) }) // Runs before the server's own cleanup, which waits for its handlers.

	c := config(s)
	c.MaxTries, c.HTTP = 2, &http.Client{Timeout: 20 * time.Millisecond}

	_, err := newClient(t, c).Embed(t.Context(), []string{"a"}, embed.Document)
	if !errors.Is(err, openai.ErrUnreachable) || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("Embed = %v", err)
	}

	if c.HTTP.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()

	s := newServer(t)
	c := config(s)
	s.Close()

	_, err := newClient(t, c).Embed(t.Context(), []string{secretText}, embed.Document)
	if !errors.Is(err, openai.ErrUnreachable) || !strings.Contains(err.Error(), "dial") {
		t.Errorf("Embed = %v", err)
	}

	keepsSecrets(t, err)

	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	t.Cleanup(secure.Close)

	c.BaseURL, c.MaxTries = secure.URL, 1
	if _, err := newClient(t, c).Embed(t.Context(), []string{"a"}, embed.Document); !errors.Is(err, openai.ErrUnreachable) ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: %v", err)
	}

	c.HTTP = secure.Client()
	if _, err := newClient(t, c).Embed(t.Context(), []string{"a"}, embed.Document); errors.Is(err, openai.ErrUnreachable) {
		t.Errorf("known certificate: %v", err)
	}
}

// TestRedirectIsNotFollowed has its positive control in the request to the first server.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()

	other := newServer(t)
	s := newServer(t, answerStatus(http.StatusPermanentRedirect, "Location", other.URL+"/v1/embeddings"))
	c := config(s)
	c.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}

	if _, err := newClient(t, c).Embed(t.Context(), []string{secretText}, embed.Document); err == nil {
		t.Error("a redirect is an answer")
	}

	if len(s.seen()) != 1 || len(other.seen()) != 0 {
		t.Errorf("%d requests to the first server, %d to the other", len(s.seen()), len(other.seen()))
	}
}

func TestCanary(t *testing.T) {
	t.Parallel()

	swapped := answerWith(`{"data":[{"index":0,"embedding":[-1,5,0]}]}`)
	s := newServer(t, nil, nil, swapped)
	client := newClient(t, config(s))

	var vectors [3][]float32

	for i := range vectors {
		v, err := client.Canary(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		vectors[i] = v
	}

	cosine := func(a, b []float32) (sum float32) {
		for i := range a {
			sum += a[i] * b[i]
		}

		return sum
	}
	if same, other := cosine(vectors[0], vectors[1]), cosine(vectors[0], vectors[2]); same < 0.99 || other > 0.99 {
		t.Errorf("cosine of the same model %.3f, of another %.3f", same, other)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		field  string
		change func(c *openai.Config)
	}{
		"good":           {"", func(*openai.Config) {}},
		"https":          {"", func(c *openai.Config) { c.BaseURL = "https://example.org" }},
		"no address":     {"BaseURL", func(c *openai.Config) { c.BaseURL = "" }},
		"no scheme":      {"BaseURL", func(c *openai.Config) { c.BaseURL = "example.org/v1" }},
		"other scheme":   {"BaseURL", func(c *openai.Config) { c.BaseURL = "file:///etc" }},
		"bad address":    {"BaseURL", func(c *openai.Config) { c.BaseURL = "http://a b\x00" + secretKey }},
		"user":           {"BaseURL", func(c *openai.Config) { c.BaseURL = "http://u:" + secretKey + "@example.org" }},
		"query":          {"BaseURL", func(c *openai.Config) { c.BaseURL = "http://example.org?key=" + secretKey }},
		"fragment":       {"BaseURL", func(c *openai.Config) { c.BaseURL = "http://example.org#x" }},
		"no model":       {"Model", func(c *openai.Config) { c.Model = "" }},
		"key with break": {"APIKey", func(c *openai.Config) { c.APIKey = secretKey + "\n" }},
		"negative dim":   {"Dim", func(c *openai.Config) { c.Dim = -1 }},
		"huge dim":       {"Dim", func(c *openai.Config) { c.Dim = 1 << 20 }},
		"dim to request": {"RequestDim", func(c *openai.Config) { c.Dim, c.RequestDim = 0, true }},
		"batch":          {"MaxBatch", func(c *openai.Config) { c.MaxBatch = -1 }},
		"text":           {"MaxTextBytes", func(c *openai.Config) { c.MaxTextBytes = 1 }},
		"response":       {"MaxResponseBytes", func(c *openai.Config) { c.MaxResponseBytes = -1 }},
		"tries":          {"MaxTries", func(c *openai.Config) { c.MaxTries = -1 }},
		"elapsed":        {"MaxElapsed", func(c *openai.Config) { c.MaxElapsed = -1 }},
		"delay":          {"RetryDelay", func(c *openai.Config) { c.RetryDelay = -1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := openai.Config{BaseURL: "http://localhost:11434/v1", Model: "m", Dim: 3, APIKey: secretKey}
			tt.change(&c)

			client, err := openai.New(t.Context(), c)
			if tt.field == "" {
				if err != nil || client.MaxBatch() != openai.DefaultMaxBatch {
					t.Fatalf("New = %v", err)
				}

				return
			}

			bad, ok := errors.AsType[*openai.ConfigError](err)
			if !ok || bad.Field != tt.field {
				t.Fatalf("New = %v, want a fault of %s", err, tt.field)
			}

			keepsSecrets(t, err)
		})
	}
}

// keepsSecrets fails if an error, printed in any way, holds the text or the key.
func keepsSecrets(t *testing.T, err error) {
	t.Helper()

	var b bytes.Buffer
	fmt.Fprintf(&b, "%v %+v %#v", err, err, err)

	if u, ok := errors.AsType[*url.Error](err); ok {
		fmt.Fprintf(&b, "%#v", u)
	}

	for _, secret := range []string{secretText, secretKey, "Lisbon"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("error holds %q: %s", secret, b.String())
		}
	}
}
