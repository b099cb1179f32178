package events

// SubjectRegistered is the first event of a subject. The aggregate's id is the
// subject's random id.
type SubjectRegistered struct {
	Class string `json:"class"`
	// Content is a sealed SubjectContent.
	Content []byte `json:"content"`
}

// SubjectContent is what is sealed in a SubjectRegistered.
type SubjectContent struct {
	// Name is the outside name.
	Name string `json:"name"`
}

// SubjectForgotten is the tombstone of a subject and of everything about it.
// It holds no value. The id is never used again.
type SubjectForgotten struct {
	Erasure string `json:"erasure"`
}
