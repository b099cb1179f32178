package natslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

// The parts of a log that are copied and put back, each for itself. What waits
// in quarantine never is.
const (
	PartData   = "data"
	PartKeys   = "keys"
	PartLedger = "ledger"
)

// ErrIncomplete says that a snapshot was cut off, or that a stream was put back
// with other messages than its snapshot has. It is of no use.
var ErrIncomplete = errors.New("snapshot is incomplete")

const (
	apiSnapshot = "$JS.API.STREAM.SNAPSHOT."
	apiRestore  = "$JS.API.STREAM.RESTORE."
	// snapshotChunk is how many bytes are in a message of a snapshot: less than
	// the largest message of any server that is configured usually.
	snapshotChunk = 128 << 10
	// snapshotPatience is how long a snapshot, or what takes one, may be silent.
	snapshotPatience = time.Minute

	headerStatus = "Status"
	statusDone   = "204"
)

func streamOf(part string) (string, error) {
	switch part {
	case PartData:
		return streamEvents, nil
	case PartKeys:
		return streamKeys, nil
	case PartLedger:
		return streamLedger, nil
	}
	return "", fmt.Errorf("%w: part of a log", events.ErrBadToken)
}

type snapshotRequest struct {
	Deliver     string `json:"deliver_subject"`
	NoConsumers bool   `json:"no_consumers"`
	ChunkSize   int    `json:"chunk_size"`
}

type restoreRequest struct {
	Config jetstream.StreamConfig `json:"config"`
	State  struct{}               `json:"state"`
}

// snapshotAnswer is what the server answers to either, and to the last chunk.
type snapshotAnswer struct {
	Deliver string                 `json:"deliver_subject"`
	State   *jetstream.StreamState `json:"state"`
	Error   *jetstream.APIError    `json:"error"`
}

// Snapshot writes a snapshot of a part to w and tells where the part stood when
// it was begun: writers need not stop, and what they add is not in it. It has the
// live messages alone, with their positions and times; a message that is deleted
// meanwhile may be missing. A message that is damaged ends it, and so does a
// connection that is lost, which is ErrIncomplete. Whatever is said of it, what
// was written before an error is of no use.
func (s *Streams) Snapshot(ctx context.Context, part string, w io.Writer) (events.State, error) {
	name, err := streamOf(part)
	if err != nil {
		return events.State{}, err
	}
	st := s.byName[name]
	reconnects := st.nc.Stats().Reconnects
	chunks, err := st.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		return events.State{}, translate("take snapshot", err)
	}
	defer func() { _ = chunks.Unsubscribe() }() // the connection may be gone
	var answer snapshotAnswer
	err = st.call(ctx, apiSnapshot+name, snapshotRequest{Deliver: chunks.Subject, NoConsumers: true, ChunkSize: snapshotChunk}, &answer)
	if err == nil && answer.State == nil {
		err = errSilence
	}
	if err != nil {
		return events.State{}, translate("take snapshot", err)
	}
	if err := copyChunks(ctx, chunks, w); err != nil {
		return events.State{}, err
	}
	if st.nc.Stats().Reconnects != reconnects {
		return events.State{}, fmt.Errorf("read snapshot: %w: the connection was lost meanwhile", ErrIncomplete)
	}
	return events.State{
		Identity: st.identity, First: answer.State.FirstSeq, Last: answer.State.LastSeq,
		Messages: answer.State.Msgs, Bytes: answer.State.Bytes,
	}, nil
}

// copyChunks writes chunks until the empty one that ends them. All but the last are
// counted by the server, so that none is lost without being missed.
func copyChunks(ctx context.Context, chunks *nats.Subscription, w io.Writer) error {
	for n := 1; ; n++ {
		m, err := nextChunk(ctx, chunks)
		if err != nil {
			return translate("read snapshot", err)
		}
		if len(m.Data) == 0 {
			if status := m.Header.Get(headerStatus); status != "" && status != statusDone {
				return fmt.Errorf("read snapshot: %w", ErrIncomplete)
			}
			return nil
		}
		if m.Reply != "" && !strings.HasSuffix(m.Reply, fmt.Sprintf(".%d.%d", len(m.Data), n)) {
			return fmt.Errorf("read snapshot: %w", ErrIncomplete)
		}
		if _, err := w.Write(m.Data); err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
		if m.Reply == "" {
			continue // the last one, which nobody waits for
		}
		if err := m.Respond(nil); err != nil {
			return translate("read snapshot", err)
		}
	}
}

func nextChunk(ctx context.Context, chunks *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	return chunks.NextMsgWithContext(ctx) //nolint:wrapcheck // callers translate.
}

// call asks the server for something and decodes its answer.
func (s *store) call(ctx context.Context, subject string, request any, into *snapshotAnswer) error {
	return call(ctx, s.nc, s.timeout, subject, request, into)
}

func call(ctx context.Context, nc *nats.Conn, timeout time.Duration, subject string, request any, into *snapshotAnswer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err //nolint:wrapcheck // callers translate.
	}
	m, err := nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err //nolint:wrapcheck // callers translate.
	}
	return decodeAnswer(m.Data, into)
}

func decodeAnswer(b []byte, into *snapshotAnswer) error {
	if err := json.Unmarshal(b, into); err != nil {
		return errSilence
	}
	if into.Error != nil {
		return into.Error
	}
	return nil
}

// Restore puts a part back from its snapshot, with the positions and times of its
// messages, on a server that has no such part, which is ErrStreamSettings
// otherwise. The part is another log than it was: its identity differs. After any
// error there may be a part of it, and the server is of no use.
func Restore(ctx context.Context, nc *nats.Conn, c Config, part string, snapshot io.Reader) error {
	name, err := streamOf(part)
	if err != nil {
		return err
	}
	c = c.withDefaults()
	var answer snapshotAnswer
	for _, want := range settings(c) {
		if want.Name != name {
			continue
		}
		err := call(ctx, nc, c.Timeout, apiRestore+name, restoreRequest{Config: want}, &answer)
		if code(err) == jetstream.ErrorCode(jsStreamExists) {
			return fmt.Errorf("restore: %w", &StreamError{Stream: name, Setting: "name"})
		}
		if err == nil && answer.Deliver == "" {
			err = errSilence
		}
		if err != nil {
			return translate("restore", err)
		}
	}
	return sendChunks(ctx, nc, answer.Deliver, snapshot)
}

// jsStreamExists is what a server says whose stream would be replaced.
const jsStreamExists = 10130

func sendChunks(ctx context.Context, nc *nats.Conn, to string, snapshot io.Reader) error {
	chunk := make([]byte, snapshotChunk)
	for {
		n, err := io.ReadFull(snapshot, chunk)
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return fmt.Errorf("read snapshot: %w", err)
		}
		if n > 0 {
			if err := sendChunk(ctx, nc, to, chunk[:n]); err != nil {
				return err
			}
		}
		if end {
			return sendChunk(ctx, nc, to, nil)
		}
	}
}

// sendChunk sends one chunk, or the end if it is empty.
func sendChunk(ctx context.Context, nc *nats.Conn, to string, chunk []byte) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, to, chunk)
	if err != nil {
		return translate("restore", err)
	}
	if len(m.Data) == 0 && len(chunk) > 0 {
		return nil
	}
	var answer snapshotAnswer
	if err := decodeAnswer(m.Data, &answer); err != nil {
		return fmt.Errorf("restore: %w: %w", ErrIncomplete, translate("put back", err))
	}
	return nil
}
