package events

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Kind is the kind of an aggregate: the fourth token of its subject.
type Kind string

// The kinds of aggregates on the EVENTS stream.
const (
	KindEpisode    Kind = "episode"
	KindFact       Kind = "fact" // a fact slot, not a single fact
	KindSubject    Kind = "subject"
	KindSource     Kind = "source"
	KindProcedure  Kind = "procedure"
	KindTrajectory Kind = "trajectory"
	KindPolicy     Kind = "policy"
	// KindErasure is the account of one erasure.
	KindErasure Kind = "erasure"
	// KindSuppression is what a tenant wants kept out, one aggregate with the id
	// SharedID.
	KindSuppression Kind = "suppression"
	// KindVector and KindTrace have one subject per tenant, with the id
	// SharedID: their events need no expected version.
	KindVector Kind = "vector"
	KindTrace  Kind = "trace"
)

// SharedID is the id of the aggregates of which a tenant has just one.
const SharedID = "all"

// Shards is the number of shards of the log. It is fixed for ever.
const Shards = 64

// SubjectPrefix is the first token of every subject of the log.
const SubjectPrefix = "annals"

const maxToken = 64

// Aggregate names the unit of consistency: everything on one exact subject.
type Aggregate struct {
	// Tenant is the tenant's token, never its outside name.
	Tenant string
	Kind   Kind
	// ID is an opaque token, unique within tenant and kind.
	ID string
}

// Shard maps a tenant's token to its shard, 0 to Shards-1 (FNV-1a, 32 bit).
func Shard(tenant string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant)) // a hash never fails
	return int(h.Sum32() % Shards)
}

// ValidToken reports whether s may stand in a subject: 1 to 64 characters of
// [a-z0-9-].
func ValidToken(s string) bool {
	if s == "" || len(s) > maxToken {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Valid reports whether a can be written to the log.
func (a Aggregate) Valid() error {
	switch {
	case !ValidToken(a.Tenant):
		return fmt.Errorf("%w: tenant", ErrBadToken)
	case !a.Kind.valid():
		return fmt.Errorf("%w: kind", ErrBadToken)
	case !ValidToken(a.ID):
		return fmt.Errorf("%w: id", ErrBadToken)
	}
	return nil
}

func (k Kind) valid() bool {
	switch k {
	case KindEpisode, KindFact, KindSubject, KindSource, KindProcedure,
		KindTrajectory, KindPolicy, KindErasure, KindSuppression, KindVector, KindTrace:
		return true
	}
	return false
}

// Subject is the exact NATS subject of a.
func (a Aggregate) Subject() string {
	return SubjectPrefix + "." + strconv.Itoa(Shard(a.Tenant)) + "." + a.Tenant + "." + string(a.Kind) + "." + a.ID
}

// SubjectsOf is what the subjects of all aggregates of a tenant and a kind match,
// with a wildcard for the id. It refuses what cannot be one.
func SubjectsOf(tenant string, kind Kind) (string, error) {
	a := Aggregate{Tenant: tenant, Kind: kind, ID: "x"}
	if err := a.Valid(); err != nil {
		return "", err
	}
	return strings.TrimSuffix(a.Subject(), a.ID) + "*", nil
}

// ParseSubject is the inverse of [Aggregate.Subject]. It refuses a subject
// whose shard is not its tenant's.
func ParseSubject(subject string) (Aggregate, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 || parts[0] != SubjectPrefix {
		return Aggregate{}, fmt.Errorf("%w: not five tokens under %q", ErrBadSubject, SubjectPrefix)
	}
	a := Aggregate{Tenant: parts[2], Kind: Kind(parts[3]), ID: parts[4]}
	if err := a.Valid(); err != nil {
		return Aggregate{}, fmt.Errorf("%w: %w", ErrBadSubject, err)
	}
	if parts[1] != strconv.Itoa(Shard(a.Tenant)) {
		return Aggregate{}, fmt.Errorf("%w: foreign shard", ErrBadSubject)
	}
	return a, nil
}
