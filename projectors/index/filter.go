package index

import "fmt"

// Filter says which documents are eligible. All given conditions must hold.
//
// For Subjects, Kinds, Sessions, Categories, Scopes and EntitiesAny a nil list is no condition, while a list that is empty
// but not nil admits nothing: an allow list that came out empty must not open the door.
type Filter struct {
	// Tenant is required.
	Tenant string
	// Subjects, together with Tenant, is the scope from which lexical statistics are taken.
	Subjects []string
	// Kinds, Sessions, Categories and Scopes hold the admitted values.
	Kinds                        []Kind
	Sessions, Categories, Scopes []string
	// EntitiesAny admits a document with at least one of them.
	EntitiesAny []string
	// Where is a further condition; nil is none.
	Where Where
	// OccurredFromUS (included) and OccurredToUS (excluded) bound the time of occurrence, in unix microseconds.
	OccurredFromUS, OccurredToUS *int64
	// ValidAtUS admits only facts that are valid at that unix microsecond. Other kinds ignore it.
	ValidAtUS *int64
	// NowUS is the time at which expiry is judged: a document with ExpiresUS other than zero and not after NowUS is out.
	NowUS int64
	// Exclude holds the ids that are out.
	Exclude []string
	// Current says of sources which of what was taken from them is admitted. A document is out if it has origins and all of
	// them are of a source that is here and admits none of them. A source that is not here admits everything.
	Current map[string]Current
}

// Current is what a source admits: what names its revision, and what names none and came after a log position.
type Current struct {
	Revision string
	After    uint64
}

// Admits reports whether the source, by f.Current, admits what was taken from it.
func (f *Filter) Admits(o Origin) bool {
	c, ok := f.Current[o.Source]
	if !ok {
		return true
	}
	if o.Revision == "" {
		return o.Seq > c.After
	}
	return o.Revision == c.Revision
}

// Validate reports the first field that is out of range as [ErrTenant], [ErrToken] or [ErrQuery].
func (f *Filter) Validate() error {
	if err := checkTenant(f.Tenant); err != nil {
		return err
	}
	if err := checkTokens(f.Subjects, false); err != nil {
		return err
	}
	for _, k := range f.Kinds {
		if !k.Valid() {
			return fmt.Errorf("check kinds: %w", ErrQuery)
		}
	}
	if f.Where == nil {
		return nil
	}
	return checkWhere(f.Where)
}
