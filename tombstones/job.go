package tombstones

import (
	"context"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// kindErasure marks the row that remembers an idempotency key.
const kindErasure events.Kind = "erasure"

// job is one forget of one caller.
type job struct {
	// tenant is nil for one that nobody has written for: it has nothing.
	tenant    *seal.Tenant
	token     string
	principal string
	erasure   string
	keyed     bool
	// fingerprint is that of the request; "" without an idempotency key.
	fingerprint string
	// plan is what the same call said before, nil if this is the first.
	plan *plan
	// repeated says that the plan is not this call's own.
	repeated bool
	// upTo is the position up to which records can match.
	upTo uint64
}

// plan is what a keyed forget remembers, sealed, so that its repetition has the
// same scope and the same answer.
type plan struct {
	Fingerprint string      `json:"fingerprint"`
	Kind        events.Kind `json:"kind"`
	Aggregate   string      `json:"aggregate"`
	Matched     int         `json:"matched"`
	UpTo        uint64      `json:"up_to,omitzero"`
	// Subject is the id of a subject that is being forgotten.
	Subject string `json:"subject,omitempty"`
}

// begin checks the caller and the key, and finds out whether this very call was
// made before.
func (e *Eraser) begin(ctx context.Context, caller events.Caller, key, command string, request any) (*job, error) {
	if !caller.Has(events.RoleAgent, events.RoleAdmin) {
		return nil, events.ErrForbidden
	}
	if err := events.CheckIdempotencyKey(key); err != nil {
		return nil, err
	}
	tenant, err := e.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return &job{erasure: e.newID()}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find tenant: %w", err)
	}
	j := &job{tenant: tenant, token: tenant.Token(), principal: hash(tenant, "principal", caller.Principal)}
	if key == "" {
		j.erasure = e.newID()
		return j, nil
	}
	j.keyed, j.erasure = true, uuidOf(tenant.Hash("idem", lengths(command, j.principal, key)))
	if j.fingerprint, err = fingerprint(tenant, request); err != nil {
		return nil, err
	}
	rec, err := e.keys.Record(ctx, j.token, j.erasure)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find erasure: %w", err)
	}
	return j, j.adopt(rec)
}

// adopt takes over what an earlier call of the same key planned.
func (j *job) adopt(rec *seal.Record) error {
	var p plan
	if err := json.Unmarshal(rec.Note(), &p); err != nil {
		return fmt.Errorf("read erasure: %w", events.ErrCorrupt)
	}
	if p.Kind != kindErasure || p.Fingerprint != j.fingerprint {
		return events.ErrKeyReused
	}
	j.plan, j.repeated = &p, true
	return nil
}

// claim writes the plan down before anything happens. Of several calls with the
// same key one wins and the others follow its plan.
func (j *job) claim(ctx context.Context, keys *seal.Keyring, p plan) error {
	if !j.keyed || j.plan != nil {
		return nil
	}
	p.Fingerprint, p.Kind, p.Aggregate = j.fingerprint, kindErasure, j.erasure
	note, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	scope := seal.Scope{Tenant: j.token, Subject: seal.Nobody, Class: hash(j.tenant, "category", string(kindErasure))}
	rec, existed, err := keys.CreateRecord(ctx, scope, j.erasure, note)
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if existed {
		return j.adopt(rec)
	}
	j.plan = &p
	return nil
}

// commitID is the id of the commit that this erasure makes of an aggregate at a
// position. A repetition makes the same one.
func (j *job) commitID(agg events.Aggregate, at uint64) string {
	return uuidOf(j.tenant.Hash("tombstone",
		lengths(j.erasure, string(agg.Kind), agg.ID, strconv.FormatUint(at, 10))))
}

func (e *Eraser) commit(j *job, agg events.Aggregate, at uint64, list []events.Event) events.Commit {
	return events.Commit{
		ID: j.commitID(agg, at), Aggregate: agg, Time: events.Micro(e.now()), Principal: j.principal, Events: list,
	}
}

// nfc is the form in which all names are hashed.
func nfc(s string) string { return norm.NFC.String(s) }

// hash is the token of a name, "" of none.
func hash(t *seal.Tenant, field, value string) string {
	if value == "" {
		return ""
	}
	return t.Hash(field, nfc(value))
}

func hashes(t *seal.Tenant, field string, values []string) []string {
	var tokens []string
	for _, v := range values {
		tokens = append(tokens, hash(t, field, v))
	}
	return tokens
}

// fingerprint is a keyed hash of a request.
func fingerprint(t *seal.Tenant, request any) (string, error) {
	raw, err := json.Marshal(request, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encode request: %w", events.ErrInvalid) // the error itself may quote it
	}
	v := jsontext.Value(raw)
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return "", fmt.Errorf("encode request: %w", events.ErrInvalid)
	}
	return t.Hash("fingerprint", string(v)), nil
}

// lengths joins strings so that no two lists give the same.
func lengths(parts ...string) string {
	var b strings.Builder
	for _, s := range parts {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}

// uuidOf makes a UUID of version 8 (RFC 9562) of a hash token, which holds 128
// bits.
func uuidOf(token string) string {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(token))
	if err != nil || len(raw) < 16 {
		return "" // no hash token is like this; an empty id is refused by the log
	}
	raw[6] = raw[6]&0x0f | 0x80
	raw[8] = raw[8]&0x3f | 0x80
	h := hex.EncodeToString(raw[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
