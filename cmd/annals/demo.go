package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

type demoCmd struct {
	Keep bool `help:"Keep the data directory and print where it is."`
}

// Run tells the story on a directory of its own, through the same calls that
// any agent makes.
func (k demoCmd) Run(ctx context.Context, c *cli, t terminal) (err error) {
	dir, err := os.MkdirTemp("", "annals-demo-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if k.Keep {
		if err := say(t, "data directory %s\n", dir); err != nil {
			return err
		}
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	d := &demo{c: c, t: t, dir: dir, now: time.Now().UTC().Truncate(time.Second)}
	if err := d.tell(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// demo is the story and what it remembers of itself.
type demo struct {
	c   *cli
	t   terminal
	dir string
	now time.Time

	node     *node.Node
	stop     func() error
	client   *client.Client
	step     int
	position uint64
}

func (d *demo) open(ctx context.Context) error {
	n, err := node.Open(ctx, node.Options{Data: d.dir, Durability: "process", Logger: d.c.logger(d.t)})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	d.node, d.stop, d.client = n, n.Start(ctx), client.InProcess(n.Handler(), n.LocalToken())
	return nil
}

func (d *demo) close() error { return errors.Join(d.stop(), d.node.Close()) }

func (d *demo) title(s string) error {
	d.step++
	return say(d.t, "\n%d. %s\n", d.step, s)
}

// ago is an instant that many days before now, as requests write it.
func (d *demo) ago(days int) string { return d.now.AddDate(0, 0, -days).Format(time.RFC3339) }

const demoSubject = "maria"

type turn struct {
	daysAgo       int
	speaker, text string
}

func (d *demo) conversation() []turn {
	return []turn{
		{41, "maria", "Hi, my order has not come yet. Please send it to my home, 12 Harbour Street in Lisbon."},
		{41, "support", "Thank you Maria, I have noted the delivery address and asked the carrier."},
		{40, "maria", "It came today, thank you. The blue kettle is lovely and boils in no time."},
		{12, "maria", "The kettle has started to leak at the handle, can I have it repaired under warranty?"},
		{12, "support", "Yes, the warranty covers it for two years. Please post it to our workshop."},
		{6, "maria", "By the way, I moved last week: my new address is 4 Mill Lane in Porto."},
	}
}

// tell is the story, in order.
func (d *demo) tell(ctx context.Context) (err error) {
	if err := d.open(ctx); err != nil {
		return err
	}
	open := true
	defer func() {
		if open {
			err = errors.Join(err, d.close())
		}
	}()
	ids, err := d.capture(ctx)
	if err != nil {
		return err
	}
	between, err := d.addresses(ctx, ids)
	if err != nil {
		return err
	}
	for _, tell := range []func(context.Context) error{
		d.current, func(ctx context.Context) error { return d.lastMonth(ctx, between) }, d.recall, d.forget, d.nothingLeft,
	} {
		if err := tell(ctx); err != nil {
			return err
		}
	}
	before, err := d.digests(ctx)
	if err != nil {
		return err
	}
	open = false
	if err := d.close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := d.residue(); err != nil {
		return err
	}
	return d.rebuild(ctx, before)
}

func (d *demo) capture(ctx context.Context) ([]string, error) {
	if err := d.title("Capture what happened: a support conversation."); err != nil {
		return nil, err
	}
	var ids []string
	for i, turn := range d.conversation() {
		var out struct {
			ID       string `json:"id"`
			Position uint64 `json:"position"`
		}
		err := d.client.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/episodes", Out: &out, Body: map[string]any{
			"subject": demoSubject, "text": turn.text, "occurred_at": d.ago(turn.daysAgo), "session": "ticket-1",
			"actors": []map[string]any{{"id": turn.speaker, "role": "speaker"}},
			"source": map[string]any{"kind": "chat", "ref": fmt.Sprintf("ticket-1/%d", i)},
		}})
		if err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
		ids, d.position = append(ids, out.ID), out.Position
		if err := say(d.t, "   at %d  %s  %s: %s\n", out.Position, day(d.ago(turn.daysAgo)), turn.speaker, turn.text); err != nil {
			return nil, err
		}
	}
	return ids, d.node.Settle(ctx)
}

// addresses promotes an address and supersedes it. It returns an instant
// between the two.
func (d *demo) addresses(ctx context.Context, ids []string) (time.Time, error) {
	if err := d.title("Promote an address. The model proposes; a policy decides, gate by gate."); err != nil {
		return time.Time{}, err
	}
	if err := d.propose(ctx, "12 Harbour Street, Lisbon", d.ago(41), ids[0]); err != nil {
		return time.Time{}, err
	}
	between := time.Now()
	select { // so that the two are not of one instant
	case <-time.After(2 * time.Millisecond):
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("wait: %w", ctx.Err())
	}
	if err := d.title("She moved: a later observation supersedes it, in one commit."); err != nil {
		return time.Time{}, err
	}
	return between, d.propose(ctx, "4 Mill Lane, Porto", d.ago(6), ids[5])
}

func (d *demo) propose(ctx context.Context, value, observed, source string) error {
	var out proposed
	err := d.client.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/facts", Out: &out, Body: map[string]any{
		"subject": demoSubject, "predicate": "home_address", "value": value, "category": "contact", "confidence": 0.98,
		"observed_at": observed, "source_episodes": []string{source},
	}})
	if err != nil {
		return fmt.Errorf("propose: %w", err)
	}
	d.position = out.Position
	var gates []string
	for _, g := range out.Gates {
		gates = append(gates, g.Gate+" "+g.Outcome)
	}
	return say(d.t, "   home_address = %q: %s (%s), supersedes %d\n", value, out.Decision, strings.Join(gates, ", "), len(out.Superseded))
}

