package embed

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrVectorCount is the reason for another number of vectors than texts.
	ErrVectorCount = errors.New("number of vectors differs from number of texts")
	// ErrVectorDim is the reason for a vector with another number of components than the model id says.
	ErrVectorDim = errors.New("wrong number of components")
	// ErrVectorNotFinite is the reason for a vector with a NaN or infinite component.
	ErrVectorNotFinite = errors.New("component is not finite")
	// ErrVectorNotUnit is the reason for a vector whose length is not 1; a zero vector is one of these.
	ErrVectorNotUnit = errors.New("length is not 1")
)

// unitTolerance is how far a length may be from 1. Rounding to float32 costs about 1e-7 per component, at random;
// a vector that nobody normalised is off by far more.
const unitTolerance = 1e-4

// VectorError says that a model returned something that must not be stored or compared. Retrying does not help, as a
// rule: the model, its revision or its dimension is not the one that was configured.
type VectorError struct {
	// Index is the position in the batch of the text whose vector it is, or -1 when the batch as a whole is wrong.
	Index int
	// Reason is one of ErrVectorCount, ErrVectorDim, ErrVectorNotFinite and ErrVectorNotUnit.
	Reason error
}

// Error names the position and the rule, never a component.
func (e *VectorError) Error() string {
	if e.Index < 0 {
		return "bad vectors: " + e.Reason.Error()
	}

	return fmt.Sprintf("bad vector %d: %s", e.Index, e.Reason)
}

// Unwrap returns the reason.
func (e *VectorError) Unwrap() error { return e.Reason }

// Check returns a *VectorError for the first of the vectors that breaks the contract of [Embedder], or if there is
// not one for each of the texts. Nil vectors pass: they are the answer for a text without tokens.
func Check(id ModelID, texts int, vectors [][]float32) error {
	if len(vectors) != texts {
		return &VectorError{Index: -1, Reason: ErrVectorCount}
	}

	for i, v := range vectors {
		if v == nil {
			continue
		}

		if reason := fault(id.Dim, v); reason != nil {
			return &VectorError{Index: i, Reason: reason}
		}
	}

	return nil
}

func fault(dim int, v []float32) error {
	if len(v) != dim {
		return ErrVectorDim
	}

	square := squareLength(v)
	if math.IsNaN(square) || math.IsInf(square, 0) {
		return ErrVectorNotFinite
	}

	if math.Abs(math.Sqrt(square)-1) > unitTolerance {
		return ErrVectorNotUnit
	}

	return nil
}

// Normalize scales v in place to length 1. A vector that has no direction (all zero, or with a component that is not
// finite) is left as it is, for [Check] to refuse.
func Normalize(v []float32) {
	square := squareLength(v)
	if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
		return
	}

	scale := 1 / math.Sqrt(square)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}

// squareLength cannot overflow: the square of the largest float32 is far inside float64. It is NaN or infinite
// exactly when a component is.
func squareLength(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}

	return sum
}
