package eval

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/events"
)

// proposal is one attempt to have a text remembered, and what became of it.
type proposal struct {
	variant, proposer string
	// text is its place in the corpus.
	text int
	// candidate is its id, and told what its proposer was told.
	candidate, told string
	// refused says that the door took something of it not, and unreachable that it
	// was not recalled.
	refused, unreachable bool
	// recalled is how many memories were recalled on the way.
	recalled int
}

// isUnreviewed says whether it was promoted without a review: by the log, and by what
// its proposer was told.
func (p *proposal) isUnreviewed(all decisions) (logged, told bool) {
	d := all[p.candidate]
	return d != nil && d.unreviewed, p.told == string(events.DecisionPromote)
}

// attempt has all texts arrive by one channel.
type attempt struct {
	node     GateNode
	channel  events.Trust
	texts    []string
	progress Progress
	// arrived are the ids of what arrived, by variant and text; none if the door did
	// not take it.
	arrived map[string][][]string
	// suffix is of the predicates, so that what is tried again has slots of its own.
	suffix string

	mu        sync.Mutex
	proposals []*proposal
}

func newAttempt(n GateNode, channel events.Trust, texts []string, progress Progress) *attempt {
	return &attempt{node: n, channel: channel, texts: texts, progress: progress, arrived: map[string][][]string{}}
}

const (
	// gateWorkers is how many calls are made at once, gateBatch how many episodes are
	// sent in one. A call lasts for 30 seconds at most, and what waits in quarantine
	// is written one by one.
	gateWorkers = 8
	gateBatch   = 200
)

// tenant keeps variants apart: what is recalled of one is not heard in another.
func (a *attempt) tenant(variant string) string { return "gate " + a.channel.String() + " " + variant }

// as calls as somebody of the variant's tenant.
func (a *attempt) as(variant, principal string, trust events.Trust, role events.Role) (*client.Client, error) {
	c, err := a.node.Client(events.Caller{
		Tenant: a.tenant(variant), Principal: principal, Roles: []events.Role{role}, Trust: trust,
	})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return c, nil
}

// source calls as who sends the texts, user as a user's principal, and agent as one
// agent of many: each text has its own, so that what one has heard does not taint
// what is made of another.
func (a *attempt) source(variant string) (*client.Client, error) {
	return a.as(variant, "source", a.channel, events.RoleAgent)
}

func (a *attempt) user(variant string) (*client.Client, error) {
	return a.as(variant, "user", events.TrustUser, events.RoleAgent)
}

func (a *attempt) agent(variant, name string, text int) (*client.Client, error) {
	return a.as(variant, fmt.Sprintf("%s %d%s", name, text, a.suffix), events.TrustAgent, events.RoleAgent)
}

// about is the subject of a text: each has its own, and what is recalled of one is
// of that text alone.
func about(text int) string { return fmt.Sprintf("subject %d", text) }

// run has all texts arrive, tries all ways, and reads from the log what was decided.
func (a *attempt) run(ctx context.Context, log *decided) error {
	for _, v := range variants() {
		if err := a.capture(ctx, v); err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
	}
	for _, v := range arrivals() {
		if err := a.each(ctx, v, func(ctx context.Context, i int) error { return a.proposeArrived(ctx, v, i) }); err != nil {
			return err
		}
	}
	if err := a.node.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	relays := make([]*relay, len(a.texts))
	for _, v := range echoes() {
		err := a.each(ctx, v, func(ctx context.Context, i int) (err error) {
			relays[i], err = a.relay(ctx, v, i)
			return err
		})
		if err != nil {
			return err
		}
		if v == variantLaunderedTwice { // what the first has captured has to be found
			if err := a.node.Settle(ctx); err != nil {
				return fmt.Errorf("settle: %w", err)
			}
		}
		if err := a.each(ctx, v, func(ctx context.Context, i int) error { return a.proposeRelayed(ctx, relays[i]) }); err != nil {
			return err
		}
	}
	return log.read(ctx, a.node.Log)
}

// each does something with each text, several at a time.
func (a *attempt) each(ctx context.Context, variant string, do func(context.Context, int) error) error {
	var done atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(gateWorkers)
	for i := range a.texts {
		g.Go(func() error {
			if err := do(gctx, i); err != nil {
				return fmt.Errorf("%s, text %d: %w", variant, i, err)
			}
			a.progress(a.channel.String()+" "+variant, int(done.Add(1)), len(a.texts))
			return nil
		})
	}
	return g.Wait() //nolint:wrapcheck // It is wrapped.
}

// part is one episode on its way.
type part struct {
	text int
	body map[string]any
}

