package node

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones/retention"
)

// inForce tells query and retention what the policy in force says of categories.
type inForce struct{ gateway *producers.Gateway }

var (
	_ query.Tuner       = inForce{}
	_ retention.Settler = inForce{}
)

// TuningOf implements [query.Tuner].
func (f inForce) TuningOf(ctx context.Context, tenant string) (map[string]query.Tuning, error) {
	p, err := f.gateway.PolicyInForce(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("tuning: %w", err)
	}
	out := make(map[string]query.Tuning)
	for name, c := range p.Categories() {
		t := query.Tuning{Horizon: c.Horizon}
		if w := c.Weights; w != nil {
			t.Weights = &query.Weights{Relevance: w.Relevance, Freshness: w.Freshness, Reliability: w.Reliability}
		}
		if t != (query.Tuning{}) {
			out[name] = t
		}
	}
	return out, nil
}

// UnsettledOf implements [retention.Settler].
func (f inForce) UnsettledOf(ctx context.Context, tenant string) (retention.UnsettledPeriods, error) {
	p, err := f.gateway.PolicyInForce(ctx, tenant)
	if err != nil {
		return retention.UnsettledPeriods{}, fmt.Errorf("periods of candidates: %w", err)
	}
	out := retention.UnsettledPeriods{Default: retention.Unsettled(p.Retention()), ByCategory: map[string]retention.Unsettled{}}
	for name, c := range p.Categories() {
		out.ByCategory[name] = retention.Unsettled(c.Retention)
	}
	return out, nil
}
