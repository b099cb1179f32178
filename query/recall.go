package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors/index"
)

// Recall finds the memories that answer a question: first what may be shown,
// then the best of it. Nothing that the filter removed comes back by its score.
//
// The answer has been traced when it is returned. A name that nothing is kept
// about and a tenant without memories give an empty answer, the same as a
// question that nothing matches. The errors are ErrForbidden, an InputError,
// ErrBehind, and those of the log and the views.
func (s *Service) Recall(ctx context.Context, caller events.Caller, req RecallRequest) (RecallAnswer, error) {
	if !caller.Has(events.RoleAgent, events.RoleReviewer, events.RoleAdmin) {
		return RecallAnswer{}, events.ErrForbidden
	}
	if err := req.validate(); err != nil {
		return RecallAnswer{}, err
	}
	weights, name, err := s.weights(req.Weights)
	if err != nil {
		return RecallAnswer{}, err
	}
	r, asked, err := s.ask(ctx, caller, &req)
	if err != nil {
		return RecallAnswer{}, err
	}
	defer r.close()
	if r.tuned, err = s.tune(ctx, r, req.Categories); err != nil {
		return RecallAnswer{}, err
	}
	if req.Weights == nil && r.tuned.weights != nil {
		weights, name = *r.tuned.weights, CategoryWeights
	}
	sid, results, withheld, err := s.recall(ctx, r, &req, weights, asked)
	if err != nil {
		return RecallAnswer{}, err
	}
	answer := RecallAnswer{
		Position: r.snap.Position(), NothingRelevant: len(results)+withheld == 0, LexicalOnly: asked.lexicalOnly, Results: results,
	}
	if req.TokenBudget != nil {
		cost := func(res Result) (int, error) { return s.tokens.count(res.said()) }
		if answer.Results, answer.Omitted, err = fit(results, *req.TokenBudget, cost); err != nil {
			return RecallAnswer{}, err
		}
	}
	answer.Omitted += withheld
	recalled := recalledFrom(answer.Results)
	recalled.Subject, recalled.Query, recalled.At, recalled.Weights = sid, req.Query, answer.Position, name
	if !req.Explain {
		for i := range answer.Results {
			answer.Results[i].Components, answer.Results[i].DemotedFrom = nil, nil
		}
	}
	if req.Subject != "" && sid == "" {
		// Nothing is kept about it, not any more perhaps: then no forget of it
		// would reach the question.
		recalled.Query = ""
	}
	held, err := s.stillThere(ctx, r.token, sid)
	if held {
		// The question is kept with its subject, and shows as little.
		answer.Results, answer.Omitted, answer.NothingRelevant = []Result{}, 0, true
		recalled.Memories, recalled.Lowest, recalled.Terms = nil, 0, nil
	}
	if err == nil {
		answer.TraceID, _, err = s.traces.RecordRecall(ctx, caller, recalled)
	}
	if errors.Is(err, events.ErrForgotten) {
		// The subject was forgotten while it was asked about: then there is
		// nothing to answer, and of the question nothing is kept either.
		answer.Results, answer.Omitted, answer.NothingRelevant = []Result{}, 0, true
		answer.TraceID, _, err = s.traces.RecordRecall(ctx, caller, Recalled{At: answer.Position, Weights: name})
	}
	if err != nil {
		return RecallAnswer{}, fmt.Errorf("record recall: %w", err)
	}
	return answer, nil
}

// recalledFrom is what a trace keeps of results: the memories that were ranked, with
// their terms, and behind them the facts that the results name in their place.
func recalledFrom(results []Result) Recalled {
	out := Recalled{Memories: make([]string, len(results)), Terms: &events.RecallTerms{}}
	for i, res := range results {
		out.Memories[i] = res.ID
		if i == 0 || res.Trust < out.Lowest {
			out.Lowest = res.Trust
		}
		share := 1.0 // what a demotion left of the score, and so of its terms
		if d := res.DemotedFrom; d != nil && *d > 0 {
			share = res.Score / *d
		}
		out.Terms.Relevance = append(out.Terms.Relevance, share*res.Components.Relevance)
		out.Terms.Freshness = append(out.Terms.Freshness, share*res.Components.Freshness)
		out.Terms.Reliability = append(out.Terms.Reliability, share*res.Components.Reliability)
	}
	for _, res := range results {
		for _, by := range res.SupersededBy {
			if out.Lowest = min(out.Lowest, by.Trust); !slices.Contains(out.Memories, by.Fact) {
				out.Memories = append(out.Memories, by.Fact)
			}
		}
	}
	if len(results) == 0 {
		out.Terms = nil
	}
	return out
}

