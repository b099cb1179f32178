package events

// TraceRecalled says which memories an answer was made of.
type TraceRecalled struct {
	Trace string `json:"trace"`
	// Subject is the id of the subject asked about. If the whole tenant was, it
	// is the id of the subject that stands for the tenant: one of its own in
	// each tenant, which has keys but no events and is not told apart from
	// others by its form.
	Subject string `json:"subject,omitempty"`
	Class   string `json:"class"`
	// At is the position that was read.
	At       uint64   `json:"at"`
	Memories []string `json:"memories"`
	Weights  string   `json:"weights,omitempty"`
	// Lowest is the lowest trust of the memories, zero if there are none.
	Lowest Trust `json:"lowest,omitzero"`
	// Content is a TraceContent, sealed under the key of the subject's own first
	// event, with the id of the trace as the part of its label.
	Content []byte `json:"content"`
}

// TraceContent is what is sealed in a TraceRecalled.
type TraceContent struct {
	Query string `json:"query"`
	// Terms are those of the memories; nil in a trace of an earlier version.
	Terms *RecallTerms `json:"terms,omitempty"`
}

// RecallTerms are what the scores of recalled memories were made of, each in 0..1 and
// in the order of the memories: what the weights of a ranking apply to. They are
// sealed with the question, for they say how near to it a memory is.
type RecallTerms struct {
	Relevance   []float64 `json:"relevance"`
	Freshness   []float64 `json:"freshness"`
	Reliability []float64 `json:"reliability"`
}

// Len is the number of memories, -1 if the terms are not of the same.
func (t *RecallTerms) Len() int {
	if len(t.Freshness) != len(t.Relevance) || len(t.Reliability) != len(t.Relevance) {
		return -1
	}
	return len(t.Relevance)
}

// TraceUsed says which of the memories went into an answer or decision.
type TraceUsed struct {
	Trace    string   `json:"trace"`
	Memories []string `json:"memories"`
	// AnswerRef is a token of the caller's reference.
	AnswerRef string `json:"answer_ref,omitempty"`
}

// Judgement is what a reader thought of one recalled memory.
type Judgement string

// The judgements.
const (
	JudgedUseful     Judgement = "useful"
	JudgedIrrelevant Judgement = "irrelevant"
	JudgedStale      Judgement = "stale"
	JudgedWrong      Judgement = "wrong"
)

// TraceJudged is feedback on one recalled memory.
type TraceJudged struct {
	Trace     string    `json:"trace"`
	Memory    string    `json:"memory"`
	Judgement Judgement `json:"judgement"`
}