// capture has the texts of a variant arrive.
func (a *attempt) capture(ctx context.Context, variant string) error {
	var parts []part
	for i, text := range a.texts {
		list, _ := arrive(variant, text)
		for _, p := range list {
			parts = append(parts, part{i, episodeOf(about(i), p, a.channel.String())})
		}
	}
	c, err := a.source(variant)
	if err != nil {
		return err
	}
	if a.arrived[variant], err = a.send(ctx, c, "capture "+variant, parts); err != nil || variant != variantBorrowed {
		return err
	}
	parts = parts[:0]
	for i := range a.texts {
		parts = append(parts, part{i, episodeOf(about(i), "I like to walk by the river.", "chat")})
	}
	if c, err = a.user(variant); err != nil {
		return err
	}
	said, err := a.send(ctx, c, "capture "+variant, parts)
	if err != nil {
		return err
	}
	a.arrived[variant] = said // this is what is named as the source
	return nil
}

func episodeOf(subject, text, kind string) map[string]any {
	return map[string]any{"subject": subject, "text": text, "source": map[string]any{"kind": kind, "ref": subject}}
}

// send captures in batches and returns the ids of each text. A text of which the
// door refuses a part has none.
func (a *attempt) send(ctx context.Context, c *client.Client, what string, parts []part) ([][]string, error) {
	ids := make([]string, len(parts))
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(gateWorkers)
	for start := 0; start < len(parts); start += gateBatch {
		batch := parts[start:min(start+gateBatch, len(parts))]
		g.Go(func() error {
			items := make([]map[string]any, len(batch))
			for i, p := range batch {
				items[i] = p.body
			}
			var out struct {
				Results []struct {
					ID    string               `json:"id"`
					Error *client.ProblemError `json:"error"`
				} `json:"results"`
			}
			call := client.Call{Method: http.MethodPost, Path: "/v1/episodes/batch", Body: map[string]any{"items": items}, Out: &out}
			if err := c.Do(ctx, call); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if len(out.Results) != len(batch) {
				return fmt.Errorf("%s: %d answers for %d episodes", what, len(out.Results), len(batch))
			}
			for i, r := range out.Results {
				if ids[start+i] = r.ID; r.Error != nil && r.Error.Status/100 == 5 {
					return fmt.Errorf("%s: %w", what, r.Error)
				}
			}
			a.progress(a.channel.String()+" "+what, int(done.Add(int64(len(batch)))), len(parts))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // It is wrapped.
	}
	all, refused := make([][]string, len(a.texts)), make([]bool, len(a.texts))
	for i, p := range parts {
		all[p.text] = append(all[p.text], ids[i])
		refused[p.text] = refused[p.text] || ids[i] == ""
	}
	for i := range all {
		if refused[i] {
			all[i] = nil
		}
	}
	return all, nil
}

// The channels of proposals.
const (
	proposerSource = "source"
	proposerUser   = "user"
	proposerAgent  = "agent"
)

// proposeArrived proposes what has arrived: by who sent it and, where that is the
// source that is named, by a user's principal too, who says that nothing was
// recalled.
func (a *attempt) proposeArrived(ctx context.Context, variant string, text int) error {
	if _, err := a.proposeBy(ctx, variant, proposerSource, text); err != nil || variant == variantBorrowed {
		return err
	}
	_, err := a.proposeBy(ctx, variant, proposerUser, text)
	return err
}

func (a *attempt) proposeBy(ctx context.Context, variant, proposer string, text int) (*proposal, error) {
	p := &proposal{variant: variant, proposer: proposer, text: text}
	_, value := arrive(variant, a.texts[text])
	by := a.source
	if proposer == proposerUser {
		by = a.user
	}
	c, err := by(variant)
	if err != nil {
		return nil, err
	}
	return p, a.propose(ctx, c, p, about(text), value, a.arrived[variant][text], []string{})
}

// propose proposes a fact and notes what became of it. Without sources the door has
// refused them.
func (a *attempt) propose(ctx context.Context, c *client.Client, p *proposal, subject, value string, sources, traces []string) error {
	defer a.note(p)
	if len(sources) == 0 {
		p.refused = true
		return nil
	}
	body := map[string]any{
		"subject": subject, "predicate": "said by " + p.proposer + a.suffix, "value": partOf(value), "category": "general",
		"confidence": 1, "observed_at": time.Now().UTC().Format(time.RFC3339Nano), "source_episodes": sources,
	}
	if traces != nil {
		body["traces"] = traces
	}
	var out struct {
		Candidate string `json:"candidate_id"`
		Decision  string `json:"decision"`
	}
	err := c.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/facts", Body: body, Out: &out})
	if isRefusal(err) {
		p.refused = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("propose: %w", err)
	}
	p.candidate, p.told = out.Candidate, out.Decision
	return nil
}

func (a *attempt) note(p *proposal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.proposals = append(a.proposals, p)
}

// isRefusal says that the door did not take what it was sent.
func isRefusal(err error) bool {
	p, ok := errors.AsType[*client.ProblemError](err)
	return ok && (p.Status == http.StatusBadRequest || p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusRequestEntityTooLarge)
}
