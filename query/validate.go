package query

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

// Limits of requests.
const (
	// MaxK is the most results of one recall, MaxLimit the most rows of a page.
	MaxK     = 100
	MaxLimit = 1_000

	defaultK     = 10
	defaultLimit = 50
	maxName      = 256       // runes of a name
	maxQuery     = 32 * 1024 // bytes of a question
	maxValues    = 64        // values of one list
	maxScalar    = 4 * 1024  // bytes of one filter value
	maxBudget    = 10_000_000
)

// validate finds the first rule that the request breaks.
func (r *RecallRequest) validate() error {
	if err := checkQuery(r.Query); err != nil {
		return err
	}
	for _, n := range []struct{ field, value string }{{"subject", r.Subject}, {"session", r.Session}} {
		if err := checkName(n.field, n.value, false); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		field  string
		values []string
	}{{"kinds", r.Kinds}, {"categories", r.Categories}, {"scopes", r.Scopes}, {"entities", r.Entities}} {
		if err := checkNames(l.field, l.values); err != nil {
			return err
		}
	}
	if _, err := parseKinds(r.Kinds); err != nil {
		return err
	}
	if err := r.Occurred.validate("occurred"); err != nil {
		return err
	}
	if _, err := r.Filter.parse(); err != nil {
		return err
	}
	if err := r.Include.validate(r.AsOf, r.KnownAt); err != nil {
		return err
	}
	if r.K != nil && (*r.K < 1 || *r.K > MaxK) {
		return malformed("k", "out_of_range", "must be in 1.."+strconv.Itoa(MaxK))
	}
	if r.TokenBudget != nil && (*r.TokenBudget < 1 || *r.TokenBudget > maxBudget) {
		return malformed("token_budget", "out_of_range", "must be in 1.."+strconv.Itoa(maxBudget))
	}
	switch r.Consistency {
	case "", Local, Strong:
		return nil
	}
	return malformed("consistency", "unknown_value", `must be "local" or "strong"`)
}

// validate finds the first rule that the request breaks.
func (r *FactsRequest) validate() error {
	for _, n := range []struct {
		field, value string
		required     bool
	}{
		{"subject", r.Subject, true},
		{"predicate", r.Predicate, false},
		{"scope", r.Scope, false},
		{"category", r.Category, false},
	} {
		if err := checkName(n.field, n.value, n.required); err != nil {
			return err
		}
	}
	if err := r.Include.validate(r.AsOf, r.KnownAt); err != nil {
		return err
	}
	return checkLimit(r.Limit)
}

// validate finds the first rule that is broken of what is included at these times.
func (i Include) validate(asOf, knownAt *events.Time) error {
	switch i {
	case "", IncludeCurrent, IncludeHistory:
	default:
		return malformed("include", "unknown_value", `must be "current" or "history"`)
	}
	if i == IncludeHistory && (asOf != nil || knownAt != nil) {
		return malformed("include", "contradiction", "a history has all times: as_of and known_at do not go with it")
	}
	return nil
}

// validate finds the first rule that the request breaks.
func (r *EpisodesRequest) validate() error {
	if err := checkName("subject", r.Subject, true); err != nil {
		return err
	}
	if err := checkName("session", r.Session, false); err != nil {
		return err
	}
	if r.From != nil && r.To != nil && !r.From.Before(r.To.Time) {
		return malformed("to", "not_after_from", "must be after from")
	}
	return checkLimit(r.Limit)
}

// validate finds the first rule that the period breaks.
func (p *Period) validate(field string) error {
	switch {
	case p == nil:
		return nil
	case p.From == nil && p.To == nil:
		return malformed(field, "missing", "must have from or to")
	case p.From != nil && p.To != nil && !p.From.Before(p.To.Time):
		return malformed(field+".to", "not_after_from", "must be after from")
	}
	return nil
}

func checkLimit(limit *int) error {
	if limit != nil && (*limit < 1 || *limit > MaxLimit) {
		return malformed("limit", "out_of_range", "must be in 1.."+strconv.Itoa(MaxLimit))
	}
	return nil
}

func checkQuery(query string) error {
	switch {
	case len(query) > maxQuery:
		return tooLarge("query", "must have at most "+strconv.Itoa(maxQuery)+" bytes")
	case !utf8.ValidString(query):
		return malformed("query", "invalid_encoding", "must be UTF-8")
	case strings.ContainsRune(query, 0):
		return malformed("query", "nul", "must not hold U+0000")
	case strings.TrimSpace(query) == "":
		return malformed("query", "missing", "must not be empty")
	}
	return nil
}

func checkNames(field string, values []string) error {
	if len(values) > maxValues {
		return tooLarge(field, "must have at most "+strconv.Itoa(maxValues)+" values")
	}
	for i, v := range values {
		if err := checkName(field+"["+strconv.Itoa(i)+"]", v, true); err != nil {
			return err
		}
	}
	return nil
}

func checkName(field, value string, required bool) error {
	switch {
	case value == "" && required:
		return malformed(field, "missing", "must not be empty")
	case !utf8.ValidString(value):
		return malformed(field, "invalid_encoding", "must be UTF-8")
	case strings.ContainsFunc(value, unicode.IsControl):
		return malformed(field, "control_character", "must not hold control characters")
	case utf8.RuneCountInString(value) > maxName:
		return tooLarge(field, "must have at most "+strconv.Itoa(maxName)+" characters")
	}
	return nil
}

// parseKinds reads the names of kinds; nil for none, which is all.
func parseKinds(names []string) ([]index.Kind, error) {
	var kinds []index.Kind
	for i, name := range names {
		switch name {
		case index.Episode.String():
			kinds = append(kinds, index.Episode)
		case index.Fact.String():
			kinds = append(kinds, index.Fact)
		case index.Trajectory.String():
			kinds = append(kinds, index.Trajectory)
		default:
			return nil, malformed("kinds["+strconv.Itoa(i)+"]", "unknown_value",
				`must be "episode", "fact" or "trajectory"`)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), nil
}
