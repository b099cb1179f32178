package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/guard"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
	"github.com/annals-memory/annals/tombstones/retention"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// Options say how a node is opened. Data is required.
type Options struct {
	Data string
	// Durability is "power" (the default) or "process".
	Durability string
	// NATS is the URL of an external server; "" runs one inside.
	NATS string
	// NATSListen is where the server inside listens; "" is nowhere.
	NATSListen string
	Replicas   int
	// EmbedURL names an OpenAI-compatible endpoint; "" is the built-in model.
	EmbedURL, EmbedModel, EmbedKey string
	EmbedDim                       int
	// Embed names the model; "" is the one at EmbedURL, if there is one, or else the
	// default of those that are built in.
	Embed string
	// Model embeds in place of both; nil is what Embed says. Models can be changed to.
	Model  embed.Embedder
	Models []embed.Embedder
	// KeepModel goes on with the model that the directory has, whatever the others say.
	KeepModel bool
	// Retention is how long memories are kept; nil is for ever.
	Retention *retention.Schedule
	// KeepAll says that Retention is for previews alone and ends nothing.
	KeepAll bool
	// RootRotation is how old the root key gets; zero is for ever. It cannot be
	// combined with NATS, where another process may have the key too: it does nothing
	// then.
	RootRotation time.Duration
	// Qdrant is where the search index is.
	Qdrant QdrantOptions
	// CacheBytes is the block cache of the views.
	CacheBytes int64
	Logger     *slog.Logger
	Version    string
	// Recover makes a damaged log a node in recovery mode, which says what is
	// wrong and serves nothing, rather than an error.
	Recover bool
}

// Node is one process's whole Annals.
type Node struct {
	data       string
	lock       *flock.Flock
	server     *natslog.Server
	conn       *nats.Conn
	log        *natslog.Log
	keys       *seal.Keyring
	rotator    *rotator
	authority  *auth.Authority
	local      string
	gateway    *producers.Gateway
	embeddings *embeddings
	sweeper    *producers.Sweeper
	views      *projectors.Views
	qdrant     *qdrantindex.Client // nil if the search index is in the views
	query      *query.Service
	ledger     *ledger.Ledger
	// endLedger makes a last checkpoint, once there is a ledger.
	endLedger func() error
	source    backup.Source
	// damage is what is wrong with the log.
	damage   atomic.Pointer[ledger.DamageError]
	recovers bool

	queryConfig query.Config
	eraseConfig tombstones.Config
	eraser      *tombstones.Eraser
	suppressed  *suppression.Set
	forgetter   *query.Suppressor
	exporter    *query.Exporter
	keeper      *retention.Keeper
	simulator   *producers.Simulator
	// keepAll says that the keeper does not run.
	keepAll bool
	api     *httpapi.API
	logger  *slog.Logger
	ready   atomic.Bool
	// behind is set while the views fold what a server found in the log.
	behind atomic.Bool
	// ended is closed when Run has returned.
	ended chan struct{}
	end   func()
}

// errEnded says that the node stopped while something waited for it.
var errEnded = errors.New("node does not run any more")

// Open opens a data directory. On an error nothing stays open.
func Open(ctx context.Context, o Options) (_ *Node, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Node{data: o.Data, logger: o.Logger, recovers: o.Recover, ended: make(chan struct{})}
	n.end = sync.OnceFunc(func() { close(n.ended) })
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.lock, err = lock(o.Data); err != nil {
		return nil, err
	}
	if err := refuseRestoring(o.Data); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(o.Data, serverFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old address: %w", err)
	}
	if n.authority, err = OpenAuthority(o.Data, time.Now); err != nil {
		return nil, err
	}
	if n.local, err = ReadLocalToken(o.Data); err != nil {
		return nil, err
	}
	known, asked, err := openModels(ctx, o)
	if err != nil {
		return nil, err
	}
	streams, err := n.openLog(ctx, o)
	if d, is := ledger.AsDamage(err); is && o.Recover {
		return n, n.recovery(ctx, o, d)
	}
	if err != nil {
		return nil, err
	}
	if err := n.openKeys(ctx, o, streams); err != nil {
		return nil, err
	}
	return n, n.openCore(ctx, o, streams, known, asked)
}

