package seal

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"golang.org/x/text/unicode/norm"
)

// Labels under which the tenant's index keys are derived. They are for ever.
const (
	indexInfo = "annals seal v1 index"
	termsInfo = "annals seal v1 terms"
)

// Tenant is a handle on one tenant. It holds keys for hashing, which open
// nothing, and stays valid while K1 rotates; everything else it asks the keyring
// for. It is safe for concurrent use.
type Tenant struct {
	ring  *Keyring
	token string
	index Secret
	terms Secret
}

// Tenant returns the tenant of that name, byte for byte. When it has no key yet,
// one is made if create is set; otherwise the answer is [ErrUnknownTenant]. A
// tenant that was destroyed is unknown too, and creating it anew starts from
// fresh keys under the same token.
func (k *Keyring) Tenant(ctx context.Context, tenant string, create bool) (*Tenant, error) {
	if tenant == "" {
		return nil, fmt.Errorf("find tenant: %w", ErrEmptyName)
	}
	names, err := k.Names(ctx, create)
	if err != nil {
		return nil, err
	}
	token := names.TenantToken(tenant)
	chain, err := k.tenantKey(ctx, token)
	if errors.Is(err, ErrKeyDestroyed) {
		if !create {
			return nil, ErrUnknownTenant
		}
		chain, err = k.createTenantKey(ctx, token)
	}
	if err != nil {
		return nil, err
	}
	return k.tenant(token, chain)
}

// TenantByToken returns the tenant of a token that the log holds, without its
// name. It never creates one: without a key the answer is [ErrKeyDestroyed].
func (k *Keyring) TenantByToken(ctx context.Context, token string) (*Tenant, error) {
	chain, err := k.tenantKey(ctx, token)
	if err != nil {
		return nil, err
	}
	return k.tenant(token, chain)
}

func (k *Keyring) tenant(token string, chain chainKey) (*Tenant, error) {
	defer chain.wipe()
	index, err := deriveSecret(chain.seed, indexInfo)
	if err != nil {
		return nil, err
	}
	terms, err := deriveSecret(chain.seed, termsInfo)
	if err != nil {
		return nil, err
	}
	return &Tenant{ring: k, token: token, index: index, terms: terms}, nil
}

func deriveSecret(seed Secret, info string) (Secret, error) {
	key, err := hkdf.Key(sha256.New, seed.bytes(), nil, info, KeySize)
	if err != nil {
		return Secret{}, fmt.Errorf("derive key: %w", err)
	}
	defer clear(key)
	return newSecret(key), nil
}

// Token returns the tenant's token.
func (t *Tenant) Token() string { return t.token }

// Hash returns the token of a value of a field: 26 characters of [a-z2-7], equal
// for equal field and value within this tenant, unrelated in any other. The
// value is taken byte for byte. Equality is all it shows, and to whoever holds
// the tenant's key, guesses.
func (t *Tenant) Hash(field, value string) string { return keyedToken(t.index, field, value) }

// ClassToken returns the token of a consent category, for [Scope.Class]. It is
// the hash of field "class" and the category in normalization form C.
func (t *Tenant) ClassToken(category string) string {
	return t.Hash("class", norm.NFC.String(category))
}

// SubjectHash returns the token under which the subject id of an outside name is
// found. It is the hash of field "subject" and the name in normalization form C.
func (t *Tenant) SubjectHash(name string) string {
	return t.Hash("subject", norm.NFC.String(name))
}

// TermKey returns a copy of the key that search terms are hashed with. It is
// unrelated to the key behind [Tenant.Hash].
func (t *Tenant) TermKey() []byte { return bytes.Clone(t.terms.bytes()) }

// Scope puts together a scope from a subject id and a category's name.
func (t *Tenant) Scope(sid, category string) Scope {
	return Scope{Tenant: t.token, Subject: sid, Class: t.ClassToken(category)}
}
