package qdrantindex

import (
	"context"
	"errors"
	"iter"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// get reads points by their ids, a page at a time, with the vectors named. Those that are not there are left out. How large
// a page is shows when it comes: if it is too large, those that follow have half as many points.
func (ix *Index) get(ctx context.Context, ids []*qdrant.PointId, vectors *qdrant.WithVectorsSelector) ([]*qdrant.RetrievedPoint, error) {
	var all []*qdrant.RetrievedPoint
	for size := pageSize; len(ids) > 0; {
		page := ids[:min(size, len(ids))]
		points, err := ask(ctx, ix.client, "read points", func(ctx context.Context) ([]*qdrant.RetrievedPoint, error) {
			return ix.client.c.Get(ctx, &qdrant.GetPoints{
				CollectionName: ix.collection, Ids: page, WithPayload: qdrant.NewWithPayloadEnable(true), WithVectors: vectors,
			})
		})
		if refused := (*CallError)(nil); errors.As(err, &refused) && refused.Code == codes.ResourceExhausted && len(page) > 1 {
			size = len(page) / 2
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, points...)
		ids = ids[len(page):]
	}
	return all, nil
}

// upsert stores points under a mark where none of that mark or a later one is, a page at a time.
func (ix *Index) upsert(ctx context.Context, writes []write, m Mark) error {
	points := make([]*qdrant.PointStruct, len(writes))
	for i := range writes {
		p, err := writes[i].point(m)
		if err != nil {
			return err
		}
		points[i] = p
	}
	older := m.older().filter()
	for page := range pages(points) {
		err := ix.client.write(ctx, "write points", func(ctx context.Context) (*qdrant.UpdateResult, error) {
			return ix.client.c.Upsert(ctx, &qdrant.UpsertPoints{
				CollectionName: ix.collection, Points: page, UpdateFilter: older, Wait: new(true), Ordering: strong(),
				Timeout: ix.client.seconds(),
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pages cuts points into what one request may hold. A point that is too large for that is alone: what one document can come
// to is less than a server takes.
func pages(points []*qdrant.PointStruct) iter.Seq[[]*qdrant.PointStruct] {
	return func(yield func([]*qdrant.PointStruct) bool) {
		from, size := 0, 0
		for i, p := range points {
			n := proto.Size(p)
			if i > from && (i-from == pageSize || size+n > pageBytes) {
				if !yield(points[from:i]) {
					return
				}
				from, size = i, 0
			}
			size += n
		}
		if from < len(points) {
			yield(points[from:])
		}
	}
}

// remove deletes the points of a filter for good.
func (ix *Index) remove(ctx context.Context, f *qdrant.Filter) error {
	return ix.client.write(ctx, "delete points", func(ctx context.Context) (*qdrant.UpdateResult, error) {
		return ix.client.c.Delete(ctx, &qdrant.DeletePoints{
			CollectionName: ix.collection, Points: qdrant.NewPointsSelectorFilter(f), Wait: new(true),
			Ordering: strong(), Timeout: ix.client.seconds(),
		})
	})
}

// count counts the points that a clause holds for.
func (ix *Index) count(ctx context.Context, cl clause) (int, error) {
	if cl.known { // it is never known to hold, for it is about one tenant
		return 0, nil
	}
	n, err := ask(ctx, ix.client, "count points", func(ctx context.Context) (uint64, error) {
		return ix.client.c.Count(ctx, &qdrant.CountPoints{
			CollectionName: ix.collection, Filter: cl.filter(), Exact: new(true),
		})
	})
	return int(n), err //nolint:gosec // a count of points.
}
