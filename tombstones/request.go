package tombstones

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// Limits of requests.
const (
	// MaxIDs is the most ids in one request.
	MaxIDs = 10_000

	maxName   = 256      // runes of a name
	maxValues = 64       // values of one list, keys of metadata
	maxScalar = 4 * 1024 // bytes of one value of metadata
	maxReason = 4 * 1024 // bytes of a reason
	maxRef    = 2 * 1024 // bytes of a source's reference
)

// ForgetRequest asks to forget records: exactly one of IDs, Filter and Source
// says which.
type ForgetRequest struct {
	IDs    []string       `json:"ids,omitempty"`
	Filter *Filter        `json:"filter,omitempty"`
	Source *events.Source `json:"source,omitempty"`
	// Suppress keeps what is forgotten from coming back. It is for whoever calls
	// Forget to see to: package query does.
	Suppress bool `json:"suppress,omitempty"`
	// DryRun only tells what would be forgotten, and how many facts would go with it.
	DryRun bool `json:"dry_run,omitempty"`
	// Max is the most records that may match and go with them, as a dry run counts
	// them: if there are more, nothing changes. Nil is no bound.
	Max *int `json:"max,omitempty"`
	// Reason is for the caller's own logs; it is not kept.
	Reason string `json:"reason,omitempty"`
}

// Filter says which records are to be forgotten. Every condition that is given
// must hold; a list holds if any of its values does; an empty filter is refused.
// Sessions, entities and metadata belong to episodes: with one of them no fact
// matches.
type Filter struct {
	Subject string `json:"subject,omitempty"`
	Session string `json:"session,omitempty"`
	// Principal is who captured the episode or proposed the fact.
	Principal  string   `json:"principal,omitempty"`
	Categories []string `json:"categories,omitempty"`
	Entities   []string `json:"entities,omitempty"`
	// Occurred bounds when an episode happened and when a fact was observed.
	Occurred *Period `json:"occurred,omitempty"`
	// Kinds are of "episode" and "fact"; none is both. Alone it is no filter.
	Kinds []string `json:"kinds,omitempty"`
	// Metadata maps keys to the scalar that each must equal.
	Metadata map[string]jsontext.Value `json:"metadata,omitempty"`
}

// Period is a stretch of time, From inclusive, To exclusive; a nil end is open.
type Period struct {
	From *events.Time `json:"from,omitempty"`
	To   *events.Time `json:"to,omitempty"`
}

// UnmarshalJSONFrom refuses members it does not know, whatever the decoder's
// options: a condition that is ignored would forget too much.
func (f *Filter) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Filter
	return json.UnmarshalDecode(dec, (*plain)(f), json.RejectUnknownMembers(true)) //nolint:wrapcheck // It carries the place.
}

// scope is what the request names, as accounts say it.
func (r *ForgetRequest) scope() string {
	switch f := r.Filter; {
	case r.Source != nil:
		return scopeSource
	case f == nil:
		return scopeRecord
	case f.Session != "" && len(f.Categories) == 0 && f.Principal == "":
		return scopeSession
	case len(f.Categories) > 0 && f.Session == "" && f.Principal == "":
		return scopeCategory
	}
	return scopeFilter
}

