package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/annals-memory/annals/events/disk"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// ErrRestoring says that a restore of the directory has not ended. What is in it
// may hold what was forgotten.
var ErrRestoring = errors.New("a restore of this directory was cut off, and what is in it must not be served: remove the directory and restore again")

// ErrNotEmpty says that a directory to restore into has something in it.
var ErrNotEmpty = errors.New("the directory to restore into is not empty")

const (
	// restoringFile is there from before the first byte of a restore until after
	// its last.
	restoringFile = "restoring"

	ledgerKey = "ledger.key"
	ledgerPub = "ledger.pub"
)

// RestoreOptions say what is restored and to where. Data, Inputs and Root are
// required.
type RestoreOptions struct {
	Data   string
	Inputs backup.Inputs
	// Root is the file with the root key, Signer the one with the ledger's private
	// key; without it the ledger gets a new one.
	Root, Signer string
	// NATS is the URL of an external server without streams, "" for one inside.
	NATS     string
	Replicas int
	// Logger is told how far it is.
	Logger *slog.Logger
}

// refuseRestoring refuses a directory whose restore has not ended.
func refuseRestoring(data string) error {
	_, err := os.Stat(filepath.Join(data, restoringFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look for a restore: %w", err)
	}
	return ErrRestoring
}

// Restore puts a memory back into a new directory. Until it has returned without
// an error no node opens the directory. Its errors are those of the artefacts,
// ErrNotEmpty, and those of the root key.
func Restore(ctx context.Context, o RestoreOptions) (_ backup.Report, err error) {
	root, err := os.ReadFile(filepath.Clean(o.Root))
	if err != nil {
		return backup.Report{}, fmt.Errorf("root key: %w", err)
	}
	if _, err := seal.OpenFileRoot(o.Root, seal.FileRootOptions{}); err != nil {
		return backup.Report{}, fmt.Errorf("root key: %w", err)
	}
	var signer []byte
	if o.Signer != "" {
		if signer, err = os.ReadFile(filepath.Clean(o.Signer)); err != nil {
			return backup.Report{}, fmt.Errorf("ledger's key: %w", err)
		}
		public, err := backup.PublicOf(string(signer))
		if err != nil {
			return backup.Report{}, fmt.Errorf("ledger's key: %w", err)
		}
		if o.Inputs.Public != "" && o.Inputs.Public != public {
			return backup.Report{}, fmt.Errorf("ledger's key: %w: it is not the key that is trusted", backup.ErrMixed)
		}
		o.Inputs.Public = public
	}
	plan, err := backup.NewPlan(o.Inputs)
	if err != nil {
		return backup.Report{}, fmt.Errorf("restore: %w", err)
	}
	if err := beginRestore(o.Data); err != nil {
		return backup.Report{}, err
	}
	held, err := lock(o.Data)
	if err != nil {
		return backup.Report{}, err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	files := map[string][]byte{rootFile: root}
	if signer != nil {
		files[ledgerKey], files[ledgerPub] = signer, []byte(plan.Ledger.Public+"\n")
	}
	for name, b := range files {
		if err := writeDurably(filepath.Join(o.Data, name), b); err != nil {
			return backup.Report{}, err
		}
	}
	report, err := putBack(ctx, o, plan)
	if err != nil {
		return backup.Report{}, err
	}
	if err := keepPlace(o.Data, placeOf(o.NATS)); err != nil {
		return backup.Report{}, fmt.Errorf("note the log's place: %w", err)
	}
	return report, endRestore(o.Data)
}

// beginRestore makes the directory and marks it.
func beginRestore(data string) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	there, err := os.ReadDir(data)
	if err != nil {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	if len(there) > 0 {
		return fmt.Errorf("%w: %s", ErrNotEmpty, data)
	}
	if err := writeDurably(filepath.Join(data, restoringFile), []byte("A restore has begun and not ended. Remove this directory and restore again.\n")); err != nil {
		return err
	}
	return disk.SyncDir(data)
}

// endRestore takes the mark away once everything else is on the disk.
func endRestore(data string) error {
	if err := disk.SyncDir(data); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(data, restoringFile)); err != nil {
		return fmt.Errorf("end restore: %w", err)
	}
	return disk.SyncDir(data)
}

func writeDurably(path string, b []byte) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// target puts parts back through a connection.
type target struct {
	conn   *nats.Conn
	config natslog.Config
}

// Restore implements backup.Target.
func (t target) Restore(ctx context.Context, part string, snapshot io.Reader) error {
	if err := natslog.Restore(ctx, t.conn, t.config, part, snapshot); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// putBack puts the parts on a server and applies the ledger.
func putBack(ctx context.Context, o RestoreOptions, plan *backup.Plan) (_ backup.Report, err error) {
	// A node that only has a log; it closes what was opened.
	n := &Node{data: o.Data, logger: o.Logger, ended: make(chan struct{})}
	defer func() { err = errors.Join(err, n.closeLog()) }()
	if o.NATS != "" {
		n.conn, err = natslog.Connect(ctx, o.NATS, natslog.ConnectOptions{Logger: o.Logger})
	} else {
		n.server, err = natslog.StartServer(ctx, natslog.Options{Dir: filepath.Join(o.Data, logDir), Logger: o.Logger})
		if err == nil {
			n.conn, err = n.server.Connect(ctx)
		}
	}
	if err != nil {
		return backup.Report{}, fmt.Errorf("start the log: %w", err)
	}
	c := natslog.Config{Replicas: max(1, o.Replicas), CreateStreams: true}
	if err := plan.PutBack(ctx, target{n.conn, c}); err != nil {
		return backup.Report{}, fmt.Errorf("restore: %w", err)
	}
	streams, err := natslog.Open(ctx, n.conn, c) // makes the quarantine
	if err != nil {
		return backup.Report{}, fmt.Errorf("open the log: %w", err)
	}
	root, err := seal.OpenFileRoot(filepath.Join(o.Data, rootFile), seal.FileRootOptions{})
	if err != nil {
		return backup.Report{}, fmt.Errorf("root key: %w", err)
	}
	keys, err := seal.New(streams.Keys(), root, seal.Options{Now: time.Now})
	if err != nil {
		return backup.Report{}, fmt.Errorf("open keys: %w", err)
	}
	report, err := plan.Apply(ctx, backup.Restored{
		Log: streams.Log(), Keys: keys, Eraser: streams.Eraser(), Now: time.Now, NewID: newID,
		Ledger: ledger.Config{
			Log: streams.Log(), Keys: streams.Keys(), Store: streams.Ledger(), Dir: o.Data, Rand: rand.Reader, Logger: o.Logger,
		},
	}, func(done, total uint64) {
		o.Logger.LogAttrs(ctx, slog.LevelInfo, "comparing the log with its ledger", slog.Uint64("position", done), slog.Uint64("head", total))
	})
	if err != nil {
		return backup.Report{}, fmt.Errorf("restore: %w", err)
	}
	return report, nil
}
