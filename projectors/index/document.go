package index

import (
	"fmt"
	"slices"
)

const (
	// MaxToken is the greatest length of a token in bytes.
	MaxToken = 255
	// MaxList is the greatest number of entities, of labels and of origins of one document.
	MaxList = 65535
)

// Doc is what the index knows of one memory. All names are opaque tokens made by the caller, never plaintext.
type Doc struct {
	// Tenant is the tenant's token, made of a-z, 0-9 and hyphens.
	Tenant string
	// Subject is the token of the subject the memory is about.
	Subject string
	// ID is the record's id, unique within the tenant.
	ID string
	// Kind says what sort of memory it is.
	Kind Kind
	// Seq is the log position of the event that created this version. It guards against old versions and breaks ties.
	Seq uint64
	// Session, Category and Scope are filterable tokens; empty means none.
	Session, Category, Scope string
	// Entities are the tokens of the entities the memory mentions.
	Entities []string
	// Labels are further filterable tokens.
	Labels []string
	// Origins are the sources that the memory was taken from; none if one of them has no source that could be revised.
	Origins []Origin
	// Trust is the trust class of the source; greater is more trusted.
	Trust uint8
	// OccurredUS and ObservedUS are unix microseconds.
	OccurredUS, ObservedUS int64
	// ValidFromUS and ValidToUS bound the half-open interval in which a fact is valid, in unix microseconds;
	// [math.MaxInt64] means that it is open.
	ValidFromUS, ValidToUS int64
	// ExpiresUS is the unix microsecond from which the document is no longer found; zero means never.
	ExpiresUS int64
	// Terms are the distinct terms in any order.
	Terms []Term
	// Length is the number of terms before duplicates were joined.
	Length uint32
}

// Origin is where a memory was taken from: a revision of a source, empty if none was named, at a log position.
type Origin struct {
	Source, Revision string
	Seq              uint64
}

// Term is one distinct term of a document.
type Term struct {
	// Token is the keyed hash of the term.
	Token uint64
	// TF is the number of times the term occurs, at least one.
	TF uint16
}

// Validate reports the first field that is out of range as [ErrTenant], [ErrToken] or [ErrDocument].
func (d *Doc) Validate() error {
	if err := checkKey(d.Tenant, d.Subject, d.ID); err != nil {
		return err
	}
	if !d.Kind.Valid() {
		return fmt.Errorf("check kind: %w", ErrDocument)
	}
	if len(d.Entities) > MaxList || len(d.Labels) > MaxList {
		return fmt.Errorf("check lists: %w", ErrDocument)
	}
	if err := checkOrigins(d.Origins); err != nil {
		return err
	}
	if err := checkTokens([]string{d.Session, d.Category, d.Scope}, true); err != nil {
		return err
	}
	if err := checkTokens(d.Entities, false); err != nil {
		return err
	}
	if err := checkTokens(d.Labels, false); err != nil {
		return err
	}
	return checkTerms(d.Terms)
}

func checkOrigins(list []Origin) error {
	if len(list) > MaxList {
		return fmt.Errorf("check lists: %w", ErrDocument)
	}
	for _, o := range list {
		if err := checkTokens([]string{o.Source}, false); err != nil {
			return err
		}
		if err := checkTokens([]string{o.Revision}, true); err != nil {
			return err
		}
	}
	return nil
}

func checkTerms(terms []Term) error {
	tokens := make([]uint64, len(terms))
	for i, t := range terms {
		if t.TF == 0 {
			return fmt.Errorf("check term frequency: %w", ErrDocument)
		}
		tokens[i] = t.Token
	}
	slices.Sort(tokens)
	if len(slices.Compact(tokens)) != len(terms) {
		return fmt.Errorf("check repeated terms: %w", ErrDocument)
	}
	return nil
}

// checkKey validates what names a document.
func checkKey(tenant, subject, id string) error {
	if err := checkTenant(tenant); err != nil {
		return err
	}
	return checkTokens([]string{subject, id}, false)
}

func checkTenant(tenant string) error {
	if tenant == "" || len(tenant) > MaxToken {
		return fmt.Errorf("check tenant: %w", ErrTenant)
	}
	for i := range len(tenant) {
		c := tenant[i]
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return fmt.Errorf("check tenant: %w", ErrTenant)
		}
	}
	return nil
}

func checkTokens(tokens []string, optional bool) error {
	for _, t := range tokens {
		if len(t) > MaxToken || (t == "" && !optional) {
			return fmt.Errorf("check token: %w", ErrToken)
		}
	}
	return nil
}
