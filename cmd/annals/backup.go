package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/tombstones/backup"
)

type backupCmd struct {
	Take   backupTakeCmd   `cmd:"" default:"withargs" help:"Take artefacts (the default)."`
	Verify backupVerifyCmd `cmd:"" help:"Say whether a file is the artefact that was signed, and of what."`
	Prune  backupPruneCmd  `cmd:"" help:"Remove artefacts that were kept for long enough, never the newest of a kind."`
}

type backupTakeCmd struct {
	Out  string `arg:"" help:"Directory for the artefacts; it is made if it is not there." type:"path"`
	Only string `help:"Take this one alone: data, keys or ledger." enum:",data,keys,ledger" default:""`
}

// Run takes the artefacts one after the other: keys are then as new as the data,
// and the ledger covers both.
func (k backupTakeCmd) Run(ctx context.Context, c *cli, t terminal) error {
	kinds := backup.Kinds()
	if k.Only != "" {
		kinds = []backup.Kind{backup.Kind(k.Only)}
	}
	if err := os.MkdirAll(k.Out, 0o700); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return c.reading(ctx, t, func(s *session) error {
		var taken []backup.Manifest
		for _, kind := range kinds {
			path, m, err := take(ctx, s, k.Out, kind)
			if err != nil {
				return fmt.Errorf("backup of %s: %w", kind, err)
			}
			taken = append(taken, m)
			if !c.JSON {
				if err := say(t, "%s: %d messages up to %d, %d bytes\n", path, m.Messages, m.Last, m.Bytes); err != nil {
					return err
				}
			}
		}
		if c.JSON {
			return printJSON(t, taken)
		}
		_, _ = fmt.Fprintf(t.err, "The root key and ledger.key are in none of these files, on purpose: without the root key\n"+ // a note is no reason to fail
			"nothing of a backup can be read. Keep copies of %s and %s elsewhere,\n"+
			"and keep data, keys and ledger in three places.\n", filepath.Join(c.Data, "root.key"), filepath.Join(c.Data, "ledger.key"))
		return nil
	})
}

// take writes one artefact. A file is there in full and verified, or not at all.
func take(ctx context.Context, s *session, out string, kind backup.Kind) (path string, m backup.Manifest, err error) {
	f, err := os.CreateTemp(out, string(kind)+".part-*") // of mode 0600
	if err != nil {
		return "", m, fmt.Errorf("make file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	err = s.Stream(ctx, client.Call{Method: http.MethodGet, Path: "/v1/backups/" + string(kind)}, w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", m, fmt.Errorf("take: %w", err)
	}
	a, err := backup.Open(f.Name(), kind)
	if err != nil {
		return "", m, fmt.Errorf("verify: %w", err)
	}
	path = filepath.Join(out, backup.FileName(a.Manifest))
	if err := os.Rename(f.Name(), path); err != nil {
		return "", m, fmt.Errorf("take: %w", err)
	}
	return path, a.Manifest, nil
}

type backupVerifyCmd struct {
	Files []string `arg:"" help:"Artefacts."`
}

// Run verifies artefacts, wherever they are. They vouch for themselves: whose they
// are is told by the key.
func (k backupVerifyCmd) Run(c *cli, t terminal) error {
	for _, file := range k.Files {
		a, err := backup.Open(file, "")
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if c.JSON {
			if err := printJSON(t, a.Manifest); err != nil {
				return err
			}
			continue
		}
		if err := say(t, "%s: %s of log %s in epoch %d, %d messages up to %d, made at %s, signed by %s\n", file,
			a.Kind, a.Log, a.Epoch, a.Messages, a.Last, a.MadeAt.Format(time.RFC3339), a.Public); err != nil {
			return err
		}
	}
	return nil
}

type backupPruneCmd struct {
	Out        string `arg:"" help:"Directory with artefacts." type:"existingdir"`
	DataKeep   string `help:"How long data is kept: a number and h, d, w or y." default:"90d" placeholder:"90d"`
	KeysKeep   string `help:"How long keys are kept. What was forgotten can be read with older keys, the root key and older data for this long." default:"30d" placeholder:"30d"`
	LedgerKeep string `help:"How long ledgers are kept." default:"7y" placeholder:"7y"`
	DryRun     bool   `help:"Only say what would be removed."`
}

// Run removes artefacts that are older than their kind is kept.
func (k backupPruneCmd) Run(c *cli, t terminal) error {
	keep := map[backup.Kind]time.Duration{}
	for kind, text := range map[backup.Kind]string{backup.KindData: k.DataKeep, backup.KindKeys: k.KeysKeep, backup.KindLedger: k.LedgerKeep} {
		d, ok := parseKeep(text)
		if !ok {
			return fmt.Errorf("%w: --%s-keep takes a whole number and h, d, w or y", errMisuse, kind)
		}
		keep[kind] = d
	}
	old, err := backup.Old(k.Out, keep, time.Now())
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	if !k.DryRun {
		if err := backup.Remove(k.Out, old); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	if c.JSON {
		return printJSON(t, map[string]any{"removed": append([]string{}, old...), "dry_run": k.DryRun})
	}
	verb := "removed"
	if k.DryRun {
		verb = "would remove"
	}
	for _, name := range old {
		if err := say(t, "%s %s\n", verb, name); err != nil {
			return err
		}
	}
	return say(t, "%s %d artefacts\n", verb, len(old))
}

func parseKeep(s string) (time.Duration, bool) {
	const day = 24 * time.Hour
	if s == "" {
		return 0, false
	}
	units := map[byte]time.Duration{'h': time.Hour, 'd': day, 'w': 7 * day, 'y': 366 * day}
	unit, known := units[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 16)
	if err != nil || !known || n == 0 {
		return 0, false
	}
	const longest = 200
	if d := time.Duration(n) * unit; d/unit == time.Duration(n) && d > 0 && d <= longest*366*day {
		return d, true
	}
	return 0, false
}
