package qdrantindex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// call does a request until it succeeds, is refused for good, or has been tried often enough. Every request may be done
// twice: writes are idempotent.
func (c *Client) call(ctx context.Context, what string, do func(ctx context.Context) error) error {
	backoff := c.cfg.Backoff
	var err error
	for attempt := range c.cfg.Attempts {
		if attempt > 0 {
			if err := wait(ctx, backoff); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			backoff = min(2*backoff, maxBackoff)
		}
		if err = c.try(ctx, do); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
		if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrNotCompleted) {
			break
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// try does a request once, and says what became of it without the server's words.
func (c *Client) try(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	err := do(ctx)
	if err == nil || errors.Is(err, ErrNotCompleted) {
		return err
	}
	if limited := (*qdrant.QdrantResourceExhaustedError)(nil); errors.As(err, &limited) {
		return ErrUnavailable // it says when to come again, and may say so in vain
	}
	code := status.Code(err)
	// What is too large once is too large again, so that exhaustion is none of these.
	if code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Aborted {
		return ErrUnavailable
	}
	return &CallError{Code: code}
}

// ask is [Client.call] for a request that is answered.
func ask[T any](ctx context.Context, c *Client, what string, do func(ctx context.Context) (T, error)) (answer T, err error) {
	err = c.call(ctx, what, func(ctx context.Context) (err error) {
		answer, err = do(ctx)
		return err
	})
	return answer, err
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // the caller says what it waited for.
	}
}

// write does a request that changes points. Only Completed says that it is applied.
func (c *Client) write(ctx context.Context, what string, do func(ctx context.Context) (*qdrant.UpdateResult, error)) error {
	return c.call(ctx, what, func(ctx context.Context) error {
		r, err := do(ctx)
		if err == nil && r.GetStatus() != qdrant.UpdateStatus_Completed {
			return ErrNotCompleted
		}
		return err
	})
}

// seconds is the time the server is given for a write, a bit less than we wait for it.
func (c *Client) seconds() *uint64 {
	return new(uint64(max(1, int64(c.cfg.Timeout/time.Second)-1)))
}

func strong() *qdrant.WriteOrdering {
	return &qdrant.WriteOrdering{Type: qdrant.WriteOrderingType_Strong}
}