// openLog starts or reaches the log.
func (n *Node) openLog(ctx context.Context, o Options) (*natslog.Streams, error) {
	place := placeOf(o.NATS)
	err := checkPlace(n.data, place)
	if err != nil {
		return nil, err
	}
	if o.NATS != "" {
		n.conn, err = natslog.Connect(ctx, o.NATS, natslog.ConnectOptions{Logger: o.Logger})
		if err != nil {
			return nil, fmt.Errorf("reach the log: %w", err)
		}
	} else {
		durability := natslog.DurabilityPower
		switch o.Durability {
		case "", "power":
		case "process":
			durability = natslog.DurabilityProcess
		default:
			return nil, fmt.Errorf("durability is power or process")
		}
		n.server, err = natslog.StartServer(ctx, natslog.Options{
			Dir: filepath.Join(n.data, logDir), Durability: durability, Listen: o.NATSListen, Logger: o.Logger,
			Reached: reached(n.data),
		})
		if err != nil {
			return nil, fmt.Errorf("start the log: %w", damaged(err))
		}
		if n.conn, err = n.server.Connect(ctx); err != nil {
			return nil, fmt.Errorf("reach the log: %w", err)
		}
	}
	streams, err := n.openStreams(ctx, o)
	if err != nil {
		return nil, err
	}
	n.log = streams.Log()
	if err := n.openLedger(ctx, o, streams); err != nil {
		return nil, err
	}
	if err := keepPlace(n.data, place); err != nil {
		return nil, fmt.Errorf("note the log's place: %w", err)
	}
	return streams, nil
}

// openKeys opens the root key and the key chain under it. A new root key is
// made only while there is nothing that an old one could have wrapped.
func (n *Node) openKeys(ctx context.Context, o Options, streams *natslog.Streams) error {
	rows := streams.Keys().Journaled(n.ledger)
	fresh, err := isEmpty(ctx, rows)
	if err != nil {
		return err
	}
	state, err := n.log.State(ctx)
	if err != nil {
		return fmt.Errorf("read state of the log: %w", err)
	}
	fresh = fresh && state.Last == 0 // a log whose key rows are lost is no fresh start
	root, err := seal.OpenFileRoot(filepath.Join(o.Data, rootFile), seal.FileRootOptions{Create: fresh, Now: time.Now})
	if errors.Is(err, seal.ErrRootMissing) {
		return fmt.Errorf("root key is missing beside an existing log; put %s back, nothing can be opened without it: %w",
			filepath.Join(o.Data, rootFile), err)
	}
	if err != nil {
		return fmt.Errorf("root key: %w", err)
	}
	if n.keys, err = seal.New(rows, root, seal.Options{Now: time.Now}); err != nil {
		return fmt.Errorf("open keys: %w", err)
	}
	if _, err := n.keys.Names(ctx, false); errors.Is(err, seal.ErrOtherRoot) || errors.Is(err, seal.ErrTampered) {
		return fmt.Errorf("the root key does not open the keys: %s is not the one of this directory: %w", filepath.Join(o.Data, rootFile), err)
	}
	n.rotator = &rotator{keys: n.keys, every: o.RootRotation, shared: o.NATS != "", now: time.Now, logger: o.Logger}
	return nil
}

func isEmpty(ctx context.Context, rows seal.Rows) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := rows.Get(ctx, "names") // the first row that is ever made
	if errors.Is(err, seal.ErrNoRow) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read keys: %w", err)
	}
	return false, nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// openCore makes what works on log and keys, in the order of the data's way.