// stillThere looks for the tombstone and the holds of the subject in the views as
// they are by now; whoever records traces sees only the end of its key.
// ErrForgotten is the answer for the one, held for the others.
func (s *Service) stillThere(ctx context.Context, token, sid string) (held bool, err error) {
	if sid == "" {
		return false, nil
	}
	fresh, err := s.views.Snapshot(ctx)
	if err != nil {
		return false, fmt.Errorf("open snapshot: %w", err)
	}
	defer fresh.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	if fresh.SubjectForgotten(token, sid) {
		return false, events.ErrForgotten
	}
	return fresh.Held(token, sid), nil
}

// recall returns up to k results, best first, the id of the subject, and how many
// results were withheld from the caller.
func (s *Service) recall(ctx context.Context, r *reading, req *RecallRequest, w Weights, asked question) (sid string, list []Result, withheld int, err error) {
	none := []Result{}
	if r.tenant == nil {
		return "", none, 0, nil
	}
	if req.Subject != "" {
		id, ok, err := r.subject(ctx, req.Subject)
		if err != nil || !ok {
			return "", none, 0, err
		}
		if sid = id; r.snap.Held(r.token, sid) {
			return sid, none, 0, nil
		}
	}
	q, err := s.newSearch(r, req, sid, asked)
	if err != nil {
		return "", nil, 0, err
	}
	k := defaultK
	if req.K != nil {
		k = *req.K
	}
	for depth := max(firstDepth, 4*k); ; depth *= 4 {
		list, complete, err := s.ranked(ctx, q, w, depth)
		if err != nil {
			return "", nil, 0, err
		}
		results, err := s.results(ctx, q, list, k)
		if err != nil {
			return "", nil, 0, err
		}
		if len(results) >= k || q.withheld >= withheldPerResult*k || complete || depth >= maxDepth {
			results, err = s.former(ctx, q, w, results, k)
			return sid, results, q.withheld, err
		}
	}
}

// ranked scores what is relevant among the first candidates, by what the index
// knows of them. Their rows are read only of those that come to be shown.
func (s *Service) ranked(ctx context.Context, q *search, w Weights, depth int) ([]ranked, bool, error) {
	found, complete, err := q.candidates(ctx, depth)
	if err != nil {
		return nil, false, err
	}
	scale, err := s.scale(ctx, q, found)
	if err != nil {
		return nil, false, err
	}
	list := make([]ranked, 0, len(found))
	for _, c := range found {
		components := c.components(q, scale)
		if components.Relevance = scale.fuse(c.signals); components.Relevance < relevanceFloor {
			continue
		}
		if q.known != nil {
			// The index knows only what is known now, and what came later must
			// not lend to what was known then.
			ok, err := q.eligible(&c)
			if err != nil {
				return nil, false, err
			}
			if !ok {
				continue
			}
		}
		list = append(list, ranked{candidate: c, components: components})
	}
	lend(list)
	for i := range list {
		list[i].score = Score(w, list[i].components)
	}
	rank(list)
	return list, complete, nil
}

// scale opens the eligible text with the best BM25 score to see what that score
// is worth.
func (s *Service) scale(ctx context.Context, q *search, list []candidate) (scale, error) {
	out := scale{dense: len(q.queries[0].Vector) > 0, floor: denseFloor(q.queries[0].Model)}
	byWords := make([]*candidate, 0, len(list))
	for i := range list {
		if list[i].isLexical {
			byWords = append(byWords, &list[i])
		}
	}
	slices.SortFunc(byWords, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.lexical, a.lexical), cmp.Compare(b.Position, a.Position), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range byWords {
		ok, err := q.eligible(c)
		if err != nil {
			return scale{}, err
		}
		if !ok {
			continue
		}
		opened, err := s.openAll(ctx, []seal.Item{c.item()})
		if err != nil {
			return scale{}, err
		}
		if opened[0] == nil {
			continue // forgotten meanwhile
		}
		text, err := c.searchText(opened[0])
		if err != nil {
			return scale{}, err
		}
		out.best, out.coverage = c.lexical, coverage(q.words, text)
		break
	}
	return out, nil
}

