package projectors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/words"
)

// opened is what one event's sealed content came to.
type opened struct {
	state  openState
	cause  string // of parking, if the content is damaged
	terms  []index.Term
	length uint32
	// labels are what the events do not have: the tokens of keys of metadata, and
	// of the order of its numbers and times.
	labels []string
	vector []float32
}

type openState uint8

const (
	notOpened openState = iota
	isOpen
	keyGone   // the key is destroyed
	isDamaged // the content is not what was sealed, or not what its type says
)

func damagedBy(cause string) opened { return opened{state: isDamaged, cause: cause} }

// contents opens sealed contents for the memories, in bulk, and keeps nothing of them but keyed hashes and vectors.
type contents struct {
	keys  *seal.Keyring
	model string
	terms func(text string) []string
}

// request is one content to open, and where the answer goes.
type request struct {
	item, event int
	sealed      seal.Item
	finish      func(plain []byte, k *tenantKeys) opened
}

// tenantKeys are what a tenant's words and labels are hashed with.
type tenantKeys struct {
	terms  []byte
	hasher token.Hasher
	cut    func(text string) []string
	// known are the tokens of the terms of one chunk: hashing costs more than looking.
	known map[string]uint64
}

// prepare opens what the fold will need of each commit. What a content that cannot be opened means is for the fold to say,
// which knows the tombstones; that the rows of keys cannot be read is fatal.
func (c *contents) prepare(ctx context.Context, items []item) error {
	var requests []request
	for i := range items {
		if items[i].err != nil {
			continue
		}
		items[i].opened = make([]opened, len(items[i].rec.Events))
		requests = c.requests(requests, i, &items[i])
	}
	if len(requests) == 0 {
		return nil
	}
	sealed := make([]seal.Item, len(requests))
	for i := range requests {
		sealed[i] = requests[i].sealed
	}
	keys := make(map[string]*tenantKeys)
	for i, res := range c.keys.OpenMany(ctx, sealed) {
		o, err := c.finish(ctx, &requests[i], res, keys)
		if err != nil {
			return err
		}
		items[requests[i].item].opened[requests[i].event] = o
	}
	return nil
}

func (c *contents) requests(list []request, i int, it *item) []request {
	for j, e := range it.rec.Events {
		switch e := e.(type) {
		case events.EpisodeCaptured:
			list = append(list, request{item: i, event: j, finish: finishEpisode, sealed: episodeItem(it, j, &e)})
		case events.FactProposed:
			if promotes(it.rec.Events, e.Fact) {
				list = append(list, request{
					item: i, event: j, finish: finishFact,
					sealed: factItem(it.rec.Aggregate.Tenant, it.types[j], &e),
				})
			}
		case events.VectorEmbedded:
			if c.model == "" || c.model == e.Model {
				list = append(list, request{
					item: i, event: j, finish: finishVector,
					sealed: vectorItem(it.rec.Aggregate.Tenant, it.types[j], &e),
				})
			}
		default:
		}
	}
	return list
}

func promotes(list []events.Event, fact string) bool {
	for _, e := range list {
		if p, ok := e.(events.FactPromoted); ok && p.Fact == fact {
			return true
		}
	}
	return false
}

func episodeItem(it *item, event int, e *events.EpisodeCaptured) seal.Item {
	return seal.Item{
		Scope: seal.Scope{Tenant: it.rec.Aggregate.Tenant, Subject: e.Subject, Class: e.Class},
		Label: seal.Label{
			Aggregate: string(events.KindEpisode), Record: it.rec.Aggregate.ID, EventType: it.types[event],
		},
		Sealed: e.Content,
	}
}

func factItem(tenant, typ string, e *events.FactProposed) seal.Item {
	return seal.Item{
		Scope:  seal.Scope{Tenant: tenant, Subject: e.Subject, Class: e.Class},
		Label:  seal.Label{Aggregate: string(events.KindFact), Record: e.Fact, EventType: typ},
		Sealed: e.Content,
	}
}

func vectorItem(tenant, typ string, e *events.VectorEmbedded) seal.Item {
	return seal.Item{
		Scope:  seal.Scope{Tenant: tenant, Subject: e.Subject, Class: e.Class},
		Label:  seal.Label{Aggregate: string(events.KindVector), Record: e.Record, EventType: typ},
		Sealed: e.Content,
	}
}

