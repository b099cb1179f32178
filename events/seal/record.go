package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// MaxNote is the largest note of a record, in bytes.
const MaxNote = 1024

// Record is a record's key, ready for use, with what its row says. It is safe
// for concurrent use. It does not notice when its row is destroyed: hold it for
// one command, no longer.
type Record struct {
	scope Scope
	id    string
	note  []byte
	box   box
	first bool
}

// Scope returns whose record it is, as its row says.
func (r *Record) Scope() Scope { return r.scope }

// ID returns the record's id.
func (r *Record) ID() string { return r.id }

// First says that the K2 above the record was not there when the record was
// made, and was made for it: the subject is new, or its K2 has been destroyed.
// It is false for a record that existed.
func (r *Record) First() bool { return r.first }

// Note returns a copy of the note that the record was created with.
func (r *Record) Note() []byte { return bytes.Clone(r.note) }

// Seal seals plaintext for one label, whose record must be this one, else
// [ErrBadToken]. The result is [Overhead] bytes longer.
func (r *Record) Seal(label Label, plaintext []byte) ([]byte, error) {
	if label.Record != r.id {
		return nil, &TokenError{Field: "record"}
	}
	return r.box.sealValue(nil, plaintext, r.scope.appendValueAAD(make([]byte, 0, 256), label))
}

// Open opens what was sealed for the label, or returns [ErrTampered].
func (r *Record) Open(label Label, sealed []byte) ([]byte, error) {
	if label.Record != r.id {
		return nil, ErrTampered
	}
	return r.box.openValue(nil, sealed, r.scope.appendValueAAD(make([]byte, 0, 256), label))
}

// NewRecord asks for one record key.
type NewRecord struct {
	// Scope is whose record it will be.
	Scope Scope
	// Record is the record's id: 1 to 64 characters of [a-z0-9-].
	Record string
	// Note is kept sealed beside the key: what tells a repeated command from a
	// different one under the same id. It has at most [MaxNote] bytes.
	Note []byte
}

// CreateRecord makes the key of one record, and the K2 above it where that is
// missing. If the record exists already, it returns the one that is stored, with
// its own scope and note, and existed is set: the caller compares. A stored
// record whose key chain is destroyed gives existed and [ErrKeyDestroyed].
func (k *Keyring) CreateRecord(ctx context.Context, scope Scope, record string, note []byte) (rec *Record, existed bool, err error) {
	recs, err := k.NewRecords(ctx, []NewRecord{{Scope: scope, Record: record, Note: note}})
	if errors.Is(err, ErrRowExists) {
		rec, err = k.Record(ctx, scope.Tenant, record)
		return rec, true, err
	}
	if err != nil {
		return nil, false, err
	}
	return recs[0], false, nil
}

// NewRecords makes the keys of up to [MaxCreate] records in one write, all or
// none, and the K2s above them where those are missing. If a record exists, or is
// asked for twice, the error is a [*RowExistsError] and no record was made,
// though a K2 may have been. The answer is in the order of the question.
func (k *Keyring) NewRecords(ctx context.Context, news []NewRecord) ([]*Record, error) {
	if len(news) > MaxCreate {
		return nil, ErrTooMany
	}
	defer k.calls.begin()()
	scopes := make(map[Scope]*parent)
	for _, n := range news {
		if err := n.check(); err != nil {
			return nil, err
		}
		if scopes[n.Scope] == nil {
			scopes[n.Scope] = &parent{}
		}
	}
	if err := k.ensureSubjectKeys(ctx, scopes, news); err != nil {
		return nil, err
	}
	recs, rows := make([]*Record, len(news)), make([]Row, len(news))
	for i, n := range news {
		rec, row, err := k.newRecord(n, scopes[n.Scope])
		if err != nil {
			return nil, err
		}
		recs[i], rows[i] = rec, row
	}
	asked, epoch := k.now(), k.kept.begin()
	if err := k.rows.Create(ctx, rows...); err != nil {
		return nil, fmt.Errorf("create record keys: %w", err)
	}
	for i, n := range news {
		k.kept.put(rows[i].Key, ownerOf(n.Scope.Tenant, n.Scope.Subject), rows[i].Value, asked, epoch)
	}
	return recs, nil
}

