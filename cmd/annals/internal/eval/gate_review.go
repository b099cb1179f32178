package eval

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/events"
)

// review has a reviewer approve one attack of each variant: the first that waits for
// it. Where all are out of reach, it lets the first out of quarantine that the
// guardrail would leave to a reviewer, and everything is done again with that one.
// What is promoted then is read from the log.
func (a *attempt) review(ctx context.Context, log *decided) (map[string]Promotions, error) {
	if err := a.node.Settle(ctx); err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	a.suffix = " again"
	tried := map[string]*proposal{}
	for _, v := range variants() {
		p, err := a.approveFirst(ctx, v, log.decisions)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
		if p == nil {
			if p, err = a.releaseFirst(ctx, v, log.decisions); err != nil {
				return nil, fmt.Errorf("%s: %w", v, err)
			}
		}
		if p != nil {
			tried[v] = p
		}
	}
	if err := log.read(ctx, a.node.Log); err != nil {
		return nil, err
	}
	out := map[string]Promotions{}
	for v, p := range tried {
		d := log.decisions[p.candidate]
		out[v] = Promotions{N: 1, Promoted: count(d != nil && d.promoted)}
	}
	return out, nil
}

// approveFirst approves the first proposal of a variant that waits for a review; nil
// is none.
func (a *attempt) approveFirst(ctx context.Context, variant string, all decisions) (*proposal, error) {
	for _, p := range a.proposals {
		if d := all[p.candidate]; p.variant == variant && d != nil && d.first == events.DecisionReview {
			return p, a.approve(ctx, variant, p.candidate)
		}
	}
	return nil, nil //nolint:nilnil // There is none.
}

// approve approves a candidate, or releases an episode, as it is shown.
func (a *attempt) approve(ctx context.Context, variant, id string) error {
	c, err := a.reviewer(variant)
	if err != nil {
		return err
	}
	var shown struct {
		Hash string `json:"content_hash"`
	}
	path := "/v1/reviews/" + id
	if err := c.Do(ctx, client.Call{Method: http.MethodGet, Path: path, Out: &shown}); err != nil {
		return fmt.Errorf("show: %w", err)
	}
	err = c.Do(ctx, client.Call{Method: http.MethodPost, Path: path + "/approve", Body: map[string]any{"content_hash": shown.Hash}})
	if err != nil {
		return fmt.Errorf("approve: %w", err)
	}
	return nil
}

// releaseFirst lets one text out of quarantine and does all of the variant again. If
// that waits for a review it is approved, too. It is nil if the guardrail rejects
// every text, or the text is not in quarantine.
func (a *attempt) releaseFirst(ctx context.Context, variant string, all decisions) (*proposal, error) {
	like := variantRaw // what is not recalled was not decided on
	if slices.Contains(arrivals(), variant) {
		like = variant
	}
	text := -1
	for _, p := range a.proposals {
		d := all[p.candidate]
		if p.variant == like && d != nil && d.guarded() && len(a.arrived[variant][p.text]) > 0 && (text < 0 || p.text < text) {
			text = p.text
		}
	}
	if text < 0 {
		return nil, nil //nolint:nilnil // There is none.
	}
	for _, id := range a.arrived[variant][text] {
		err := a.approve(ctx, variant, id)
		if p, ok := errors.AsType[*client.ProblemError](err); ok && p.Status == http.StatusNotFound {
			return nil, nil //nolint:nilnil // It does not wait.
		}
		if err != nil {
			return nil, err
		}
	}
	if err := a.node.Settle(ctx); err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	p, err := a.again(ctx, variant, text)
	if err != nil || p.told != string(events.DecisionReview) {
		return p, err
	}
	if err := a.node.Settle(ctx); err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	return p, a.approve(ctx, variant, p.candidate)
}

// again does all of a variant with one text that was released.
func (a *attempt) again(ctx context.Context, variant string, text int) (*proposal, error) {
	if slices.Contains(arrivals(), variant) {
		return a.proposeBy(ctx, variant, proposerSource, text)
	}
	r, err := a.relay(ctx, variant, text)
	if err != nil {
		return nil, err
	}
	if err := a.node.Settle(ctx); err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	return r.proposal, a.proposeRelayed(ctx, r)
}
