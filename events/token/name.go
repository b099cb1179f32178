package token

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// Principal returns the token of who calls.
func Principal(h Hasher, name string) string { return of(h, "principal", name) }

// Category returns the token of a consent category, which is also the class of
// the keys of what belongs to it.
func Category(h Hasher, name string) string {
	if name == "" {
		return ""
	}
	return h.Hash("category", CategoryName(name))
}

// Session returns the token of a session.
func Session(h Hasher, name string) string { return of(h, "session", name) }

// Entity returns the token of an entity that an episode names.
func Entity(h Hasher, name string) string { return of(h, "entity", name) }

// Predicate returns the token of a fact's predicate.
func Predicate(h Hasher, name string) string { return of(h, "predicate", name) }

// Scope returns the token of a fact's scope.
func Scope(h Hasher, name string) string { return of(h, "scope", name) }

// AnswerRef returns the token of what an answer is known by outside.
func AnswerRef(h Hasher, name string) string { return of(h, "answer_ref", name) }

// Source returns the token of where an episode came from. No source has none.
func Source(h Hasher, s events.Source) string { return of(h, "source", s.Kind+"\x00"+s.Ref) }

// Revision returns the token of one revision of a source.
func Revision(h Hasher, name string) string { return of(h, "revision", name) }

// Slot returns the id of the aggregate of all facts about one subject, predicate
// and scope. The subject is given by its id, the others by their names; the
// scope may be empty.
func Slot(h Hasher, sid, predicate, scope string) string {
	return of(h, "slot", sid+"\x00"+predicate+"\x00"+scope)
}

// Label returns the token of one key of metadata together with its value. Values
// that [Canonical] makes equal have one token. A value that is no JSON is
// events.ErrInvalid.
func Label(h Hasher, key string, value jsontext.Value) (string, error) {
	canonical, err := Canonical(value)
	if err != nil {
		return "", err
	}
	return of(h, "label", key+"\x00"+string(canonical)), nil
}

// Each returns the tokens of names by one of the functions of this package, in
// their order; nil for none.
func Each(h Hasher, token func(Hasher, string) string, names ...string) []string {
	if len(names) == 0 {
		return nil
	}
	tokens := make([]string, len(names))
	for i, name := range names {
		tokens[i] = token(h, name)
	}
	return tokens
}
