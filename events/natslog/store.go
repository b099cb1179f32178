package natslog

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

const (
	pageMessages = 1000
	firstPage    = 32
	pageBytes    = 8 << 20

	headerNumPending = "Nats-Num-Pending"
	apiMsgGet        = "$JS.API.STREAM.MSG.GET."
)

// errSilence is an answer that ended before it was complete: the client takes
// a timeout within a batch for its end.
var errSilence = errors.New("answer incomplete")

// store is one stream and the requests that all its users share. Not found is
// always jetstream.ErrMsgNotFound.
type store struct {
	nc         *nats.Conn
	js         jetstream.JetStream
	stream     jetstream.Stream
	name       string
	identity   string
	replicated bool
	timeout    time.Duration
	server     *Server // nil if it runs elsewhere
}

// bound gives ctx a deadline if it has none.
func (s *store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.timeout)
}

// last returns the last message on an exact subject, no older than the last
// acknowledged write. A direct get is answered by any replica, so with several
// the leader is asked.
func (s *store) last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if s.replicated {
		return s.ask(ctx, leaderRequest{LastFor: subject})
	}
	return s.stream.GetLastMsgForSubject(ctx, subject) //nolint:wrapcheck // callers translate.
}

// next returns the first message at or above seq on a subject, which may have
// wildcards, from the leader.
func (s *store) next(ctx context.Context, subject string, seq uint64) (*jetstream.RawStreamMsg, error) {
	return s.ask(ctx, leaderRequest{Seq: max(seq, 1), NextFor: subject})
}

// at returns the message at a sequence, from the leader only if a replica does
// not have it.
func (s *store) at(ctx context.Context, seq uint64) (*jetstream.RawStreamMsg, error) {
	m, err := s.stream.GetMsg(ctx, seq)
	if s.replicated && errors.Is(err, jetstream.ErrMsgNotFound) {
		return s.ask(ctx, leaderRequest{Seq: seq})
	}
	return m, err //nolint:wrapcheck // callers translate.
}

// page returns the messages at or above seq on a subject, which may have
// wildcards: up to size of them, or 8 MB and one more. With several replicas it
// may be old.
func (s *store) page(ctx context.Context, subject string, seq uint64, size int) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	it, err := jetstreamext.GetBatch(ctx, s.js, s.name, size,
		jetstreamext.GetBatchSeq(max(seq, 1)), jetstreamext.GetBatchSubject(subject),
		jetstreamext.GetBatchMaxBytes(pageBytes))
	if err != nil {
		return nil, err //nolint:wrapcheck // callers translate.
	}
	var page []*jetstream.RawStreamMsg
	for m, err := range it {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		page = append(page, m)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() //nolint:wrapcheck // callers translate.
	}
	if len(page) == 0 {
		return nil, errSilence
	}
	return page, nil
}

// lastOf returns the last message on each of up to 1,000 exact subjects, in no
// particular order. With several replicas it may be old.
func (s *store) lastOf(ctx context.Context, subjects []string) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	it, err := jetstreamext.GetLastMsgsFor(ctx, s.js, s.name, subjects)
	if err != nil {
		return nil, err //nolint:wrapcheck // callers translate.
	}
	var all []*jetstream.RawStreamMsg
	for m, err := range it {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err() //nolint:wrapcheck // callers translate.
	case len(all) == 0 || pendingBehind(all) > 0:
		return nil, errSilence
	}
	return all, nil
}

func pendingBehind(page []*jetstream.RawStreamMsg) uint64 {
	n, err := strconv.ParseUint(page[len(page)-1].Header.Get(headerNumPending), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

type leaderRequest struct {
	Seq     uint64 `json:"seq,omitzero"`
	LastFor string `json:"last_by_subj,omitzero"`
	NextFor string `json:"next_by_subj,omitzero"`
}

type leaderAnswer struct {
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
	Error *jetstream.APIError `json:"error"`
}

// request sends a request of JetStream's interface about the stream, and reads the answer.
func (s *store) request(ctx context.Context, api string, req, answer any) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err //nolint:wrapcheck // callers translate.
	}
	resp, err := s.nc.RequestWithContext(ctx, api+s.name, body)
	if err != nil {
		return err //nolint:wrapcheck // callers translate.
	}
	if err := json.Unmarshal(resp.Data, answer); err != nil {
		return errSilence
	}
	return nil
}

// ask reads one message from the stream's leader.
func (s *store) ask(ctx context.Context, req leaderRequest) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var answer leaderAnswer
	if err := s.request(ctx, apiMsgGet, req, &answer); err != nil {
		return nil, err
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Message == nil:
		return nil, errSilence
	}
	m := answer.Message
	var header nats.Header
	if len(m.Header) > 0 {
		var err error
		if header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
			return nil, errSilence
		}
	}
	return &jetstream.RawStreamMsg{
		Subject: m.Subject, Sequence: m.Seq, Header: header, Data: m.Data, Time: m.Time,
	}, nil
}
