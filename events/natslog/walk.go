package natslog

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	// leaderPage is how many messages are collected from the leader at a time.
	leaderPage = 256
	// leaderRequests is how many requests to the leader are under way at once.
	leaderRequests = 16
)

// collect returns the next messages at or above seq on a subject, which may
// have wildcards; none if there are none. Nothing that was acknowledged before
// the call is missing.
func (s *store) collect(ctx context.Context, subject string, seq uint64) ([]*jetstream.RawStreamMsg, error) {
	return s.collectUpTo(ctx, subject, seq, pageMessages)
}

// collectUpTo is collect of at most size messages.
func (s *store) collectUpTo(ctx context.Context, subject string, seq uint64, size int) ([]*jetstream.RawStreamMsg, error) {
	if !s.replicated {
		return s.page(ctx, subject, seq, size)
	}
	var page []*jetstream.RawStreamMsg
	for len(page) < min(size, leaderPage) {
		m, err := s.next(ctx, subject, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		page = append(page, m)
		seq = m.Sequence + 1
	}
	return page, nil
}

// lastOfEach returns the last message on each of any number of exact subjects,
// those without one left out. Nothing that was acknowledged before the call is
// missing.
func (s *store) lastOfEach(ctx context.Context, subjects []string) ([]*jetstream.RawStreamMsg, error) {
	all := make([]*jetstream.RawStreamMsg, 0, len(subjects))
	if !s.replicated {
		for start := 0; start < len(subjects); start += pageMessages {
			some, err := s.lastOf(ctx, subjects[start:min(start+pageMessages, len(subjects))])
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	found := make([]*jetstream.RawStreamMsg, len(subjects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(leaderRequests)
	for i, subject := range subjects {
		group.Go(func() error {
			m, err := s.last(ctx, subject)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			found[i] = m
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // callers translate.
	}
	for _, m := range found {
		if m != nil {
			all = append(all, m)
		}
	}
	return all, nil
}

// erase removes all messages on an exact subject below a sequence, oldest
// first, with their bytes: what is read meanwhile is the newest or nothing.
func (s *store) erase(ctx context.Context, subject string, below uint64) error {
	if err := s.refuse(); err != nil {
		return err // what is absent may be so because its deletion failed
	}
	for {
		m, err := s.next(ctx, subject, 1)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil
		case err != nil:
			return err
		case m.Sequence >= below:
			return nil
		}
		if err := s.secureDelete(ctx, m.Sequence); err != nil {
			return err
		}
	}
}
