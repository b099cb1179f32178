package query

import (
	"context"
	"fmt"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/words"
)

const (
	// firstDepth is how many candidates a channel is first asked for, at least;
	// maxDepth is where looking deeper ends.
	firstDepth = 32
	maxDepth   = 8 * 1024
)

// candidate is a memory that the index found. Once it was seen to be eligible it
// has its row: exactly one of episode and fact is set.
type candidate struct {
	signals

	Kind     index.Kind
	ID       string
	subject  string
	Position uint64
	// trust, observed, session and category are as the index has them, for
	// ranking.
	trust    events.Trust
	observed time.Time
	session  string
	category string
	episode  *projectors.EpisodeRow
	fact     *projectors.FactRow
	// ended is set if nothing of what it says holds any more, as far as facts tell.
	ended *ending
	// demoted is the score that it had before it was set aside.
	demoted *float64
}

// search is a recall that was checked and whose names have become tokens.
type search struct {
	*reading

	queries []index.Query
	// words are the question's different words.
	words    map[string]bool
	occurred *Period
	// at is the valid time asked about, known the time of record or nil.
	at    time.Time
	known *time.Time
	asOf  bool
	// history says that what has ended is asked for as well.
	history bool
	// witness is the log, for a strong read.
	witness *witness
	// aside are those found that have ended, best first.
	aside []ranked
	// withheld counts what was found and is not for the caller to see.
	withheld int
	// current is by the sources, at the same times.
	current projectors.Currency
}

// newSearch turns a request into what the index is asked. With a time of its
// own for each kind of memory, each kind is a query of its own; the statistics
// of words are those of tenant and subjects in any case, so that scores compare.
func (s *Service) newSearch(r *reading, req *RecallRequest, sid string, asked question) (*search, error) {
	kinds, err := parseKinds(req.Kinds)
	if err != nil {
		return nil, err
	}
	filter := index.Filter{
		Tenant:      r.token,
		Kinds:       kinds,
		Sessions:    token.Each(r.tenant, token.Session, one(req.Session)...),
		Categories:  token.Each(r.tenant, token.Category, req.Categories...),
		Scopes:      token.Each(r.tenant, token.Scope, req.Scopes...),
		EntitiesAny: token.Each(r.tenant, token.Entity, req.Entities...),
		NowUS:       r.now.UnixMicro(),
	}
	if sid != "" {
		filter.Subjects = []string{sid}
	}
	where, err := req.Filter.parse()
	if err != nil {
		return nil, err
	}
	if where != nil {
		filter.Where = where(r.tenant)
	}
	terms := words.Terms(req.Query)
	question := make(map[string]bool, len(terms))
	for _, term := range terms {
		question[term] = true
	}
	q := index.Query{Filter: filter, Terms: r.terms(r.snap.Terms(req.Query)), Vector: asked.vector, Model: asked.model}
	out := &search{
		reading: r, words: question, occurred: req.Occurred, at: req.AsOf.Or(r.now), asOf: req.AsOf != nil,
		history: req.Include == IncludeHistory,
	}
	if req.Consistency == Strong {
		out.witness = s.witness(r.token)
	}
	out.known = throughMicro(req.KnownAt)
	if err := out.currency(); err != nil {
		return nil, err
	}
	q.Current = out.current.Filter()
	out.queries = out.split(q)
	return out, nil
}

// split gives each kind the times that the index can filter by. What was known
// at another time the index does not know: then only the rows decide.
func (q *search) split(base index.Query) []index.Query {
	validAt := q.at.UnixMicro()
	if q.known == nil && !q.asOf && q.occurred == nil {
		if !q.history {
			base.ValidAtUS = &validAt
		}
		return []index.Query{base}
	}
	episodes, facts := base, base
	episodes.Kinds, facts.Kinds = split(base.Kinds)
	if q.known == nil && !q.history {
		facts.ValidAtUS = &validAt
	}
	episodes.OccurredFromUS, episodes.OccurredToUS = q.window()
	return []index.Query{episodes, facts}
}

// split parts the kinds into episodes and what is not; none means all.
func split(kinds []index.Kind) (episodes, others []index.Kind) {
	if kinds == nil {
		kinds = []index.Kind{index.Episode, index.Fact, index.Trajectory}
	}
	episodes, others = []index.Kind{}, []index.Kind{}
	for _, k := range kinds {
		if k == index.Episode {
			episodes = append(episodes, k)
		} else {
			others = append(others, k)
		}
	}
	return episodes, others
}

// window is when an episode may have happened, in unix microseconds.
func (q *search) window() (from, to *int64) {
	if q.occurred != nil && q.occurred.From != nil {
		us := q.occurred.From.UnixMicro()
		from = &us
	}
	if q.occurred != nil && q.occurred.To != nil {
		us := q.occurred.To.UnixMicro()
		to = &us
	}
	if q.asOf {
		if us := q.at.UnixMicro() + 1; to == nil || us < *to {
			to = &us
		}
	}
	return from, to
}

