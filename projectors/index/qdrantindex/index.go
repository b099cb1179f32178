package qdrantindex

import (
	"context"
	"errors"
	"fmt"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
)

const (
	maxFetch = 16384 // documents asked for in one ranked list, and values in one facet
	pageSize = 256   // points read or written in one request
	// pageBytes is what points come to that are written in one request, unless it is one point.
	pageBytes = 4 << 20
	wordsName = "words"

	// Graphs for approximate search are built for each tenant, and never used: every search is exact. Small ones cost the
	// least that the server lets them cost.
	noGraph = 0
)

// Index is one memory search index in one collection. It holds no state, so it is safe for concurrent use; of the
// writers of a collection there must be one at a time.
type Index struct {
	client     *Client
	collection string
}

// Index returns the index in a collection, whether that exists or not.
func (c *Client) Index(collection string) *Index {
	return &Index{client: c, collection: collection}
}

// Name returns the name of the collection.
func (ix *Index) Name() string { return ix.collection }

// Exists reports whether the collection, or an alias of that name, is there.
func (ix *Index) Exists(ctx context.Context) (bool, error) {
	return ask(ctx, ix.client, "look for collection", func(ctx context.Context) (bool, error) {
		return ix.client.c.CollectionExists(ctx, ix.collection)
	})
}

// Create makes the collection with all of its payload indexes, or completes what an earlier call left, and checks it as
// [Index.Check] does. What the collection holds stays.
func (ix *Index) Create(ctx context.Context) error {
	exists, err := ix.Exists(ctx)
	if err != nil {
		return err
	}
	if !exists {
		if err := ix.create(ctx); err != nil {
			return err
		}
	}
	// All of them before the first point: those that come later may miss points.
	for _, f := range schema() {
		if err := ix.createField(ctx, &f); err != nil {
			return err
		}
	}
	return ix.Check(ctx)
}

func (ix *Index) create(ctx context.Context) error {
	err := ix.client.call(ctx, "create collection", func(ctx context.Context) error {
		return ix.client.c.CreateCollection(ctx, &qdrant.CreateCollection{
			CollectionName: ix.collection,
			SparseVectorsConfig: qdrant.NewSparseVectorsConfig(map[string]*qdrant.SparseVectorParams{
				wordsName: {},
			}),
			HnswConfig: &qdrant.HnswConfigDiff{M: new(uint64(noGraph)), PayloadM: new(uint64(noGraph))},
			StrictModeConfig: &qdrant.StrictModeConfig{
				Enabled:                    new(true),
				UnindexedFilteringRetrieve: new(false),
				UnindexedFilteringUpdate:   new(false),
				SearchAllowExact:           new(true),
				MaxQueryLimit:              new(uint32(maxFetch)),
				UpsertMaxBatchsize:         new(uint64(pageSize)),
			},
		})
	})
	// The first of two attempts may have succeeded.
	if refused := (*CallError)(nil); errors.As(err, &refused) && refused.Code == codes.AlreadyExists {
		return nil
	}
	return err
}

func (ix *Index) createField(ctx context.Context, f *field) error {
	return ix.client.write(ctx, "create payload index", func(ctx context.Context) (*qdrant.UpdateResult, error) {
		return ix.client.c.CreateFieldIndex(ctx, &qdrant.CreateFieldIndexCollection{
			CollectionName: ix.collection, FieldName: f.name, FieldType: f.kind.Enum(), FieldIndexParams: f.params(),
			Wait: new(true), Ordering: strong(),
		})
	})
}

// Check reports a collection that lacks an index or that hides points, as [ErrSchema].
func (ix *Index) Check(ctx context.Context) error {
	info, err := ix.info(ctx)
	if err != nil {
		return err
	}
	for _, f := range schema() {
		if _, ok := info.GetPayloadSchema()[f.name]; !ok {
			return fmt.Errorf("check payload indexes: %w", ErrSchema)
		}
	}
	params := info.GetConfig().GetParams()
	if _, ok := params.GetSparseVectorsConfig().GetMap()[wordsName]; !ok {
		return fmt.Errorf("check vectors: %w", ErrSchema)
	}
	if info.GetConfig().GetOptimizerConfig().GetPreventUnoptimized() {
		return fmt.Errorf("check visibility of points: %w", ErrSchema)
	}
	return nil
}

func (ix *Index) info(ctx context.Context) (*qdrant.CollectionInfo, error) {
	return ask(ctx, ix.client, "read collection", func(ctx context.Context) (*qdrant.CollectionInfo, error) {
		return ix.client.c.GetCollectionInfo(ctx, ix.collection)
	})
}

// Drop removes the collection with everything in it. There need be none.
func (ix *Index) Drop(ctx context.Context) error {
	exists, err := ix.Exists(ctx)
	if err != nil || !exists {
		return err
	}
	err = ix.client.call(ctx, "delete collection", func(ctx context.Context) error {
		return ix.client.c.DeleteCollection(ctx, ix.collection)
	})
	if err == nil {
		return nil
	}
	// The first of two attempts may have succeeded, which the second cannot tell from a refusal.
	if exists, again := ix.Exists(ctx); again == nil && !exists {
		return nil
	}
	return err
}

// Serve points an alias at the collection, in one step: who asks for the alias finds what it named before or this.
func (ix *Index) Serve(ctx context.Context, alias string) error {
	return ix.client.call(ctx, "switch alias", func(ctx context.Context) error {
		return ix.client.c.CreateAlias(ctx, alias, ix.collection)
	})
}

// Serving returns the collection that an alias names, "" if there is no such alias.
func (c *Client) Serving(ctx context.Context, alias string) (collection string, err error) {
	list, err := ask(ctx, c, "read aliases", c.c.ListAliases)
	for _, a := range list {
		if a.GetAliasName() == alias {
			collection = a.GetCollectionName()
		}
	}
	return collection, err
}

// Collections returns the names of all collections of the server.
func (c *Client) Collections(ctx context.Context) ([]string, error) {
	return ask(ctx, c, "list collections", c.c.ListCollections)
}
