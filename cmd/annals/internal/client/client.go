// Package client calls the HTTP door, over the network or within the process.
// It is what the command line uses, so that a command does the same whether a
// server runs or not.
//
// Guarantees: an answer that is no success is a *ProblemError with the door's code
// and field. Not guaranteed: retries; a command is run once.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// maxAnswer bounds an answer in bytes.
const maxAnswer = 256 << 20

// ErrUnreachable says that no server answered.
var ErrUnreachable = errors.New("server does not answer")

// ProblemError is an error that the door returned (RFC 9457).
type ProblemError struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Field  string `json:"field"`
}

// Error names the code, the field and the rule.
func (p *ProblemError) Error() string {
	if p.Field != "" {
		return fmt.Sprintf("%d %s: %s: %s", p.Status, p.Code, p.Field, p.Detail)
	}
	return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail)
}

// Client calls one server with one credential.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New makes a client of a server at addr, a host and port or a URL.
func New(addr, token string) *Client {
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	return &Client{base: strings.TrimRight(addr, "/"), token: token, http: &http.Client{Timeout: time.Minute}}
}

// InProcess makes a client of a handler in this process.
func InProcess(h http.Handler, token string) *Client {
	return &Client{base: "http://annals.internal", token: token, http: &http.Client{Transport: handlerTransport{h}}}
}

// Call is one request.
type Call struct {
	Method, Path string
	// Key is the idempotency key, "" for none.
	Key string
	// Body is encoded as JSON, nil for none; Out is decoded into, nil for none.
	Body, Out any
}

// Do makes the call.
func (c *Client) Do(ctx context.Context, call Call) error {
	res, err := c.send(ctx, c.http, call)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // It was only read.
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if res.StatusCode/100 != 2 {
		return problemOf(res.StatusCode, b)
	}
	if call.Out == nil {
		return nil
	}
	if err := json.Unmarshal(b, call.Out); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	return nil
}

// Stream makes the call and copies the answer to w as it comes, however long it is
// and takes. What was copied of an answer that is cut off stays.
func (c *Client) Stream(ctx context.Context, call Call, w io.Writer) error {
	unhurried := *c.http
	unhurried.Timeout = 0
	res, err := c.send(ctx, &unhurried, call)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // It was only read.
	if res.StatusCode/100 != 2 {
		b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return problemOf(res.StatusCode, b)
	}
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, by *http.Client, call Call) (*http.Response, error) {
	var body io.Reader
	if call.Body != nil {
		b, err := json.Marshal(call.Body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, call.Method, c.base+call.Path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if call.Key != "" {
		req.Header.Set("Idempotency-Key", call.Key)
	}
	res, err := by.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return res, nil
}

func problemOf(status int, b []byte) error {
	p := &ProblemError{Status: status}
	if err := json.Unmarshal(b, p); err != nil || p.Code == "" {
		p.Code, p.Detail = "not_annals", "the answer is not from an Annals server"
	}
	return p
}

// handlerTransport serves a request by calling a handler, whose answer is read
// while it is written.
type handlerTransport struct{ h http.Handler }

func (t handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	rec := &recorder{header: http.Header{}, status: http.StatusOK, body: w, begun: make(chan struct{})}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	r.RequestURI = r.URL.RequestURI()
	go func() {
		t.h.ServeHTTP(rec, r)
		_ = r.Body.Close() // it was only read
		rec.begin()
		_ = w.Close() // a pipe's never fails
	}()
	<-rec.begun
	return &http.Response{
		StatusCode: rec.status, Status: http.StatusText(rec.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: rec.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

type recorder struct {
	header http.Header
	// sent are the headers as they were when the answer began.
	sent   http.Header
	body   *io.PipeWriter
	status int
	begun  chan struct{}
	wrote  bool
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status = status
		r.begin()
	}
}

// begin lets the reader have status and headers, once.
func (r *recorder) begin() {
	if !r.wrote {
		r.wrote, r.sent = true, r.header.Clone()
		close(r.begun)
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.begin()
	n, err := r.body.Write(b)
	if err != nil {
		return n, fmt.Errorf("write answer: %w", err)
	}
	return n, nil
}
