package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// requestBody is what the API takes.
type requestBody struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

// responseBody is what of the API's answer is read.
type responseBody struct {
	Data []struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// request sends the input until it is answered or a limit of the config is reached, and returns the vectors in the
// order of the input, as the server sent them.
func (c *Client) request(ctx context.Context, input []string) ([][]float32, error) {
	body := requestBody{Model: c.config.Model, Input: input, EncodingFormat: "float"}
	if c.config.RequestDim {
		body.Dimensions = c.config.Dim
	}

	payload, err := json.Marshal(body)
	if err != nil {
		return nil, errors.New("encode request") // The cause could quote the input.
	}

	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval = c.config.RetryDelay

	var cause error // Of the last try, without what backoff needs to know about it.

	vectors, err := backoff.Retry(ctx, func() ([][]float32, error) {
		v, wait, err := c.try(ctx, payload, len(input))
		cause = err

		switch {
		case err == nil:
			return v, nil
		case !retryable(ctx, err):
			return nil, backoff.Permanent(err)
		case wait > 0:
			return nil, &backoff.RetryAfterError{Duration: wait}
		default:
			return nil, err
		}
	},
		backoff.WithBackOff(delays),
		backoff.WithMaxTries(uint(c.config.MaxTries)),
		backoff.WithMaxElapsedTime(c.config.MaxElapsed),
		backoff.WithNotify(func(_ error, delay time.Duration) {
			if c.config.OnRetry != nil {
				c.config.OnRetry(cause, delay)
			}
		}),
	)

	switch {
	case err == nil:
		return vectors, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("request embeddings: %w", ctx.Err())
	default:
		return nil, fmt.Errorf("request embeddings: %w", cause)
	}
}

func retryable(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}

	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Temporary()
	}

	return errors.Is(err, ErrUnreachable)
}

// try sends the request once. The duration is what the server asks to wait before the next try, zero if it does not.
func (c *Client) try(ctx context.Context, payload []byte, inputs int) ([][]float32, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(payload))
	if err != nil {
		return nil, 0, &ConfigError{Field: "BaseURL", Rule: "makes no request"}
	}

	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")

	if c.config.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}

	res, err := c.http.Do(req)
	if err != nil {
		return nil, 0, unreachable(err)
	}

	defer func() { _ = res.Body.Close() }() // Nothing is left to lose by then.

	if res.StatusCode != http.StatusOK {
		return nil, retryAfter(res.Header), &StatusError{Code: res.StatusCode}
	}

	b, err := io.ReadAll(io.LimitReader(res.Body, c.config.MaxResponseBytes+1))
	if err != nil {
		return nil, 0, unreachable(err)
	}

	if int64(len(b)) > c.config.MaxResponseBytes {
		return nil, 0, malformed("larger than the limit")
	}

	vectors, err := decode(b, inputs)

	return vectors, 0, err
}

// unreachable says of a transport's failure what can be told: that time ran out, or the failed step of the network or
// of TLS. Other causes are left out, as some quote bytes of the answer.
func unreachable(err error) error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("%w: timeout", ErrUnreachable)
	}

	if step, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%w: %w", ErrUnreachable, step)
	}

	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w: %w", ErrUnreachable, certificate)
	}

	return fmt.Errorf("%w: transport failed", ErrUnreachable)
}

// decode puts the vectors in the order of the input, whatever their order in the answer.
func decode(b []byte, inputs int) ([][]float32, error) {
	var body responseBody
	if err := json.Unmarshal(b, &body); err != nil {
		return nil, malformed("not the JSON of the API")
	}

	if len(body.Data) != inputs {
		return nil, malformed(fmt.Sprintf("%d vectors for %d texts", len(body.Data), inputs))
	}

	vectors := make([][]float32, inputs)

	for _, d := range body.Data {
		if d.Index == nil || *d.Index < 0 || *d.Index >= inputs || vectors[*d.Index] != nil {
			return nil, malformed("positions do not match the texts")
		}

		if len(d.Embedding) == 0 {
			return nil, malformed("a vector is missing")
		}

		vectors[*d.Index] = d.Embedding
	}

	return vectors, nil
}
