package index

import "fmt"

// The parameters of BM25.
const (
	// BM25K1 bounds how much repeating a term helps.
	BM25K1 = 1.2
	// BM25B is how much of the length is normalised away.
	BM25B = 0.75
)

// Query asks for the best K documents per channel among those that pass the filter.
type Query struct {
	Filter

	// Terms are the tokens of the query's words; repetitions count once. None means no lexical channel. Scores are summed
	// in this order: equal orders give equal bits, whatever key the tokens were made with.
	Terms []uint64
	// Vector is the embedding of the query. None means no dense channel.
	Vector []float32
	// Model is the token of the embedding model, required with Vector.
	Model string
	// K is the greatest length of each list; zero asks for the counts alone.
	K int
}

// Validate reports the first field that is out of range, with the errors of [Filter.Validate] and [CheckValues] or as
// [ErrQuery].
func (q *Query) Validate() error {
	if err := q.Filter.Validate(); err != nil {
		return err
	}
	if q.K < 0 {
		return fmt.Errorf("check k: %w", ErrQuery)
	}
	if len(q.Vector) == 0 {
		return nil
	}
	if err := checkTokens([]string{q.Model}, false); err != nil {
		return err
	}
	return CheckValues(q.Vector)
}

// Hit is one document found in one channel.
type Hit struct {
	// ID and Subject name the document.
	ID, Subject string
	// Kind says what sort of memory it is.
	Kind Kind
	// Seq is the log position of the event that created it.
	Seq uint64
	// Trust, ObservedUS, Session and Category are the document's, for the caller to rank by.
	Trust             uint8
	ObservedUS        int64
	Session, Category string
	// Score is the dot product in the dense channel and the BM25 score in the lexical one.
	Score float64
	// Other is the same document's score in the other channel, so that the caller can fuse the two: zero in the lexical
	// one if it has none of the words. InBoth is false if it has no vector to be scored by, or the query has none, or the
	// query has no words.
	Other  float64
	InBoth bool
}

// Candidates is the answer to a query. Each list is ranked best first, equal scores by Seq descending, then by ID.
type Candidates struct {
	// Dense holds the eligible documents nearest to the query's vector.
	Dense []Hit
	// Lexical holds the eligible documents with a BM25 score above zero.
	Lexical []Hit
	// Eligible is the number of documents that passed the filter.
	Eligible int
	// VectorsMissing is the number of eligible documents without a vector of the query's model, which therefore had no
	// chance in the dense channel. It is zero when the query has no vector.
	VectorsMissing int
	// Ceiling is what the BM25 score of a document of the scope stays below: (k1 + 1) times the sum of the inverse
	// document frequencies of the query's words, those that no document has included. Zero without words or documents.
	Ceiling float64
}
