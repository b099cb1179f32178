package httpapi

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

// batchRequest is a producers.CaptureBatchRequest whose items are decoded one
// by one, so that one that is malformed refuses itself alone.
type batchRequest struct {
	Items []rawItem `json:"items"`
}

// rawItem is a producers.CaptureRequest that is not decoded yet.
type rawItem jsontext.Value

// UnmarshalJSON keeps the bytes.
func (i *rawItem) UnmarshalJSON(b []byte) error {
	*i = append((*i)[:0], b...)
	return nil
}

type batchAnswer struct {
	Results  []batchResult `json:"results"`
	Position uint64        `json:"position"`
}

type batchResult struct {
	Index  int      `json:"index"`
	ID     string   `json:"id,omitempty"`
	Status string   `json:"status,omitempty"`
	Error  *Problem `json:"error,omitempty"`
}

func captureBatch(ctx context.Context, g *producers.Gateway, r Request[batchRequest]) (batchAnswer, error) {
	// The place of an item is part of what a key stands for, so that one that
	// is malformed keeps its place: an empty request, which is refused too.
	in := producers.CaptureBatchRequest{Items: make([]producers.CaptureRequest, len(r.In.Items))}
	malformed := map[int]error{}
	for i, raw := range r.In.Items {
		var item producers.CaptureRequest
		if err := decodeStrict(raw, &item); err != nil {
			malformed[i] = under(i, err)
			continue
		}
		in.Items[i] = item
	}
	done, err := g.CaptureBatch(ctx, r.Caller, r.Key, in)
	if err != nil {
		return batchAnswer{}, err
	}
	out := batchAnswer{Results: make([]batchResult, len(done.Results)), Position: done.Position}
	for i, result := range done.Results {
		out.Results[i] = batchResult{Index: result.Index, ID: result.ID, Status: string(result.Status)}
		err := malformed[i]
		if err == nil && result.Error != nil {
			err = result.Error
		}
		if err != nil {
			p, _ := problemOf(err)
			if result.Error != nil && p.Field == "" {
				p.Field = result.Error.Field
			}
			out.Results[i].Error = &p
		}
	}
	return out, nil
}

// under puts the place of an item before the field at fault.
func under(i int, err error) error {
	if in, ok := err.(*events.InputError); ok { //nolint:errorlint // decodeStrict returns nothing else.
		at := *in
		at.Field = "items[" + strconv.Itoa(i) + "]"
		if in.Field != "body" {
			at.Field += "." + in.Field
		}
		return &at
	}
	return err
}
