package qdrantindex

import (
	"context"
	"fmt"
	"math"

	"github.com/qdrant/go-client/qdrant"

	"github.com/annals-memory/annals/projectors/index"
)

// model is what a tenant's vectors of one model have in common. Its point outlives them; it tells nothing but that the
// tenant uses the model.
type model struct {
	dim int
	// norm bounds the lengths of the vectors: they are up to 2 to the power of it.
	norm    int
	changed bool
}

// model returns what is known of a tenant's model; its dim is zero if nothing is.
func (ix *Index) model(ctx context.Context, tenant, name string) (model, error) {
	points, err := ix.get(ctx, []*qdrant.PointId{modelID(tenant, name)}, nil)
	if err != nil || len(points) == 0 {
		return model{}, err
	}
	p := points[0].GetPayload()
	r := reader{payload: p}
	m := model{dim: int(r.number(fieldDim)), norm: int(r.number(fieldNorm))}
	if r.bad || !isRow(p, rowModel, tenant) || m.dim < 1 || m.dim > index.MaxDim {
		return model{}, fmt.Errorf("read model: %w", index.ErrCorrupt)
	}
	return m, nil
}

// admit takes in a vector.
func (m *model) admit(values []float32) error {
	if m.dim != 0 && m.dim != len(values) {
		return fmt.Errorf("compare dimensions: %w", index.ErrVectorDim)
	}
	_, norm := math.Frexp(length(values))
	if m.dim == 0 || norm > m.norm {
		m.dim, m.norm, m.changed = len(values), norm, true
	}
	return nil
}

func length(values []float32) float64 {
	return math.Sqrt(dot(values, values))
}

func dot(a, b []float32) float64 {
	var sum float64
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// point is what is stored of m.
func (m *model) point(k modelKey) write {
	return write{
		id: modelID(k.tenant, k.model), vectors: map[string]*qdrant.Vector{},
		payload: map[string]any{
			fieldRow: rowModel, fieldTenant: k.tenant, fieldDim: int64(m.dim), fieldNorm: int64(m.norm),
		},
	}
}

// createVector makes room for vectors of a name. Doing it twice does nothing.
func (ix *Index) createVector(ctx context.Context, name string, dim int) error {
	info, err := ix.info(ctx)
	if err != nil {
		return err
	}
	if _, ok := info.GetConfig().GetParams().GetVectorsConfig().GetParamsMap().GetMap()[name]; ok {
		return nil
	}
	return ix.client.write(ctx, "create vector", func(ctx context.Context) (*qdrant.UpdateResult, error) {
		return ix.client.c.CreateVectorName(ctx, &qdrant.CreateVectorNameRequest{
			CollectionName: ix.collection, VectorName: name, Wait: new(true), Ordering: strong(),
			VectorConfig: &qdrant.CreateVectorNameRequest_DenseConfig{DenseConfig: &qdrant.DenseVectorCreationConfig{
				Size: uint64(dim), Distance: qdrant.Distance_Dot, //nolint:gosec // a dimension.
			}},
		})
	})
}
