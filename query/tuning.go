package query

import (
	"context"
	"fmt"
	"time"

	"github.com/annals-memory/annals/events/token"
)

// CategoryWeights is what a trace says of weights that are a category's own.
const CategoryWeights = "category"

// Tuning is what is said of one category.
type Tuning struct {
	// Horizon is the age at which a memory of it has no freshness left; 0 if nothing
	// is said.
	Horizon time.Duration
	// Weights are those of a recall of it alone that names none; nil if nothing is
	// said.
	Weights *Weights
}

// Tuner tells what is said of categories.
type Tuner interface {
	// TuningOf returns it for a tenant, given by its token, by the name of the
	// category in the form of [token.NFC].
	TuningOf(ctx context.Context, tenant string) (map[string]Tuning, error)
}

// tuned is what one reading goes by.
type tuned struct {
	horizons horizons
	// weights are those of the one category that was asked for, nil if it has none
	// or there is not one.
	weights *Weights
}

// tune asks what is said of categories, of which a request names some. What was
// configured holds of those that nothing is said of.
func (s *Service) tune(ctx context.Context, r *reading, categories []string) (tuned, error) {
	if r.tenant == nil {
		return tuned{}, nil
	}
	out := tuned{horizons: make(horizons, len(s.horizons))}
	for category, d := range s.horizons {
		out.horizons[token.Category(r.tenant, category)] = d
	}
	if s.tuner == nil {
		return out, nil
	}
	all, err := s.tuner.TuningOf(ctx, r.token)
	if err != nil {
		return tuned{}, fmt.Errorf("read what is said of categories: %w", err)
	}
	for category, t := range all {
		if t.Horizon > 0 {
			out.horizons[token.Category(r.tenant, category)] = t.Horizon
		}
	}
	if len(categories) == 1 {
		out.weights = all[token.NFC(categories[0])].Weights
	}
	return out, nil
}
