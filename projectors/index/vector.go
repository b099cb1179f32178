package index

import (
	"fmt"
	"math"
)

const (
	// MaxDim is the greatest number of dimensions of a vector.
	MaxDim = 8192

	minNorm, maxNorm = 1e-6, 1e6
)

// Vector is the embedding of one document. It arrives later than the [Doc] and belongs to the version of the document it
// finds: a vector without a document, or with a Seq below the document's, is dropped without an error, and a newer put of
// the document drops the vectors it had.
type Vector struct {
	// Tenant, Subject and ID name the document.
	Tenant, Subject, ID string
	// Model is the token of the embedding model. Vectors of different models are never compared, and one document may
	// hold one vector of each.
	Model string
	// Seq is the log position the vector comes from. Of two vectors of one model the greater Seq stays.
	Seq uint64
	// Values is the embedding, meant to be of unit length. Scores are plain dot products; nothing is normalised.
	Values []float32
}

// Validate reports the first field that is out of range as [ErrTenant], [ErrToken], [ErrVectorDim], [ErrVectorValue] or
// [ErrVectorNorm].
func (v *Vector) Validate() error {
	if err := checkKey(v.Tenant, v.Subject, v.ID); err != nil {
		return err
	}
	if err := checkTokens([]string{v.Model}, false); err != nil {
		return err
	}
	return CheckValues(v.Values)
}

// CheckValues reports values that cannot be ranked: [ErrVectorDim] for none or more than [MaxDim], [ErrVectorValue] for a
// NaN or an infinity, [ErrVectorNorm] for a length of zero or more than a million times away from one.
func CheckValues(values []float32) error {
	if len(values) == 0 || len(values) > MaxDim {
		return fmt.Errorf("check vector: %w", ErrVectorDim)
	}
	var sum float64
	for _, x := range values {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("check vector: %w", ErrVectorValue)
		}
		sum += f * f
	}
	if norm := math.Sqrt(sum); norm < minNorm || norm > maxNorm {
		return fmt.Errorf("check vector: %w", ErrVectorNorm)
	}
	return nil
}