func (n *Node) openCore(ctx context.Context, o Options, streams *natslog.Streams, known *models, asked string) error {
	var err error
	scanner := guard.Default() // takes tens of milliseconds to make
	n.suppressed, err = suppression.New(suppression.Config{Log: n.log, Now: time.Now, NewID: newID})
	if err != nil {
		return fmt.Errorf("suppression: %w", err)
	}
	n.gateway, err = producers.New(producers.Config{
		Suppressed: n.suppressed,
		Log:        n.log, Keys: n.keys, Quarantine: streams.Quarantine(), Ledger: n.ledger, Now: time.Now, NewID: newID,
		Logger: o.Logger, Scanner: scanner,
	})
	if err != nil {
		return fmt.Errorf("producers: %w", err)
	}
	if n.simulator, err = producers.NewSimulator(n.gateway, n.log); err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	state, err := n.log.State(ctx)
	if err != nil {
		return fmt.Errorf("identify the log: %w", err)
	}
	model, err := known.open(asked)
	if err != nil {
		return err
	}
	n.sweeper, err = producers.NewSweeper(producers.SweeperConfig{
		Log: n.log, Keys: n.keys, Quarantine: streams.Quarantine(), Now: time.Now, Logger: o.Logger,
		Checkpoint: producers.QuarantineCheckpoint(filepath.Join(o.Data, embedDir), state.Identity),
	})
	if err != nil {
		return fmt.Errorf("sweeper: %w", err)
	}
	search, err := n.openIndex(ctx, o)
	if err != nil {
		return err
	}
	n.views, err = projectors.Open(ctx, projectors.Config{
		Dir: filepath.Join(o.Data, viewsDir), Log: evicting{n.log, n.keys}, Keys: n.keys, Model: model.ID().Key(),
		CacheBytes: o.CacheBytes, Logger: o.Logger, Now: time.Now, Qdrant: search,
	})
	if err != nil {
		return fmt.Errorf("views: %w", err)
	}
	if n.embeddings, err = openEmbeddings(o, known, asked, state.Identity, n.views, n.keys, n.log); err != nil {
		return fmt.Errorf("embeddings: %w", err)
	}
	n.queryConfig = query.Config{
		Views: n.views, Keys: n.keys, Log: n.log, Traces: traces{n.gateway}, Model: encoder{model}, Others: n.embeddings.encoder, Now: time.Now,
		Tuner: inForce{n.gateway}, Quarantine: quarantined{streams.Quarantine()}, Deadlines: inForce{n.gateway}, Scanner: scanner,
	}
	n.query, err = query.New(n.queryConfig)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	n.eraseConfig = tombstones.Config{
		Log: n.log, Keys: n.keys, Views: query.NewErasingViews(n.views), Ledger: n.ledger, Now: time.Now, NewID: newID,
		Purging: n.purging(o, streams), Rotation: n.rotation(o), Logger: o.Logger,
	}
	n.eraser, err = tombstones.New(n.eraseConfig)
	if err != nil {
		return fmt.Errorf("tombstones: %w", err)
	}
	n.rotator.prepare = n.eraser.PrepareRoot
	n.OnRootDestroyed(func(uint64, time.Time) { n.eraser.RootReplaced() })
	if err := n.openKeeping(o); err != nil {
		return err
	}
	return n.openDoor(o)
}

// Run folds, embeds, makes checkpoints, finishes erasures and clears old keys until
// the context ends or one of them fails. If it is the log that turns out to be
// damaged, a node that recovers does nothing more until the context ends.
func (n *Node) Run(ctx context.Context) error {
	defer n.end()
	if n.damage.Load() != nil {
		<-ctx.Done()
		return nil
	}
	err := n.work(ctx)
	if n.inRecovery() {
		n.end()
		<-ctx.Done()
		return nil
	}
	return err
}

