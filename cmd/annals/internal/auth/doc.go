// Package auth turns a bearer credential into the caller it stands for, and
// issues credentials for a data directory's own key.
//
// Guarantees: a tenant, a role or a trust comes from a verified credential or
// not at all; one algorithm (HS256) is accepted; issuer, audience, expiry,
// not-before, subject and tenant are required; comparisons are constant-time;
// an error never holds any part of a credential.
//
// Not guaranteed: revocation before expiry. Keep lifetimes short, or replace
// the key file, which ends every token it signed.
package auth
