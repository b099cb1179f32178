package qdrantindex

import (
	"context"
	"slices"

	"github.com/qdrant/go-client/qdrant"
)

// get reads points by their ids, a page at a time, with the vectors named. Those that are not there are left out.
func (ix *Index) get(ctx context.Context, ids []*qdrant.PointId, vectors *qdrant.WithVectorsSelector) ([]*qdrant.RetrievedPoint, error) {
	var all []*qdrant.RetrievedPoint
	for page := range slices.Chunk(ids, pageSize) {
		points, err := ask(ctx, ix.client, "read points", func(ctx context.Context) ([]*qdrant.RetrievedPoint, error) {
			return ix.client.c.Get(ctx, &qdrant.GetPoints{
				CollectionName: ix.collection, Ids: page, WithPayload: qdrant.NewWithPayloadEnable(true), WithVectors: vectors,
			})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, points...)
	}
	return all, nil
}

// upsert stores points where none of that version or a later one is, a page at a time.
func (ix *Index) upsert(ctx context.Context, points []*qdrant.PointStruct, version int64) error {
	older := &qdrant.Filter{Must: []*qdrant.Condition{
		qdrant.NewRange(fieldWrite, &qdrant.Range{Lt: new(float64(version))}),
	}}
	for page := range slices.Chunk(points, pageSize) {
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
