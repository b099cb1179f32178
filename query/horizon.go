package query

import (
	"time"

	"github.com/annals-memory/annals/events/token"
)

// horizons are by the token of a category.
type horizons map[string]time.Duration

func (s *Service) horizonTokens(r *reading) horizons {
	tokens := make(horizons, len(s.horizons))
	for category, d := range s.horizons {
		tokens[token.Category(r.tenant, category)] = d
	}
	return tokens
}

func (h horizons) of(category string) time.Duration {
	if d, ok := h[category]; ok {
		return d
	}
	return DefaultHorizon
}
