package policy

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/retention"
)

const maxCategories = 1_000

// Category is what a policy says of one category.
type Category struct {
	// Special says that it is of a special kind: health, religion and their like.
	Special bool
	// NeedsConsent says that a fact of it needs the subject's explicit consent.
	NeedsConsent bool
	// Horizon is the age at which a memory has no freshness left; zero if the
	// policy does not say.
	Horizon time.Duration
	// Weights are those of a ranking for a recall of this category alone; nil if
	// the policy does not say.
	Weights *Weights
	// Retention is how long what is no fact is kept.
	Retention Retention
}

// Weights are how much the terms of a score count; they sum to 1.
type Weights struct {
	Relevance, Freshness, Reliability float64
}

// Retention is how long what was proposed and is no fact is kept, from the time
// when it was proposed.
type Retention struct {
	// Candidates were not decided on, Unreviewed wait for a review or are
	// quarantined, Rejected are what the word says.
	Candidates, Unreviewed, Rejected retention.Period
}

// explicit and none are what a category can ask for.
const (
	consentExplicit = "explicit"
	consentNone     = "none"
)

func (p *Policy) readRetention(n *yaml.Node, field string) error {
	return readRetention(&p.retention)(field, n)
}

func readRetention(to *Retention) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		return readers{
			"candidates": period(&to.Candidates),
			"unreviewed": period(&to.Unreviewed),
			"rejected":   period(&to.Rejected),
		}.read(n, field)
	}
}

// readCategories comes after the retention, whose periods a category inherits.
func (p *Policy) readCategories(n *yaml.Node, under string) error {
	return pairs(n, under, func(field string, key, value *yaml.Node) error {
		name := token.CategoryName(key.Value) // two spellings of one name are one category
		switch _, twice := p.categories[name]; {
		case name == "" || len(name) > maxString:
			return fault(key, field, "must have a name of at most "+strconv.Itoa(maxString)+" bytes")
		case token.MixesScripts(name):
			return fault(key, field, "mixes the letters of several scripts, as the category of no candidate does")
		case twice:
			return fault(key, field, "is given twice")
		case len(p.categories) == maxCategories:
			return fault(key, under, "must be at most "+strconv.Itoa(maxCategories))
		}
		c, consent := Category{Retention: p.retention}, ""
		err := readers{
			"special":   boolean(&c.Special),
			"consent":   word(&consent, consentExplicit, consentNone),
			"horizon":   horizon(&c.Horizon),
			"weights":   weights(&c.Weights),
			"retention": readRetention(&c.Retention),
		}.read(value, field)
		c.NeedsConsent = consent == consentExplicit || consent == "" && c.Special
		p.categories[name] = c
		return err
	})
}

func period(to *retention.Period) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		d, ok := retention.ParsePeriod(n.Value)
		if n.Kind != yaml.ScalarNode || !ok {
			return fault(n, field, `must be "keep", or a whole number above zero and h, d, m or y`)
		}
		*to = d
		return nil
	}
}

// maxHorizon is what a duration can hold, and more than anybody remembers.
const maxHorizon = 100 * 365 * 24 * time.Hour

// horizon reads a number of hours or days: a month has no fixed length.
func horizon(to *time.Duration) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		unit := time.Hour
		digits, ok := strings.CutSuffix(n.Value, "h")
		if !ok {
			unit = 24 * time.Hour
			digits, ok = strings.CutSuffix(n.Value, "d")
		}
		v, err := strconv.ParseUint(digits, 10, 31)
		if n.Kind != yaml.ScalarNode || !ok || err != nil || v == 0 || v > uint64(maxHorizon/unit) {
			return fault(n, field, "must be a whole number above zero and h or d, at most 100 years")
		}
		*to = time.Duration(v) * unit
		return nil
	}
}

func weights(to **Weights) func(string, *yaml.Node) error {
	return func(field string, n *yaml.Node) error {
		var w Weights
		err := readers{
			"relevance":   share(&w.Relevance),
			"freshness":   share(&w.Freshness),
			"reliability": share(&w.Reliability),
		}.read(n, field, "relevance", "freshness", "reliability")
		if err != nil {
			return err
		}
		if math.Abs(w.Relevance+w.Freshness+w.Reliability-1) > 1e-6 {
			return fault(n, field, "must sum to 1")
		}
		*to = &w
		return nil
	}
}

// Category is what the policy says of a category; of one that it does not name,
// what holds for all.
func (p *Policy) Category(name string) Category {
	if c, ok := p.categories[token.CategoryName(name)]; ok {
		return c
	}
	return Category{Retention: p.retention}
}

// Categories yields the categories that the policy speaks of, in the order of their
// names, which are those of [token.CategoryName].
func (p *Policy) Categories() iter.Seq2[string, Category] {
	return func(yield func(string, Category) bool) {
		for _, name := range slices.Sorted(maps.Keys(p.categories)) {
			if !yield(name, p.categories[name]) {
				return
			}
		}
	}
}

// Retention is how long what is no fact is kept, of a category that has no
// periods of its own.
func (p *Policy) Retention() Retention { return p.retention }
