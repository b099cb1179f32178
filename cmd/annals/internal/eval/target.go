package eval

import (
	"context"
	"fmt"
	"net/http"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

// Target is the node that is measured.
type Target interface {
	// Client calls as an agent of a tenant whose channel is a user's.
	Client(tenant string) (*client.Client, error)
	// Settle returns when everything acknowledged so far is embedded and in
	// every view.
	Settle(ctx context.Context) error
}

// Progress is called as work goes on; total is 0 where it is not known.
type Progress func(what string, done, total int)

// captureBatch is the number of episodes sent in one call.
const captureBatch = 500

// capture sends episodes of one tenant in batches and returns the id of each,
// in order.
func capture(ctx context.Context, c *client.Client, items []map[string]any) ([]string, error) {
	var ids []string
	for len(items) > 0 {
		n := min(len(items), captureBatch)
		var out struct {
			Results []struct {
				ID    string               `json:"id"`
				Error *client.ProblemError `json:"error"`
			} `json:"results"`
		}
		err := c.Do(ctx, client.Call{
			Method: http.MethodPost, Path: "/v1/episodes/batch", Body: map[string]any{"items": items[:n]}, Out: &out,
		})
		if err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
		if len(out.Results) != n {
			return nil, fmt.Errorf("capture: %d answers for %d episodes", len(out.Results), n)
		}
		for _, r := range out.Results {
			if r.Error != nil {
				return nil, fmt.Errorf("capture: %w", r.Error)
			}
			ids = append(ids, r.ID)
		}
		items = items[n:]
	}
	return ids, nil
}
