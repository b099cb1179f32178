package bge

// scratch is the working memory of one forward pass, 1.7 MB. What is in it between two passes means nothing.
type scratch struct {
	x        []float32 // The rows on their way through the layers.
	y        []float32
	wide     []float32 // Queries, keys and values side by side; later the hidden part of the feed-forward step.
	attended []float32
	scores   []float32
	keys     []float32
	values   []float32
	panel    []float32 // One panel of weights as floats.
}

func newScratch() *scratch {
	return &scratch{
		x:        make([]float32, maxTokens*Dim),
		y:        make([]float32, maxTokens*Dim),
		wide:     make([]float32, maxTokens*hidden),
		attended: make([]float32, maxTokens*Dim),
		scores:   make([]float32, maxTokens*maxTokens),
		keys:     make([]float32, maxTokens*headDim),
		values:   make([]float32, maxTokens*headDim),
		panel:    make([]float32, hidden*16),
	}
}
