// Command annals is the memory of record for AI agents: the server, and the
// commands that talk to it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/tombstones/ledger"
	"github.com/annals-memory/annals/tombstones/retention"
)

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitMisuse   = 2
	exitNotReady = 3
)

type cli struct {
	Data    string `help:"Data directory." default:"./annals-data" env:"ANNALS_DATA" placeholder:"DIR"`
	Addr    string `help:"Address of a server; without it the one on the data directory, or the directory itself." env:"ANNALS_ADDR" placeholder:"HOST:PORT"`
	Token   string `help:"Bearer token; without it the data directory's local one." env:"ANNALS_TOKEN" placeholder:"TOKEN"`
	JSON    bool   `help:"Print JSON." name:"json"`
	Verbose bool   `help:"Log what happens." short:"v"`

	Serve        serveCmd        `cmd:"" help:"Run the server."`
	Demo         demoCmd         `cmd:"" help:"Tell the whole story on a built-in example."`
	Capture      captureCmd      `cmd:"" help:"Capture one episode."`
	Import       importCmd       `cmd:"" help:"Capture episodes from JSON Lines."`
	Propose      proposeCmd      `cmd:"" help:"Propose a fact."`
	Recall       recallCmd       `cmd:"" help:"Recall memories."`
	Facts        factsCmd        `cmd:"" help:"Show facts: current, as of a time, or their history."`
	Source       sourceCmd       `cmd:"" help:"Say which revision of a source is current, or show its revisions."`
	Review       reviewCmd       `cmd:"" help:"Review what waits to be remembered: list, show, approve, reject, edit, undo."`
	Forget       forgetCmd       `cmd:"" help:"Forget records, or everything about a subject."`
	Suppressions suppressionsCmd `cmd:"" help:"List what is kept from coming back, or let it in again."`
	Erasure      erasureCmd      `cmd:"" help:"Show how far an erasure has come, or list them."`
	Hold         holdCmd         `cmd:"" help:"Put a legal hold on a subject, lift it, or show them."`
	Consent      consentCmd      `cmd:"" help:"Give a consent, take it back, or show them."`
	Receipt      receiptCmd      `cmd:"" help:"Print the signed receipt of an erasure, or verify one."`
	Export       exportCmd       `cmd:"" help:"Hand out all that is kept of a subject, or verify such a file."`
	Backup       backupCmd       `cmd:"" help:"Copy the memory into artefacts, while it runs or not."`
	Restore      restoreCmd      `cmd:"" help:"Put a memory back from artefacts; nothing that was forgotten comes back."`
	Rotate       rotateCmd       `cmd:"" name:"rotate-root" help:"Give the root a fresh key; older copies of the keys are dead then."`
	Policy       policyCmd       `cmd:"" help:"Check, activate, show or simulate the policy that decides on candidates."`
	Retain       retainCmd       `cmd:"" name:"retention" help:"Show what the retention schedule ends."`
	Embed        embedCmd        `cmd:"" help:"Show or change the model by which memories are searched, while they are."`
	Replay       replayCmd       `cmd:"" help:"Rebuild a view from the log and compare digests."`
	Verify       verifyCmd       `cmd:"" help:"Compare the log with its ledger, and every view with a fresh fold of the log."`
	Prove        proveCmd        `cmd:"" help:"Prove that the signed tree covers a position of the log."`
	Retry        retryCmd        `cmd:"" help:"Fold again the commits that views have parked."`
	Status       statusCmd       `cmd:"" help:"Show projections and their positions; exit 1 if one is not healthy or has parked commits."`
	Scan         scanCmd         `cmd:"" help:"Look for what was forgotten in the files of the data directory."`
	Token_       tokenCmd        `cmd:"" name:"token" help:"Print a token signed with the data directory's key."` //nolint:revive // Token is the flag.
	Eval         evalCmd         `cmd:"" help:"Measure on a data set."`
	Bench        benchCmd        `cmd:"" help:"Measure speed beside raw references."`
	Version      versionCmd      `cmd:"" help:"Print the version."`

	// existing says that the command needs a memory that is there.
	existing bool
	// schedule is what a preview goes by where no server runs.
	schedule *retention.Schedule
}

// terminal is where a command writes.
type terminal struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	os.Exit(run(os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run is main with its surroundings passed in.
func run(args []string, t terminal) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("annals"), kong.UsageOnError(),
		kong.Description("The memory of record for AI agents."),
		kong.Writers(t.out, t.err), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		_, _ = fmt.Fprintln(t.err, "annals:", err) // there is nowhere else to say it
		return exitFailed
	}
	k, err := parser.Parse(args)
	if exited >= 0 { // help was asked for and printed
		return exited
	}
	if err != nil {
		_, _ = fmt.Fprintf(t.err, "annals: %v (annals --help lists the commands)\n", err) // as above
		return exitMisuse
	}
	k.BindTo(ctx, (*context.Context)(nil))
	if err := k.Run(&c, t); err != nil {
		_, _ = fmt.Fprintln(t.err, "annals:", err) // as above
		return exitCode(err)
	}
	return exitDone
}

// errMisuse marks a command line that cannot be meant.
var errMisuse = errors.New("misuse")

func exitCode(err error) int {
	if p, ok := errors.AsType[*client.ProblemError](err); ok {
		switch p.Status {
		case http.StatusServiceUnavailable:
			return exitNotReady
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			return exitMisuse
		}
	}
	if _, damaged := ledger.AsDamage(err); damaged {
		return exitNotReady
	}
	switch {
	case errors.Is(err, errMisuse):
		return exitMisuse
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, node.ErrLocked), errors.Is(err, node.ErrRestoring):
		return exitNotReady
	}
	return exitFailed
}
