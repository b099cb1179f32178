package query

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// maxSwitches is how often a question is embedded again because the model of the
// search index is another one by then.
const maxSwitches = 3

// question is what was made of a question for a search index.
type question struct {
	vector []float32
	// model is the key of the model that made the vector, "" if none was asked.
	model string
	// lexicalOnly says that there should be a vector and is none.
	lexicalOnly bool
}

// ask embeds the question and takes the snapshot that it is asked of, in this
// order: a slow model must not hold a snapshot open. If the index of the snapshot
// turns out to be of another model, the question is embedded again.
func (s *Service) ask(ctx context.Context, caller events.Caller, req *RecallRequest) (*reading, question, error) {
	for again := 0; ; again++ {
		asked, err := s.embed(ctx, req.Query, s.views.Recipe().Model)
		if err != nil {
			return nil, question{}, err
		}
		r, err := s.open(ctx, caller, req.WaitFor, events.RoleAgent, events.RoleReviewer, events.RoleAdmin)
		if err != nil {
			return nil, question{}, err
		}
		model := r.snap.Recipe().Model
		if model == "" || asked.vector == nil || model == asked.model {
			return r, asked, nil
		}
		if again == maxSwitches {
			return r, question{lexicalOnly: true}, nil
		}
		r.close()
	}
}

// embed makes the vector of a question by a model, "" for the one that there is. A
// model that fails, or is not here, costs the dense channel, not the answer, and
// the answer says so.
func (s *Service) embed(ctx context.Context, query, model string) (question, error) {
	encoder := s.model
	if encoder == nil {
		return question{}, nil
	}
	if model != "" && model != encoder.Key() {
		known := false
		if s.others != nil {
			encoder, known = s.others(model)
		}
		if !known {
			return question{lexicalOnly: true}, nil
		}
	}
	vector, err := encoder.EncodeQuery(ctx, query)
	if ctx.Err() != nil {
		return question{}, fmt.Errorf("embed question: %w", context.Cause(ctx))
	}
	if err != nil || len(vector) == 0 {
		return question{lexicalOnly: true}, nil //nolint:nilerr // The answer carries it as lexical_only.
	}
	return question{vector: vector, model: encoder.Key()}, nil
}
