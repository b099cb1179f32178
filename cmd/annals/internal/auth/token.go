package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/annals-memory/annals/events"
)

const (
	issuer   = "annals"
	audience = "annals"
	// maxToken bounds what is parsed before anything is verified.
	maxToken = 8 << 10
	leeway   = 5 * time.Second
)

// LocalTenant is the tenant of single-user mode.
const LocalTenant = "local"

// ErrNoCredential and ErrBadCredential are all that a caller learns of a
// credential that was refused.
var (
	ErrNoCredential  = errors.New("no credential")
	ErrBadCredential = errors.New("bad credential")
)

type claims struct {
	jwt.RegisteredClaims

	Tenant string        `json:"tenant"`
	Roles  []events.Role `json:"roles"`
	Trust  string        `json:"trust"`
}

// Authority issues and verifies the credentials of one data directory.
type Authority struct {
	key   []byte
	local [sha256.Size]byte
	now   func() time.Time
}

// New makes an authority of the signing key and the local token's secret.
func New(key, local []byte, now func() time.Time) *Authority {
	return &Authority{key: key, local: sha256.Sum256([]byte(LocalToken(local))), now: now}
}

// LocalToken is the opaque token of single-user mode for a secret: tenant
// local, every role, trust user.
func LocalToken(secret []byte) string {
	return fmt.Sprintf("annals_local_%x", secret)
}

// Issue signs a token for a caller that holds for ttl.
func (a *Authority) Issue(c events.Caller, ttl time.Duration) (string, error) {
	if err := valid(c); err != nil {
		return "", err
	}
	now := a.now()
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: c.Principal,
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
		},
		Tenant: c.Tenant, Roles: c.Roles, Trust: c.Trust.String(),
	})
	signed, err := t.SignedString(a.key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

// Verify returns the caller that a bearer token stands for.
func (a *Authority) Verify(token string) (events.Caller, error) {
	if token == "" {
		return events.Caller{}, ErrNoCredential
	}
	if len(token) > maxToken {
		return events.Caller{}, ErrBadCredential
	}
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], a.local[:]) == 1 {
		return Local(), nil
	}
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return a.key, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(issuer),
		jwt.WithAudience(audience), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(a.now), jwt.WithStrictDecoding())
	if err != nil || c.NotBefore == nil {
		return events.Caller{}, ErrBadCredential // why is nobody's business
	}
	trust, err := events.ParseTrust(c.Trust)
	if err != nil {
		return events.Caller{}, ErrBadCredential
	}
	caller := events.Caller{Tenant: c.Tenant, Principal: c.Subject, Roles: c.Roles, Trust: trust}
	if err := valid(caller); err != nil {
		return events.Caller{}, ErrBadCredential
	}
	return caller, nil
}

// Local is the caller of single-user mode.
func Local() events.Caller {
	return events.Caller{Tenant: LocalTenant, Principal: "local", Roles: Roles(), Trust: events.TrustUser}
}

// Roles are all roles there are.
func Roles() []events.Role {
	return []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAuditor, events.RoleAdmin}
}

func valid(c events.Caller) error {
	if c.Tenant == "" || c.Principal == "" || len(c.Roles) == 0 || c.Trust == 0 || c.Trust > events.TrustSystem {
		return fmt.Errorf("%w: tenant, subject, roles and trust are required", ErrBadCredential)
	}
	for _, r := range c.Roles {
		switch r {
		case events.RoleAgent, events.RoleReviewer, events.RoleAuditor, events.RoleAdmin:
		default:
			return fmt.Errorf("%w: unknown role", ErrBadCredential)
		}
	}
	return nil
}
