package query

import "time"

// horizons are by the token of a category.
type horizons map[string]time.Duration

func (h horizons) of(category string) time.Duration {
	if d, ok := h[category]; ok {
		return d
	}
	return DefaultHorizon
}