func (n NewRecord) check() error {
	if err := n.Scope.check(); err != nil {
		return err
	}
	if len(n.Note) > MaxNote {
		return ErrNoteTooLong
	}
	return checkRecord(n.Record)
}

// ensureSubjectKeys reads the K2s of scopes and makes those that are missing,
// but not for records that exist: a repeated command must not give a forgotten
// subject a key again.
func (k *Keyring) ensureSubjectKeys(ctx context.Context, scopes map[Scope]*parent, news []NewRecord) error {
	if _, err := k.subjectKeys(ctx, scopes, nil, false); err != nil {
		return err
	}
	var missing []Scope
	for scope, p := range scopes {
		switch {
		case p.err == nil:
		case isDestroyed(p.err, LevelSubject):
			missing = append(missing, scope)
		default:
			return p.err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := k.checkAbsent(ctx, news); err != nil {
		return err
	}
	for _, scope := range missing {
		if err := k.createSubjectKey(ctx, scope, scopes[scope]); err != nil {
			return err
		}
		scopes[scope].made = true
	}
	return nil
}

// checkAbsent finds records that exist before anything is written for them.
func (k *Keyring) checkAbsent(ctx context.Context, news []NewRecord) error {
	keys := make([]string, len(news))
	for i, n := range news {
		keys[i] = recordRowKey(n.Scope.Tenant, n.Record)
	}
	rows, err := k.rows.GetMany(ctx, keys)
	if err != nil {
		return fmt.Errorf("read record keys: %w", err)
	}
	for _, key := range keys {
		if _, ok := rows[key]; ok {
			return &RowExistsError{Key: key}
		}
	}
	return nil
}

func (k *Keyring) newRecord(n NewRecord, p *parent) (*Record, Row, error) {
	key, err := drawSecret(k.rand)
	if err != nil {
		return nil, Row{}, err
	}
	defer key.wipe()
	b, err := newBox(key, k.rand)
	if err != nil {
		return nil, Row{}, err
	}
	plain := make([]byte, 0, KeySize+len(n.Note))
	plain = append(plain, key.bytes()...)
	plain = append(plain, n.Note...)
	defer clear(plain)
	wrapped, err := p.wrap(plain, n.Scope.appendRecordAAD(nil, n.Record, p.lineage))
	if err != nil {
		return nil, Row{}, err
	}
	rec := &Record{scope: n.Scope, id: n.Record, note: bytes.Clone(n.Note), box: b, first: p.made}
	return rec, Row{Key: recordRowKey(n.Scope.Tenant, n.Record), Value: recordRow(n.Scope, wrappedRecord{lineage: p.lineage, bytes: wrapped})}, nil
}

// Record returns an existing record by its id, whatever its scope, or
// [ErrKeyDestroyed]: with [LevelRecord] it never existed or was forgotten. The
// store is asked for the record's row, whatever is cached.
func (k *Keyring) Record(ctx context.Context, tenant, record string) (*Record, error) {
	if !isHashToken(tenant) {
		return nil, &TokenError{Field: "tenant"}
	}
	if err := checkRecord(record); err != nil {
		return nil, err
	}
	key := recordRowKey(tenant, record)
	asked, epoch := k.now(), k.kept.begin()
	row, err := k.rows.Get(ctx, key)
	if errors.Is(err, ErrNoRow) {
		k.kept.drop(key)
		return nil, &KeyDestroyedError{Level: LevelRecord}
	}
	if err != nil {
		return nil, fmt.Errorf("read record key: %w", err)
	}
	rec, err := k.recordOf(ctx, tenant, record, row.Value)
	for errors.Is(err, ErrTampered) {
		again, isNewer, readErr := k.newer(ctx, row)
		if errors.Is(readErr, ErrNoRow) {
			return nil, &KeyDestroyedError{Level: LevelRecord}
		}
		if readErr != nil {
			return nil, readErr
		}
		if !isNewer {
			break
		}
		row = again
		rec, err = k.recordOf(ctx, tenant, record, row.Value)
	}
	if err != nil {
		return nil, err
	}
	k.kept.put(key, ownerOf(tenant, rec.scope.Subject), row.Value, asked, epoch)
	return rec, nil
}

// CachedRecord is [Keyring.Record], from the cache if it can. Another process
// may have destroyed the record, which this keyring notices when it is told by
// [Keyring.Evict] or [Keyring.EvictRecord], or [Options.CacheTTL] later at most:
// what is sealed meanwhile opens nowhere else, and nowhere after that. Who
// decides by the answer whether a record exists asks [Keyring.Record].
func (k *Keyring) CachedRecord(ctx context.Context, tenant, record string) (*Record, error) {
	if !isHashToken(tenant) {
		return nil, &TokenError{Field: "tenant"}
	}
	if err := checkRecord(record); err != nil {
		return nil, err
	}
	if value, ok := k.kept.get(recordRowKey(tenant, record), k.now()); ok {
		rec, err := k.recordOf(ctx, tenant, record, value)
		if !mayBeStale(err) {
			return rec, err
		}
	}
	return k.Record(ctx, tenant, record)
}

// recordOf unwraps what a record's row holds.
func (k *Keyring) recordOf(ctx context.Context, tenant, record string, value []byte) (*Record, error) {
	scope, wrapped, err := splitRecordRow(tenant, value)
	if err != nil {
		return nil, err
	}
	plain, err := k.unwrapRecord(ctx, scope, record, wrapped)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	b, err := k.recordBox(plain)
	if err != nil {
		return nil, err
	}
	return &Record{scope: scope, id: record, note: bytes.Clone(plain[KeySize:]), box: b}, nil
}

// unwrapRecord gives key and note, and asks for the K2 itself when a cached one
// may be from before a rotation.
func (k *Keyring) unwrapRecord(ctx context.Context, scope Scope, record string, wrapped wrappedRecord) ([]byte, error) {
	p := &parent{}
	if _, err := k.subjectKeys(ctx, map[Scope]*parent{scope: p}, nil, false); err != nil {
		return nil, err
	}
	plain, err := p.unwrapRecord(nil, scope, record, wrapped, nil)
	if !p.cached || !mayBeStale(err) {
		return plain, err
	}
	if _, err := k.subjectKeys(ctx, map[Scope]*parent{scope: p}, nil, true); err != nil {
		return nil, err
	}
	return p.unwrapRecord(nil, scope, record, wrapped, nil)
}

// recordBox takes the key out of what a record's row wraps.
func (k *Keyring) recordBox(plain []byte) (box, error) {
	if len(plain) < KeySize {
		return box{}, ErrTampered
	}
	return newBox(holdSecret((*[KeySize]byte)(plain)), k.rand)
}

// A record's row is
//
//	format, subject, class, lineage of the K2, wrapped(key, note)
//
// What is clear is bound by the wrapping. Subject and class are there so that
// the records of a subject whose K2 is gone can still be found and swept.

const recordHeader = 1 + 2*TokenSize + lineageSize

// wrappedRecord is what a record's row wraps, and under which K2.
type wrappedRecord struct {
	lineage lineage
	bytes   []byte
}

func recordRow(scope Scope, w wrappedRecord) []byte {
	value := make([]byte, 0, recordHeader+len(w.bytes))
	value = append(value, format)
	value = append(value, scope.Subject...)
	value = append(value, scope.Class...)
	value = append(value, w.lineage[:]...)
	return append(value, w.bytes...)
}

func splitRecordRow(tenant string, value []byte) (Scope, wrappedRecord, error) {
	if len(value) < recordHeader || value[0] != format {
		return Scope{}, wrappedRecord{}, ErrTampered
	}
	scope := Scope{
		Tenant:  tenant,
		Subject: string(value[1 : 1+TokenSize]),
		Class:   string(value[1+TokenSize : 1+2*TokenSize]),
	}
	if err := scope.check(); err != nil {
		return Scope{}, wrappedRecord{}, ErrTampered
	}
	return scope, readWrapped(value), nil
}

// readWrapped reads a value that is no shorter than the header.
func readWrapped(value []byte) wrappedRecord {
	return wrappedRecord{
		lineage: lineage(value[recordHeader-lineageSize : recordHeader]),
		bytes:   value[recordHeader:],
	}
}