// finish turns an answer into what the fold needs.
func (c *contents) finish(ctx context.Context, q *request, res seal.Result, keys map[string]*tenantKeys) (opened, error) {
	switch {
	case errors.Is(res.Err, seal.ErrKeyDestroyed):
		return opened{state: keyGone}, nil
	case errors.Is(res.Err, seal.ErrTampered):
		return damagedBy(causeTampered), nil
	case errors.Is(res.Err, seal.ErrBadToken):
		return damagedBy(causeBadToken), nil
	case res.Err != nil:
		return opened{}, fmt.Errorf("open content: %w", res.Err)
	}
	defer clear(res.Plaintext)
	tenant := q.sealed.Scope.Tenant
	k, ok := keys[tenant]
	if !ok {
		t, err := c.keys.TenantByToken(ctx, tenant)
		if errors.Is(err, seal.ErrKeyDestroyed) {
			return opened{state: keyGone}, nil
		}
		if err != nil {
			return opened{}, fmt.Errorf("find tenant: %w", err)
		}
		k = &tenantKeys{terms: t.TermKey(), hasher: t, cut: c.terms, known: make(map[string]uint64)}
		keys[tenant] = k
	}
	return q.finish(res.Plaintext, k), nil
}

// openFact opens the content of a fact that is promoted later than it was proposed.
func (c *contents) openFact(ctx context.Context, tenant string, f *events.FactProposed) (opened, error) {
	q := request{sealed: factItem(tenant, events.TypeFactProposed, f), finish: finishFact}
	return c.openOne(ctx, &q)
}

func (c *contents) openVector(ctx context.Context, sealed seal.Item) (opened, error) {
	q := request{sealed: sealed, finish: finishVector}
	return c.openOne(ctx, &q)
}

func (c *contents) openOne(ctx context.Context, q *request) (opened, error) {
	res := c.keys.OpenMany(ctx, []seal.Item{q.sealed})
	return c.finish(ctx, q, res[0], make(map[string]*tenantKeys))
}

func finishEpisode(plain []byte, k *tenantKeys) opened {
	var content events.EpisodeContent
	if err := json.Unmarshal(plain, &content); err != nil {
		return damagedBy(causeBadContent)
	}
	o := openText(content.SearchText(), k)
	o.labels = labelsOf(content.Metadata, k.hasher)
	return o
}

// labelsOf are the tokens by which a condition finds that a key is there and that its value is in a range. Sorted, their
// order tells nothing.
func labelsOf(metadata map[string]jsontext.Value, h token.Hasher) []string {
	var list []string
	for key, value := range metadata {
		list = append(append(list, token.LabelKey(h, key)), token.LabelSteps(h, key, value)...)
	}
	slices.Sort(list)
	return list
}

func finishFact(plain []byte, k *tenantKeys) opened {
	var content events.FactContent
	if err := json.Unmarshal(plain, &content); err != nil {
		return damagedBy(causeBadContent)
	}
	return openText(content.SearchText(), k)
}

func finishVector(plain []byte, _ *tenantKeys) opened {
	if len(plain) == 0 || len(plain)%4 != 0 {
		return damagedBy(causeBadVector)
	}
	values := make([]float32, len(plain)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(plain[4*i:]))
	}
	if index.CheckValues(values) != nil {
		return damagedBy(causeBadVector)
	}
	return opened{state: isOpen, vector: values}
}

// openText turns text into its terms: each distinct one with its frequency, in the order of first occurrence.
func openText(text string, k *tenantKeys) opened {
	list := k.cut(text)
	o := opened{state: isOpen, length: clampUint32(len(list))}
	at := make(map[string]int, len(list))
	seen := make(map[uint64]int, len(list))
	for _, w := range list {
		i, ok := at[w]
		if !ok {
			term, hashed := k.known[w]
			if !hashed {
				term = words.Key(k.terms, w)
				k.known[w] = term
			}
			if i, ok = seen[term]; !ok {
				i = len(o.terms)
				seen[term] = i
				o.terms = append(o.terms, index.Term{Token: term})
			}
			at[w] = i
		}
		if o.terms[i].TF < math.MaxUint16 {
			o.terms[i].TF++
		}
	}
	return o
}

func clampUint32(n int) uint32 {
	if n > math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(n) //nolint:gosec // bounded above; a length is not negative.
}