// components are those that do not follow from the scale.
func (c *candidate) components(q *search, scale scale) Components {
	out := Components{
		Freshness:   Freshness(q.at, c.observed, q.tuned.horizons.of(c.category)),
		Reliability: Reliability(c.trust),
	}
	if c.isDense {
		v := clamp(c.dense)
		out.Dense = &v
	}
	if c.isLexical {
		v := scale.lexical(c.lexical)
		out.Lexical = &v
	}
	return out
}

// results opens the best candidates that may be shown, in order, until there are k. It
// sets those aside that have ended, unless they were asked for.
func (s *Service) results(ctx context.Context, q *search, list []ranked, k int) ([]Result, error) {
	results := make([]Result, 0, k)
	q.withheld, q.aside = 0, nil
	for len(list) > 0 && len(results) < k && q.withheld < withheldPerResult*k {
		chunk := make([]ranked, 0, k-len(results))
		for len(list) > 0 && len(chunk) < cap(chunk) {
			ok, err := q.shows(ctx, &list[0].candidate)
			if err != nil {
				return nil, err
			}
			switch {
			case !ok:
			case list[0].ended != nil && !q.history:
				q.aside = append(q.aside, list[0])
			default:
				chunk = append(chunk, list[0])
			}
			list = list[1:]
		}
		opened, err := s.openRanked(ctx, q, chunk)
		if err != nil {
			return nil, err
		}
		results = append(results, opened...)
	}
	return results, nil
}

// openRanked opens a chunk and then looks for tombstones and holds once more: what
// was forgotten or held while it was being opened is not shown.
func (s *Service) openRanked(ctx context.Context, q *search, chunk []ranked) ([]Result, error) {
	items := make([]seal.Item, len(chunk))
	for i := range chunk {
		items[i] = chunk[i].item()
	}
	opened, err := s.openAll(ctx, items)
	if err != nil || len(opened) == 0 {
		return nil, err
	}
	replacements, err := s.openReplacements(ctx, q, chunk)
	if err != nil {
		return nil, err
	}
	fresh, err := s.views.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	defer fresh.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	results := make([]Result, 0, len(chunk))
	for i := range chunk {
		var instead [][]byte
		if e := chunk[i].ended; e != nil {
			instead, replacements = replacements[:len(e.replacements)], replacements[len(e.replacements):]
		}
		if opened[i] == nil {
			continue
		}
		ok, err := q.stillAlive(fresh, &chunk[i].candidate)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if f := chunk[i].fact; f != nil {
			f.Sources = shownSources(fresh, q.token, f.Sources)
		}
		suspicious, err := s.suspects(&chunk[i].candidate, opened[i])
		if err != nil {
			return nil, err
		}
		if suspicious && !q.all {
			q.withheld++
			continue
		}
		res, err := chunk[i].result(opened[i])
		if err != nil {
			return nil, err
		}
		res.Suspicious = suspicious
		if e := chunk[i].ended; e != nil {
			if err := s.tell(q, fresh, e, instead, &res); err != nil {
				return nil, err
			}
		}
		results = append(results, res)
	}
	return results, nil
}

func (c *ranked) result(plain []byte) (Result, error) {
	res := Result{
		Kind: c.Kind.String(), ID: c.ID, Score: c.score, Components: &c.components, DemotedFrom: c.demoted,
	}
	switch c.Kind {
	case index.Episode:
		content, err := parse[events.EpisodeContent](plain)
		if err != nil {
			return Result{}, err
		}
		res.Text, res.Trust, res.Sources = content.Text, c.episode.Trust, []string{c.ID}
		if !c.episode.OccurredUnknown {
			res.OccurredAt = events.AtOrNil(c.episode.OccurredAt)
		}
	case index.Fact:
		content, err := parse[events.FactContent](plain)
		if err != nil {
			return Result{}, err
		}
		res.Text, res.Trust = factText(content), c.fact.Trust
		res.ObservedAt, res.Sources = events.AtOrNil(c.fact.ObservedAt), sourceIDs(c.fact.Sources)
	case index.Trajectory:
	}
	return res, nil
}

func sourceIDs(sources []events.SourceRef) []string {
	ids := make([]string, len(sources))
	for i, src := range sources {
		ids[i] = src.Episode
	}
	return ids
}