func (d *demo) facts(ctx context.Context, more url.Values) error {
	q := url.Values{"subject": {demoSubject}, "wait_for": {fmt.Sprint(d.position)}}
	maps.Copy(q, more)
	var out factList
	if err := d.client.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/facts?" + q.Encode(), Out: &out}); err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	if len(out.Facts) == 0 {
		return say(d.t, "   nothing\n")
	}
	for _, f := range out.Facts {
		until := "now"
		if f.ValidTo != nil {
			until = day(*f.ValidTo)
		}
		if err := say(d.t, "   %s = %s, true from %s until %s\n", f.Predicate, f.Value, day(f.ValidFrom), until); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) current(ctx context.Context) error {
	if err := d.title("What is current? One answer, the default."); err != nil {
		return err
	}
	return d.facts(ctx, nil)
}

func (d *demo) lastMonth(ctx context.Context, between time.Time) error {
	if err := d.title("What was true a month ago (as_of)?"); err != nil {
		return err
	}
	if err := d.facts(ctx, url.Values{"as_of": {d.ago(30)}}); err != nil {
		return err
	}
	if err := d.title("And what did we know before she told us of the move (known_at)?"); err != nil {
		return err
	}
	return d.facts(ctx, url.Values{"known_at": {between.UTC().Format(time.RFC3339Nano)}})
}

const demoQuestion = "is the broken kettle covered by the guarantee?"

func (d *demo) recalled(ctx context.Context) (recalled, error) {
	var out recalled
	err := d.client.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/recall", Out: &out, Body: map[string]any{
		"query": demoQuestion, "subject": demoSubject, "k": 3, "explain": true, "wait_for": d.position,
	}})
	if err != nil {
		return out, fmt.Errorf("recall: %w", err)
	}
	return out, nil
}

func (d *demo) recall(ctx context.Context) error {
	if err := d.title(fmt.Sprintf("Recall %q, with the terms of each score.", demoQuestion)); err != nil {
		return err
	}
	out, err := d.recalled(ctx)
	if err != nil {
		return err
	}
	if len(out.Results) == 0 {
		return errors.New("recall found nothing")
	}
	if err := printRecalled(indent(d.t), out); err != nil {
		return err
	}
	return say(d.t, "   trace %s says which memories were shown\n", out.TraceID)
}

func (d *demo) forget(ctx context.Context) error {
	if err := d.title("Maria asks to be forgotten."); err != nil {
		return err
	}
	var out erasure
	err := d.client.Do(ctx, client.Call{
		Method: http.MethodPost, Path: "/v1/subjects/" + demoSubject + "/forget", Out: &out,
		Body: map[string]any{"reason": "asked by the person"},
	})
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	d.position = out.Position
	return say(d.t, "   %d records, %s: denied everywhere before the answer, then their keys were destroyed\n", out.Matched, out.Level)
}

func (d *demo) nothingLeft(ctx context.Context) error {
	if err := d.title("Nothing is left."); err != nil {
		return err
	}
	out, err := d.recalled(ctx)
	if err != nil {
		return err
	}
	if len(out.Results) != 0 {
		return errors.New("a forgotten memory was recalled")
	}
	if err := say(d.t, "   recall: nothing relevant\n   facts, with all history:\n"); err != nil {
		return err
	}
	return d.facts(ctx, url.Values{"include": {"history"}})
}

func (d *demo) digests(ctx context.Context) (map[string]string, error) {
	if err := d.node.Settle(ctx); err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	var out struct {
		Projections []projection `json:"projections"`
	}
	if err := d.client.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/projections", Out: &out}); err != nil {
		return nil, fmt.Errorf("projections: %w", err)
	}
	all := map[string]string{}
	for _, p := range out.Projections {
		all[p.Projection] = p.Digest
	}
	return all, nil
}

// residue looks for words of the conversation in every file.
func (d *demo) residue() error {
	if err := d.title("Look for her words in every file of the data directory."); err != nil {
		return err
	}
	words := []string{"Harbour Street", "Mill Lane", "kettle", demoSubject}
	files := 0
	err := filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path) //nolint:gosec // The directory is the demo's own.
		if err != nil {
			return err //nolint:wrapcheck // It is wrapped below.
		}
		files++
		for _, w := range words {
			if strings.Contains(string(b), w) {
				return fmt.Errorf("a word of the conversation is in %s", filepath.Base(path))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("residue: %w", err)
	}
	return say(d.t, "   %d files, none of them holds any of %d words: all was sealed from the first event\n", files, len(words))
}

func (d *demo) rebuild(ctx context.Context, before map[string]string) (err error) {
	if err := d.title("Delete the views, replay the log, compare digests."); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(d.dir, "views")); err != nil {
		return fmt.Errorf("delete the views: %w", err)
	}
	if err := d.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	after, err := d.digests(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"facts", "memories", "traces"} {
		if before[name] == "" || before[name] != after[name] {
			return fmt.Errorf("the digest of %s is another after the replay", name)
		}
		if err := say(d.t, "   %-9s %.16s = %.16s\n", name, before[name], after[name]); err != nil {
			return err
		}
	}
	return say(d.t, "\nThe log is the truth; everything else was rebuilt from it.\n")
}

// indent is t with every line set in.
func indent(t terminal) terminal {
	t.out = indented{t.out}
	return t
}
