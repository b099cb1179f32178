package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// errUnreadable says that opened bytes are not what a writer sealed.
var errUnreadable = errors.New("sealed content does not have its shape")

func episodeItem(row *projectors.EpisodeRow) seal.Item {
	return seal.Item{
		Scope:  seal.Scope{Tenant: row.Tenant, Subject: row.Subject, Class: row.Class},
		Label:  seal.Label{Aggregate: string(events.KindEpisode), Record: row.ID, EventType: row.ContentType},
		Sealed: row.Content,
	}
}

func factItem(row *projectors.FactRow) seal.Item {
	return seal.Item{
		Scope:  seal.Scope{Tenant: row.Tenant, Subject: row.Subject, Class: row.Class},
		Label:  seal.Label{Aggregate: string(events.KindFact), Record: row.Fact, EventType: events.TypeFactProposed},
		Sealed: row.Content,
	}
}

func (c *candidate) item() seal.Item {
	if c.episode != nil {
		return episodeItem(c.episode)
	}
	return factItem(c.fact)
}

// searchText is what a candidate is found by.
func (c *candidate) searchText(plain []byte) (string, error) {
	if c.episode != nil {
		content, err := parse[events.EpisodeContent](plain)
		return content.SearchText(), err
	}
	content, err := parse[events.FactContent](plain)
	return content.SearchText(), err
}

// openAll opens contents with one read of the keys. What was forgotten has no
// key any more: its place is nil, which is no error. Damage is one.
func (s *Service) openAll(ctx context.Context, items []seal.Item) ([][]byte, error) {
	if len(items) == 0 {
		return nil, nil
	}
	opened := make([][]byte, len(items))
	for i, res := range s.keys.OpenMany(ctx, items) {
		switch {
		case res.Err == nil:
			opened[i] = res.Plaintext
		case errors.Is(res.Err, seal.ErrKeyDestroyed):
		default:
			return nil, fmt.Errorf("open content: %w", res.Err)
		}
	}
	return opened, nil
}

func parse[T any](plain []byte) (T, error) {
	var v T
	if err := json.Unmarshal(plain, &v); err != nil {
		return v, errUnreadable // json's own words may quote the content
	}
	return v, nil
}

// factText is a fact as a sentence: whom it is about, what, and the value.
func factText(c events.FactContent) string {
	predicate := strings.NewReplacer("_", " ", "-", " ").Replace(c.Predicate)
	return c.Subject + " " + predicate + ": " + valueText(c.Value)
}

func valueText(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return string(v)
	}
	return string(text)
}
