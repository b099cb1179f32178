package natslog

import (
	"context"
	"errors"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	apiMsgDelete = "$JS.API.STREAM.MSG.DELETE."

	// codeNoSequence and codeDeleteFailed are codes of the server's errors for which the
	// client has no name. The second stands for all that a deletion can fail from.
	codeNoSequence   = jetstream.ErrorCode(10043)
	codeDeleteFailed = jetstream.ErrorCode(10057)
)

type deleteRequest struct {
	Seq     uint64 `json:"seq"`
	NoErase bool   `json:"no_erase,omitzero"`
}

type deleteAnswer struct {
	Success bool                `json:"success"`
	Error   *jetstream.APIError `json:"error"`
}

// secureDelete removes one message and its bytes. Absent is success.
//
// A server that cannot write a block anew has taken the message out of its index by
// then: it would be absent the next time, with its bytes there. So that is a write
// error of the server, which refuses all writes until the next start, and the start
// finishes the deletion. What fails on a server elsewhere, or on another replica, is
// not known here after the first answer.
func (s *store) secureDelete(ctx context.Context, seq uint64) error {
	return s.remove(ctx, deleteRequest{Seq: seq})
}

// plainDelete removes one message and leaves its bytes. Absent is success.
func (s *store) plainDelete(ctx context.Context, seq uint64) error {
	return s.remove(ctx, deleteRequest{Seq: seq, NoErase: true})
}

// remove asks by itself, because what the client makes of an error has lost its code.
func (s *store) remove(ctx context.Context, req deleteRequest) error {
	if err := s.refuse(); err != nil {
		return err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var answer deleteAnswer
	err := s.request(ctx, apiMsgDelete, req, &answer)
	switch {
	case err != nil:
		return err
	case answer.Success:
		return nil
	case answer.Error == nil:
		return errSilence
	case isAbsent(answer.Error):
		if _, err := s.ask(ctx, leaderRequest{Seq: req.Seq}); !errors.Is(err, jetstream.ErrMsgNotFound) {
			return errors.Join(answer.Error, err)
		}
		return nil
	case s.server != nil && answer.Error.ErrorCode == codeDeleteFailed && !req.NoErase:
		return s.server.fail(&WriteError{Stream: s.name})
	}
	return answer.Error
}

// isAbsent says whether a deletion failed because there is nothing to delete.
func isAbsent(err *jetstream.APIError) bool {
	return err.ErrorCode == codeNoSequence || err.ErrorCode == codeDeleteFailed &&
		(err.Description == server.ErrStoreMsgNotFound.Error() || err.Description == server.ErrStoreEOF.Error())
}
