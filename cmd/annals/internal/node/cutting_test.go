package node_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// door is between a node and its NATS server, and lets so many writes through:
// appends of all streams, and deletions. Every other gets the answer that nobody is
// there to take it. What reads goes through.
type door struct {
	t      *testing.T
	server string
	l      net.Listener
	work   sync.WaitGroup

	mu    sync.Mutex
	armed bool
	left  int
	conns map[net.Conn]bool
	ended bool
}

func startDoor(t *testing.T, server string) *door {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, server: u.Host, l: l, conns: map[net.Conn]bool{}}
	d.work.Go(d.accept)
	t.Cleanup(func() {
		d.mu.Lock()
		d.ended = true
		for c := range d.conns {
			_ = c.Close()
		}
		d.mu.Unlock()
		_ = l.Close()
		d.work.Wait()
	})
	return d
}

func (d *door) url() string { return "nats://" + d.l.Addr().String() }

// after lets n writes through from now on.
func (d *door) after(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.left = true, n
}

// open lets everything through, and tells whether something was refused.
func (d *door) open() (refused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
	return d.left < 0
}

// refused says whether a write was refused since.
func (d *door) refused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left < 0
}

// admits counts one write.
func (d *door) admits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return true
	}
	if d.left <= 0 {
		d.left = -1
		return false
	}
	d.left--
	return true
}

// keep closes a connection when the door goes.
func (d *door) keep(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns[c] = true
	return !d.ended
}

func (d *door) accept() {
	for {
		client, err := d.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", d.server) //nolint:noctx // It ends with the door.
		if err != nil {
			_ = client.Close()
			continue
		}
		if !d.keep(client) || !d.keep(server) {
			_, _ = client.Close(), server.Close()
			return
		}
		p := &passage{door: d, client: client, server: server, subs: map[string]string{}}
		d.work.Go(func() { p.end(p.requests()) })
		d.work.Go(func() { p.end(p.answers()) })
	}
}

// passage is one connection.
type passage struct {
	*door

	client, server net.Conn

	// writing is held while something is written to the client.
	writing sync.Mutex
	subsMu  sync.Mutex
	subs    map[string]string // the ids of the client's inboxes
}

func (p *passage) end(err error) {
	_, _ = p.client.Close(), p.server.Close()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) {
		if _, ok := errors.AsType[*net.OpError](err); !ok {
			p.t.Errorf("door: %v", err)
		}
	}
}

// answers passes what the server says, line by line with what belongs to it, so
// that an answer of the door's own is not put into the midst.
func (p *passage) answers() error {
	r := bufio.NewReaderSize(p.server, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err
		}
		message := line
		if f := strings.Fields(string(line)); len(f) > 3 && (f[0] == "MSG" || f[0] == "HMSG") {
			if message, err = body(r, line, f[len(f)-1]); err != nil {
				return err
			}
		}
		if err := p.tell(message); err != nil {
			return err
		}
	}
}

func (p *passage) tell(message []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.client.Write(message)
	return err
}

func body(r io.Reader, line []byte, size string) ([]byte, error) {
	n, err := strconv.Atoi(size)
	if err != nil {
		return nil, fmt.Errorf("a size: %w", err)
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return append(line, b...), nil
}

// requests passes what the client says, but for the writes that are refused.
func (p *passage) requests() error {
	r := bufio.NewReaderSize(p.client, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err
		}
		message := line
		f := strings.Fields(string(line))
		if len(f) > 2 && strings.EqualFold(f[0], "SUB") {
			p.subsMu.Lock()
			p.subs[f[1]] = f[len(f)-1]
			p.subsMu.Unlock()
		}
		if len(f) > 2 && (strings.EqualFold(f[0], "PUB") || strings.EqualFold(f[0], "HPUB")) {
			if message, err = body(r, line, f[len(f)-1]); err != nil {
				return err
			}
			if writes(f[1]) && !p.admits() {
				if err := p.refuse(f); err != nil {
					return err
				}
				continue
			}
		}
		if _, err := p.server.Write(message); err != nil {
			return err
		}
	}
}

// writes says whether a message on a subject changes a stream.
func writes(subject string) bool {
	return strings.HasPrefix(subject, "annals") || strings.HasPrefix(subject, "$JS.API.STREAM.MSG.DELETE.")
}

// refuse answers as a server does that has nobody for a request.
func (p *passage) refuse(f []string) error {
	args := 3 // PUB subject reply size
	if strings.EqualFold(f[0], "HPUB") {
		args = 4
	}
	if len(f) <= args {
		return nil // nobody waits for an answer
	}
	reply := f[2]
	p.subsMu.Lock()
	sid, known := p.subs[reply]
	for subject, id := range p.subs {
		if before, ok := strings.CutSuffix(subject, "*"); ok && strings.HasPrefix(reply, before) {
			sid, known = id, true
		}
	}
	p.subsMu.Unlock()
	if !known {
		return fmt.Errorf("no inbox for %s", reply)
	}
	const header = "NATS/1.0 503\r\n\r\n"
	return p.tell(fmt.Appendf(nil, "HMSG %s %s %d %d\r\n%s\r\n", reply, sid, len(header), len(header), header))
}
