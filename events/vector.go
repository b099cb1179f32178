package events

// VectorEmbedded adds the embedding of one record under one model, so that a
// replay calls no model. It is sealed with the record's key, so that the
// record's tombstone reaches it.
type VectorEmbedded struct {
	Record  string `json:"record"`
	Subject string `json:"subject"`
	Class   string `json:"class"`
	// Of is the kind of the embedded aggregate, KindEpisode or KindFact.
	Of Kind `json:"of"`
	// Source is the position of the commit whose text was embedded.
	Source uint64 `json:"source"`
	// Model is the key of the model, with provider, revision and dimensions.
	Model string `json:"model"`
	// Content is the sealed vector: Dim little-endian float32 values.
	Content []byte `json:"content"`
	Dim     int    `json:"dim"`
}