func one(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// terms are the keyed hashes of the question's words, in its order, so that sums
// over them do not depend on the tenant's key.
func (r *reading) terms(question []string) []uint64 {
	key := r.tenant.TermKey()
	defer clear(key)
	tokens := make([]uint64, len(question))
	for i, term := range question {
		tokens[i] = words.Key(key, term)
	}
	return tokens
}

// candidates asks both channels and joins their lists. complete says that there
// is nothing further down.
func (q *search) candidates(ctx context.Context, depth int) (list []candidate, complete bool, err error) {
	complete = true
	at := make(map[string]int)
	add := func(h index.Hit, set func(*signals)) {
		i, ok := at[h.ID]
		if !ok {
			i = len(list)
			at[h.ID] = i
			list = append(list, candidate{
				Kind: h.Kind, ID: h.ID, subject: h.Subject, Position: h.Seq, trust: events.Trust(h.Trust),
				observed: time.UnixMicro(h.ObservedUS).UTC(), session: h.Session, category: h.Category,
			})
		}
		set(&list[i].signals)
	}
	for _, query := range q.queries {
		query.K = depth
		ranking, err := q.snap.Candidates(ctx, query)
		if err != nil {
			return nil, false, fmt.Errorf("find candidates: %w", err)
		}
		for _, h := range ranking.Lexical {
			add(h, func(s *signals) { s.set(h.Score, h.Other, true, h.InBoth) })
		}
		for _, h := range ranking.Dense {
			add(h, func(s *signals) { s.set(h.Other, h.Score, h.InBoth && h.Other > 0, true) })
		}
		complete = complete && len(ranking.Lexical) < depth && len(ranking.Dense) < depth
	}
	return list, complete, nil
}

// shows reports whether a candidate may be shown, and finds out whether what it says
// still holds. A strong read has the last word on both from the log.
func (q *search) shows(ctx context.Context, c *candidate) (bool, error) {
	ok, err := q.eligible(c)
	if err == nil && ok && q.witness != nil {
		ok, err = q.witness.bearsOut(ctx, q, c)
	}
	if err != nil || !ok {
		return false, err
	}
	return true, q.settle(ctx, c)
}

// eligible reads the row of a candidate and reports whether it may be shown at
// all. The index may be ahead of, or behind, the rows: the rows decide.
func (q *search) eligible(c *candidate) (bool, error) {
	switch c.Kind {
	case index.Episode:
		return q.eligibleEpisode(c)
	case index.Fact:
		return q.eligibleFact(c)
	case index.Trajectory:
	}
	return false, nil
}

func (q *search) eligibleEpisode(c *candidate) (bool, error) {
	row, err := aliveEpisodeAt(q.snap, q.token, c.subject, c.ID, c.Position)
	if err != nil || row == nil {
		return false, err
	}
	switch {
	case q.asOf && row.OccurredAt.After(q.at),
		q.known != nil && row.RecordedAt.After(*q.known),
		!q.occurred.contains(row.OccurredAt),
		!q.current.Episode(row):
		return false, nil
	}
	c.episode = row
	return true, nil
}

// stillAlive looks for a candidate that was eligible in a later snapshot.
func (q *search) stillAlive(fresh *projectors.Snapshot, c *candidate) (bool, error) {
	if c.Kind == index.Episode {
		row, err := aliveEpisodeAt(fresh, q.token, c.subject, c.ID, c.Position)
		return row != nil, err
	}
	row, err := aliveFact(fresh, q.token, c.ID)
	return row != nil, err
}

func (q *search) eligibleFact(c *candidate) (bool, error) {
	row, err := aliveFact(q.snap, q.token, c.ID)
	if err != nil || row == nil {
		return false, err
	}
	switch {
	case expired(&row.SlotFact, q.now),
		!q.occurred.contains(row.ObservedAt),
		!q.current.Fact(&row.SlotFact):
		return false, nil
	}
	held, err := q.heldTrue(row)
	if err != nil || !held {
		return false, err
	}
	c.fact = row
	return true, nil
}

// recorded is the time of record asked about, zero for all that is known.
func (q *search) recorded() time.Time {
	if q.known == nil {
		return time.Time{}
	}
	return *q.known
}

// heldTrue reports whether the fact was true at the valid time, as far as was
// known at the time of record.
func (q *search) heldTrue(row *projectors.FactRow) (bool, error) {
	if q.history { // true once is enough
		return len(row.Valid) > 0 && !row.Valid[0].From.After(q.at) && q.stands(&row.SlotFact) != "", nil
	}
	if q.known == nil {
		return row.TrueAt(q.at), nil
	}
	rev, found, err := q.snap.FactRevision(q.token, row.Fact, q.known)
	if err != nil {
		return false, fmt.Errorf("read revision: %w", err)
	}
	return found && contains(rev.Valid, q.at), nil
}

func expired(f *events.SlotFact, now time.Time) bool {
	return !f.ExpiresAt.IsZero() && !f.ExpiresAt.After(now)
}

func contains(valid []events.Interval, t time.Time) bool {
	for _, iv := range valid {
		if iv.Contains(t) {
			return true
		}
	}
	return false
}

// contains reports whether t is in the period; a nil period holds all times.
func (p *Period) contains(t time.Time) bool {
	if p == nil {
		return true
	}
	return (p.From == nil || !t.Before(p.From.Time)) && (p.To == nil || t.Before(p.To.Time))
}
