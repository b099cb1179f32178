package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/query"
)

type exportCmd struct {
	Of     exportOfCmd     `cmd:"" default:"withargs" help:"Hand out all that is kept of a subject (the default)."`
	Verify exportVerifyCmd `cmd:"" help:"Say whether a file is what was signed."`
}

type exportOfCmd struct {
	Subject string `arg:"" help:"Whom or what it is about."`
	AsOf    string `help:"Without what happened later, RFC 3339 with an offset." placeholder:"TIME"`
	Out     string `help:"File to write; without it standard output." placeholder:"FILE"`
}

// errVoid says that an export has no manifest.
var errVoid = errors.New("the export is void: it has no manifest")

// Run writes an export. A file is there in full or not at all.
func (k exportOfCmd) Run(ctx context.Context, c *cli, t terminal) error {
	path := "/v1/subjects/" + pathSegment(k.Subject) + "/export"
	if k.AsOf != "" {
		path += "?" + url.Values{"as_of": {k.AsOf}}.Encode()
	}
	return c.reading(ctx, t, func(s *session) error {
		if k.Out == "" {
			return export(ctx, s, path, t.out)
		}
		f, err := os.CreateTemp(filepath.Dir(k.Out), filepath.Base(k.Out)+".part-*") // of mode 0600
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		err = export(ctx, s, path, f)
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), k.Out)
		}
		if err != nil {
			return errors.Join(err, os.Remove(f.Name()))
		}
		return say(t, "exported to %s\n", k.Out)
	})
}

func export(ctx context.Context, s *session, path string, w io.Writer) error {
	out := &lastLine{w: w}
	if err := s.Stream(ctx, client.Call{Method: http.MethodGet, Path: path}, out); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	var end query.ExportError
	if err := json.Unmarshal(out.line, &end); err != nil || end.Type != query.LineManifest {
		if end.Type == query.LineError {
			return fmt.Errorf("export: %s", end.Detail)
		}
		return errVoid
	}
	return nil
}

// lastLine passes on what is written and keeps the last line.
type lastLine struct {
	w     io.Writer
	line  []byte
	ended bool
}

// Write implements io.Writer.
func (l *lastLine) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if l.ended {
			l.line, l.ended = l.line[:0], false
		}
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			l.line = append(l.line, rest...)
			break
		}
		l.line, l.ended = append(l.line, rest[:i]...), true
		rest = rest[i+1:]
	}
	n, err := l.w.Write(b)
	if err != nil {
		return n, fmt.Errorf("write export: %w", err)
	}
	return n, nil
}

type exportVerifyCmd struct {
	File string `arg:"" help:"The export; - is standard input."`
	Key  string `help:"File with the public key; without it the data directory's." placeholder:"FILE"`
}

// Run verifies an export, wherever it is: all it needs is the public key.
func (k exportVerifyCmd) Run(c *cli, t terminal) error {
	path := k.Key
	if path == "" {
		path = filepath.Join(c.Data, "ledger.pub")
	}
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("%w: public key: %w", errMisuse, err)
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(string(b)))
	if err != nil {
		return fmt.Errorf("%w: %s is no public key of a ledger", errMisuse, path)
	}
	in := t.in
	if k.File != "-" {
		f, err := os.Open(filepath.Clean(k.File))
		if err != nil {
			return fmt.Errorf("%w: %w", errMisuse, err)
		}
		defer f.Close() //nolint:errcheck // It was only read.
		in = f
	}
	m, err := query.VerifyExport(in, func(signed []byte) (string, error) {
		n, err := note.Open(signed, note.VerifierList(verifier))
		if err != nil {
			return "", fmt.Errorf("open note: %w", err)
		}
		return n.Text, nil
	})
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if c.JSON {
		return printJSON(t, m)
	}
	return say(t, "export %s of %s is what %s signed: %d episodes, %d facts, up to %d\n",
		m.Export, m.ExportedAt.Format("2006-01-02 15:04:05Z07:00"), m.Key, m.Counts[query.LineEpisode], m.Counts[query.LineFact], m.Position)
}
