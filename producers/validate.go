package producers

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// validate reports the first rule that r breaks, in the order of its fields.
func (r CaptureRequest) validate(now time.Time, channel events.Trust) error {
	return first(
		required("subject", r.Subject),
		requiredText("text", r.Text),
		past("occurred_at", r.OccurredAt, now),
		name("session", r.Session),
		atMost("actors", len(r.Actors), MaxEntries),
		each("actors", r.Actors, func(field string, a events.Actor) error {
			return first(required(field+".id", a.ID), required(field+".role", a.Role))
		}),
		text("action", r.Action),
		text("outcome", r.Outcome),
		source("source", r.Source),
		channelTrust(r.ChannelTrust, channel),
		oneOf("sensitivity", r.Sensitivity, "", "normal", "personal", "special", "secret"),
		categoryName("category", r.Category),
		atMost("entities", len(r.Entities), MaxEntries),
		each("entities", r.Entities, required),
		metadata(r.Metadata),
		traces(r.Traces),
	)
}

// traces allows ids, known or not.
func traces(list []string) error {
	return first(
		atMost("traces", len(list), MaxEntries),
		each("traces", list, memoryID),
		distinctIDs("traces", list),
	)
}

func channelTrust(s string, channel events.Trust) error {
	if s == "" {
		return nil
	}
	t, err := events.ParseTrust(s)
	switch {
	case err != nil:
		return malformed("unknown_value", "channel_trust",
			"must be external, tool, agent, user, human_verified or system")
	case t > channel:
		return refused("trust_raised", "channel_trust", "must not be above the trust of the caller's channel")
	}
	return nil
}

// lowered is the trust of a request: what it asks for if it asks, never above
// the channel's.
func lowered(s string, channel events.Trust) events.Trust {
	if t, err := events.ParseTrust(s); err == nil {
		return min(t, channel)
	}
	return channel
}

func oneOf(field, s string, allowed ...string) error {
	if slices.Contains(allowed, s) {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "" })
	return malformed("unknown_value", field, "must be one of "+strings.Join(named, " "))
}

// metadata names the map as the field, never a key: a key is the caller's text.
func metadata(m map[string]jsontext.Value) error {
	if err := atMost("metadata", len(m), MaxEntries); err != nil {
		return err
	}
	size := 2
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := first(required("metadata", k), jsonValue("metadata", m[k])); err != nil {
			return err
		}
		if !token.Comparable(m[k]) {
			return malformed("out_of_range", "metadata", "numbers with a fraction or an exponent must be within float64")
		}
		size += len(k) + len(m[k]) + len(`"":,`)
	}
	if size > MaxMetadata {
		return tooLarge("too_large", "metadata", "must have at most "+strconv.Itoa(MaxMetadata)+" bytes as JSON")
	}
	return nil
}

func (r CaptureBatchRequest) validate() error {
	switch {
	case len(r.Items) == 0:
		return missing("items")
	case len(r.Items) > MaxItems:
		return atMost("items", len(r.Items), MaxItems)
	}
	return nil
}

// validate reports the first rule that r breaks, in the order of its fields.
func (r ProposeRequest) validate(now time.Time) error {
	return first(
		required("subject", r.Subject),
		required("predicate", r.Predicate),
		factValue(r.Value),
		required("category", r.Category),
		categoryName("category", r.Category),
		name("scope", r.Scope),
		confidence(r.Confidence),
		observed(r.ObservedAt, now),
		instant("valid_from", r.ValidFrom),
		instant("valid_to", r.ValidTo),
		r.validInterval(),
		atMost("source_episodes", len(r.SourceEpisodes), MaxEntries),
		distinctIDs("source_episodes", r.SourceEpisodes),
		atMost("provenance", len(r.Provenance), MaxEntries),
		each("provenance", r.Provenance, source),
		traces(r.Traces),
		supersedes(r.Supersedes),
		expiry(r.ExpiresAt, now),
	)
}

func supersedes(id string) error {
	if id != "" && token.CanonicalID(id) == "" {
		return malformed("not_an_id", "supersedes", "must be the id of a fact")
	}
	return nil
}

func factValue(v jsontext.Value) error {
	switch {
	case len(v) == 0:
		return missing("value")
	case len(v) > MaxValue:
		return tooLarge("too_large", "value", "must have at most "+strconv.Itoa(MaxValue)+" bytes as JSON")
	}
	return jsonValue("value", v)
}

func confidence(c *float64) error {
	if c == nil {
		return missing("confidence")
	}
	if math.IsNaN(*c) || *c < 0 || *c > 1 {
		return malformed("out_of_range", "confidence", "must be a number from 0 to 1")
	}
	return nil
}

func observed(t *events.Time, now time.Time) error {
	if t == nil {
		return missing("observed_at")
	}
	return past("observed_at", t, now)
}

func (r ProposeRequest) validInterval() error {
	if r.ValidTo != nil && r.ObservedAt != nil && !r.ValidTo.After(r.ValidFrom.Or(r.ObservedAt.Time)) {
		return refused("empty_interval", "valid_to",
			"must be after valid_from, or after observed_at where there is no valid_from")
	}
	return nil
}

func expiry(t *events.Time, now time.Time) error {
	if err := instant("expires_at", t); err != nil {
		return err
	}
	if t != nil && !t.After(now) {
		return refused("in_the_past", "expires_at", "must be in the future")
	}
	return nil
}

// distinctIDs refuses an id that is named twice, in whatever case.
func distinctIDs(field string, ids []string) error {
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		if c := token.CanonicalID(id); c != "" {
			id = c
		}
		if seen[id] {
			return malformed("duplicate", index(field, i), "must not repeat an entry")
		}
		seen[id] = true
	}
	return nil
}

func (r RetractRequest) validate() error { return requiredText("reason", r.Reason) }

func (r UseRequest) validate() error {
	if len(r.MemoryIDs) == 0 {
		return missing("memory_ids")
	}
	return first(
		atMost("memory_ids", len(r.MemoryIDs), MaxMemories),
		each("memory_ids", r.MemoryIDs, memoryID),
		distinctIDs("memory_ids", r.MemoryIDs),
		name("answer_ref", r.AnswerRef),
	)
}

func (r FeedbackRequest) validate() error {
	if r.Judgement == "" {
		return first(memoryID("memory_id", r.MemoryID), missing("judgement"))
	}
	return first(
		memoryID("memory_id", r.MemoryID),
		oneOf("judgement", r.Judgement, string(events.JudgedUseful), string(events.JudgedIrrelevant),
			string(events.JudgedStale), string(events.JudgedWrong)),
	)
}

func memoryID(field, id string) error {
	switch {
	case id == "":
		return missing(field)
	case token.CanonicalID(id) == "":
		return malformed("not_an_id", field, "must be an id")
	}
	return nil
}
