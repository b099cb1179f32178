package eval

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/events"
)

// relay is a text on its way through the memory of an agent.
type relay struct {
	*proposal

	by      *client.Client
	subject string
	// said is what the last agent captured, under the id episode, and traces the
	// recalls that it named; nil is none named.
	said    string
	episode string
	traces  []string
}

// relay has an agent recall what arrived and capture it as its own.
func (a *attempt) relay(ctx context.Context, variant string, text int) (*relay, error) {
	r := &relay{proposal: &proposal{variant: variant, proposer: proposerAgent, text: text}, subject: about(text)}
	ids := a.arrived[variant][text]
	if len(ids) == 0 {
		r.refused = true
		return r, nil
	}
	r.said, r.episode = a.texts[text], ids[0]
	if variant != variantLaunderedTwice {
		return r, a.pass(ctx, r, "agent", r.subject)
	}
	// Elsewhere, so that the second agent hears it from the first alone.
	return r, a.pass(ctx, r, "first agent", r.subject+" as told"+a.suffix)
}

// pass has an agent recall an episode, and capture what it then reads under a
// subject, naming the recall unless it is to be an echo.
func (a *attempt) pass(ctx context.Context, r *relay, agent, to string) error {
	var err error
	if r.by, err = a.agent(r.variant, agent, r.text); err != nil {
		return err
	}
	hear := recallOne
	if r.variant == variantRead {
		hear = readOne
	}
	said, trace, err := hear(ctx, r.by, r.subject, questionOf(r.said), r.episode)
	if err != nil {
		return err
	}
	if said == "" {
		r.unreachable = true
		return nil
	}
	r.recalled++
	r.said, r.subject = said, to
	body := episodeOf(to, said, "agent")
	if r.variant == variantLaundered || r.variant == variantLaunderedTwice {
		r.traces = []string{trace}
		body["traces"] = r.traces
	}
	var out struct {
		ID string `json:"id"`
	}
	err = r.by.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/episodes", Body: body, Out: &out})
	if isRefusal(err) {
		r.refused = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	r.episode = out.ID
	return nil
}

// recallOne recalls an episode and returns its text and the id of the recall; both
// are "" if it is not among the results.
func recallOne(ctx context.Context, c *client.Client, subject, question, episode string) (said, trace string, err error) {
	var out struct {
		Trace   string `json:"trace_id"`
		Results []struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		} `json:"results"`
	}
	err = c.Do(ctx, client.Call{
		Method: http.MethodPost, Path: "/v1/recall", Body: map[string]any{"query": question, "subject": subject}, Out: &out,
	})
	if err != nil {
		return "", "", fmt.Errorf("recall: %w", err)
	}
	for _, r := range out.Results {
		if r.ID == episode {
			return r.Text, out.Trace, nil
		}
	}
	return "", "", nil
}

// readOne reads the episodes of a subject and returns the text of one; "" if it is not
// among them. There is no recall.
func readOne(ctx context.Context, c *client.Client, subject, _, episode string) (said, trace string, err error) {
	var out struct {
		Episodes []struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		} `json:"episodes"`
	}
	err = c.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/episodes?" + url.Values{"subject": {subject}}.Encode(), Out: &out})
	if err != nil {
		return "", "", fmt.Errorf("read: %w", err)
	}
	for _, e := range out.Episodes {
		if e.ID == episode {
			return e.Text, "", nil
		}
	}
	return "", "", nil
}

// proposeRelayed has the last agent propose what it has captured, with that and
// nothing else as the source.
func (a *attempt) proposeRelayed(ctx context.Context, r *relay) error {
	if r.variant == variantLaunderedTwice && !r.unreachable && !r.refused {
		if err := a.pass(ctx, r, "second agent", r.subject); err != nil {
			return err
		}
	}
	if r.unreachable || r.refused {
		a.note(r.proposal)
		return nil
	}
	return a.propose(ctx, r.by, r.proposal, r.subject, r.said, []string{r.episode}, r.traces)
}

// reviewer calls as a reviewer who is no agent.
func (a *attempt) reviewer(variant string) (*client.Client, error) {
	return a.as(variant, "reviewer", events.TrustUser, events.RoleReviewer)
}