// validate finds the first rule that the request breaks.
func (r *ForgetRequest) validate() error {
	ways := 0
	for _, given := range []bool{r.IDs != nil, r.Filter != nil, r.Source != nil} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return malformed("ids", "exactly_one", "exactly one of ids, filter and source must be given")
	case r.Max != nil && *r.Max < 0:
		return malformed("max", "out_of_range", "must not be negative")
	}
	if err := checkReason(r.Reason); err != nil {
		return err
	}
	switch {
	case r.Filter != nil:
		return r.Filter.validate()
	case r.Source != nil:
		return checkSource(r.Source)
	case len(r.IDs) == 0:
		return malformed("ids", "missing", "must not be empty")
	case len(r.IDs) > MaxIDs:
		return tooLarge("ids", "must have at most "+strconv.Itoa(MaxIDs)+" values")
	}
	for i, id := range r.IDs {
		if strings.Contains(id, "*") {
			return wildcard("ids[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func (f *Filter) validate() error {
	if f.Subject == "" && f.Session == "" && f.Principal == "" && len(f.Categories) == 0 && len(f.Entities) == 0 && f.Occurred == nil &&
		len(f.Metadata) == 0 {
		return malformed("filter", "empty_filter", "must have a condition beside kinds")
	}
	for _, n := range []struct{ field, value string }{
		{"filter.subject", f.Subject}, {"filter.session", f.Session}, {"filter.principal", f.Principal},
	} {
		if n.value == "" {
			continue
		}
		if err := checkName(n.field, n.value); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		field  string
		values []string
	}{{"filter.categories", f.Categories}, {"filter.entities", f.Entities}, {"filter.kinds", f.Kinds}} {
		if len(l.values) > maxValues {
			return tooLarge(l.field, "must have at most "+strconv.Itoa(maxValues)+" values")
		}
		for i, v := range l.values {
			if err := checkName(l.field+"["+strconv.Itoa(i)+"]", v); err != nil {
				return err
			}
		}
	}
	if _, err := f.kinds(); err != nil {
		return err
	}
	if p := f.Occurred; p != nil {
		switch {
		case p.From == nil && p.To == nil:
			return malformed("filter.occurred", "missing", "must have from or to")
		case p.From != nil && p.To != nil && !p.From.Before(p.To.Time):
			return malformed("filter.occurred.to", "not_after_from", "must be after from")
		}
	}
	return checkMetadata(f.Metadata)
}

func (f *Filter) kinds() ([]events.Kind, error) {
	var kinds []events.Kind
	for i, name := range f.Kinds {
		switch k := events.Kind(name); k { //nolint:exhaustive // Only records can be forgotten by kind.
		case events.KindEpisode, events.KindFact:
			kinds = append(kinds, k)
		default:
			return nil, malformed("filter.kinds["+strconv.Itoa(i)+"]", "unknown_value", `must be "episode" or "fact"`)
		}
	}
	return kinds, nil
}

func checkMetadata(metadata map[string]jsontext.Value) error {
	const field = "filter.metadata"
	if len(metadata) > maxValues {
		return tooLarge(field, "must have at most "+strconv.Itoa(maxValues)+" keys")
	}
	for key, value := range metadata {
		// The key is the caller's text, so that it cannot be in the error.
		if err := checkName(field, key); err != nil {
			return err
		}
		switch value.Kind() {
		case '"', '0', 't', 'f':
		default:
			return malformed(field, "unknown_operator", "must map keys to strings, numbers and booleans, for equality")
		}
		switch {
		case strings.HasPrefix(key, "$"):
			return malformed(field, "unknown_operator", "knows equality only")
		case len(value) > maxScalar:
			return tooLarge(field, "a value must have at most "+strconv.Itoa(maxScalar)+" bytes")
		case !value.IsValid():
			return malformed(field, "bad_type", "must map keys to strings, numbers and booleans")
		case string(value) == `"*"`:
			return wildcard(field)
		}
	}
	return nil
}

func checkSource(s *events.Source) error {
	if err := checkName("source.kind", s.Kind); err != nil {
		return err
	}
	switch {
	case s.Revision != "":
		return malformed("source.revision", "not_allowed", "a source is forgotten with all of its revisions")
	case s.Ref == "":
		return malformed("source.ref", "missing", "must not be empty")
	case s.Ref == "*":
		return wildcard("source.ref")
	case len(s.Ref) > maxRef:
		return tooLarge("source.ref", "must have at most "+strconv.Itoa(maxRef)+" bytes")
	case !utf8.ValidString(s.Ref) || strings.ContainsRune(s.Ref, 0):
		return malformed("source.ref", "invalid_encoding", "must be UTF-8 without U+0000")
	}
	return nil
}

func checkReason(reason string) error {
	switch {
	case len(reason) > maxReason:
		return tooLarge("reason", "must have at most "+strconv.Itoa(maxReason)+" bytes")
	case !utf8.ValidString(reason):
		return malformed("reason", "invalid_encoding", "must be UTF-8")
	}
	return nil
}

func checkName(field, value string) error {
	switch {
	case value == "":
		return malformed(field, "missing", "must not be empty")
	case value == "*":
		return wildcard(field)
	case !utf8.ValidString(value):
		return malformed(field, "invalid_encoding", "must be UTF-8")
	case strings.ContainsFunc(value, unicode.IsControl):
		return malformed(field, "control_character", "must not hold control characters")
	case utf8.RuneCountInString(value) > maxName:
		return tooLarge(field, "must have at most "+strconv.Itoa(maxName)+" characters")
	}
	return nil
}

func wildcard(field string) error {
	return malformed(field, "wildcard", "must name what is meant: there is no wildcard")
}

func malformed(field, code, rule string) error {
	return &events.InputError{Kind: events.Malformed, Code: code, Field: field, Rule: rule}
}

func tooLarge(field, rule string) error {
	return &events.InputError{Kind: events.TooLarge, Code: "too_large", Field: field, Rule: rule}
}