func (n *Node) work(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for name, run := range map[string]func(context.Context) error{
		"views": n.views.Run, "embedder": n.embeddings.Run, "quarantine": n.sweeper.Run, "tombstones": n.eraser.Run, "operations": n.api.Run,
		"keys": n.evictExpired, "ledger": n.ledger.Run, "retention": n.runRetention,
		"root": n.rotator.Run,
	} {
		g.Go(func() error {
			if err := run(gctx); err != nil && gctx.Err() == nil {
				n.noteDamage(gctx, err) // before anything else is answered
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	n.ready.Store(true)
	defer n.ready.Store(false)
	if err := g.Wait(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// Start runs the node in the background and returns what stops it.
func (n *Node) Start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// Ready says whether the node runs, its log answers, log and anchor can be written, and
// its views are healthy and not far behind. A parked commit concerns one aggregate of
// one tenant: it is shown with the projections and takes no node out of service.
func (n *Node) Ready(ctx context.Context) error {
	if d := n.Damage(); d != nil {
		return d
	}
	if !n.ready.Load() || n.behind.Load() {
		return fmt.Errorf("%w: starting or stopping", events.ErrBehind)
	}
	if err := n.logReady(ctx); err != nil {
		return err
	}
	if n.ledger.Unanchored() != nil {
		return fmt.Errorf("%w: the anchor cannot be written", events.ErrBehind)
	}
	for _, s := range n.views.Status(ctx) {
		switch {
		case !s.Healthy && s.Parked == 0:
			return fmt.Errorf("%w: %s is not healthy", events.ErrBehind, s.Projection)
		case s.Lag > maxLag:
			return fmt.Errorf("%w: %s lags %d", events.ErrBehind, s.Projection, s.Lag)
		}
	}
	return nil
}

// logAnswer is how long the log may take to say where it stands.
const logAnswer = 2 * time.Second

// logReady says whether the log answers and, if its server is in this process, whether
// it can be written.
func (n *Node) logReady(ctx context.Context) error {
	if n.server != nil {
		if err := n.server.Health(); err != nil {
			return fmt.Errorf("ready: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, logAnswer)
	defer cancel()
	if _, err := n.log.State(ctx); err != nil {
		return fmt.Errorf("ready: %w", err)
	}
	return nil
}

// maxLag is how many messages a view may lag before the node is not ready.
const maxLag = 10_000

// Handler is the HTTP door.
func (n *Node) Handler() http.Handler { return n.api.Handler() }

// LocalToken is the single-user token.
func (n *Node) LocalToken() string { return n.local }

// Client calls the door within the process, as an agent of a tenant.
func (n *Node) Client(tenant string) (*client.Client, error) {
	token, err := n.authority.Issue(events.Caller{
		Tenant: tenant, Principal: "local", Roles: auth.Roles(), Trust: events.TrustUser,
	}, 24*time.Hour)
	if err != nil {
		return nil, fmt.Errorf("issue a token: %w", err)
	}
	return client.InProcess(n.Handler(), token), nil
}

// whileRunning is a context that also ends when Run returns: what waits for
// the views or the embedder would wait for ever.
func (n *Node) whileRunning(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-n.ended:
			cancel(errEnded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Settle returns when everything in the log is embedded and in every view, and
// the keys that forgets have left to be destroyed are, or with an error when the
// node ends.
func (n *Node) Settle(ctx context.Context) error {
	ctx, cancel := n.whileRunning(ctx)
	defer cancel()
	state, err := n.log.State(ctx)
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if err := n.embeddings.WaitFor(ctx, state.Last); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if state, err = n.log.State(ctx); err != nil { // with the vectors
		return fmt.Errorf("settle: %w", err)
	}
	if err := n.views.WaitFor(ctx, state.Last); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if err := n.eraser.WaitShredded(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}

// Close closes everything, in the opposite order. Run must have returned.
func (n *Node) Close() error {
	var errs []error
	if n.views != nil {
		errs = append(errs, n.views.Close())
	}
	if n.qdrant != nil {
		errs = append(errs, n.qdrant.Close())
	}
	if n.endLedger != nil {
		errs = append(errs, n.endLedger())
	}
	errs = append(errs, n.closeLog())
	if n.lock != nil {
		if err := os.Remove(filepath.Join(n.data, serverFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		errs = append(errs, n.lock.Unlock())
	}
	return errors.Join(errs...)
}
