package seal

// Scope is whose key seals: the tenant, the subject and the consent category,
// all as tokens.
type Scope struct {
	// Tenant is a tenant token, as [Tenant.Token] gives it.
	Tenant string
	// Subject is a subject id, as [Tenant.SubjectID] gives it, or [Nobody].
	Subject string
	// Class is the token of a consent category, as [Tenant.ClassToken] gives it.
	Class string
}

// check keeps names from being taken for tokens.
func (s Scope) check() error {
	switch {
	case !isHashToken(s.Tenant):
		return &TokenError{Field: "tenant"}
	case !isHashToken(s.Subject):
		return &TokenError{Field: "subject"}
	case !isHashToken(s.Class):
		return &TokenError{Field: "class"}
	default:
		return nil
	}
}

// Label is where sealed bytes belong. Bytes sealed under one label open under
// no other.
type Label struct {
	// Aggregate is the aggregate whose event holds the bytes.
	Aggregate string
	// Record is the record whose key seals: 1 to 64 characters of [a-z0-9-].
	Record string
	// EventType is the versioned type of the event.
	EventType string
	// Part tells several sealed parts of one event apart. It may be empty.
	Part string
}

func checkRecord(record string) error {
	if !isToken(record) {
		return &TokenError{Field: "record"}
	}
	return nil
}
