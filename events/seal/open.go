package seal

import (
	"context"
	"errors"
	"time"
)

// Item is one sealed value and where the caller found it.
type Item struct {
	Scope  Scope
	Label  Label
	Sealed []byte
}

// Result is the answer for one [Item].
type Result struct {
	// Plaintext is the opened value, when Err is nil.
	Plaintext []byte
	// Err is nil, or matches [ErrKeyDestroyed], [ErrTampered], [ErrOtherRoot] or
	// [ErrBadToken], or is the store's error.
	Err error
}

// Seal seals plaintext under the key of an existing record. It returns
// [ErrKeyDestroyed] when the record has no key: see [Keyring.CreateRecord].
func (k *Keyring) Seal(ctx context.Context, scope Scope, label Label, plaintext []byte) ([]byte, error) {
	if err := scope.check(); err != nil {
		return nil, err
	}
	rec, err := k.Record(ctx, scope.Tenant, label.Record)
	if err != nil {
		return nil, err
	}
	if rec.scope != scope {
		return nil, ErrTampered
	}
	return rec.Seal(label, plaintext)
}

// Open opens one sealed value. The error is as in [Result].
func (k *Keyring) Open(ctx context.Context, scope Scope, label Label, sealed []byte) ([]byte, error) {
	results := k.OpenMany(ctx, []Item{{Scope: scope, Label: label, Sealed: sealed}})
	return results[0].Plaintext, results[0].Err
}

// OpenMany opens any number of sealed values with at most one read of the key
// rows: none if all are cached, and two where what was cached did not open. The
// answer is in the order of the question, and each item fails alone, unless the
// rows cannot be read: then all whose keys were needed fail. Where several
// levels of an item's key chain are gone, the highest is reported.
func (k *Keyring) OpenMany(ctx context.Context, items []Item) []Result {
	results, stale := k.openMany(ctx, items, false)
	if len(stale) == 0 {
		return results
	}
	again := make([]Item, len(stale))
	for i, at := range stale {
		again[i] = items[at]
	}
	fresh, _ := k.openMany(ctx, again, true)
	for i, at := range stale {
		results[at] = fresh[i]
	}
	return results
}

// openMany also tells which items did not open under a cached key or row, which
// may be from before a rotation.
func (k *Keyring) openMany(ctx context.Context, items []Item, fresh bool) (results []Result, stale []int) {
	results = make([]Result, len(items))
	scopes := make(map[Scope]*parent)
	found := make([]foundRow, len(items))
	missing := make([]string, 0, len(items)+2) // with room for the keys above
	asked, epoch := k.now(), k.kept.begin()
	for i := range items {
		it := &items[i]
		if err := it.check(); err != nil {
			results[i].Err = err
			continue
		}
		if scopes[it.Scope] == nil {
			scopes[it.Scope] = &parent{}
		}
		f := &found[i]
		f.key = recordRowKey(it.Scope.Tenant, it.Label.Record)
		if !fresh {
			f.value, f.cached = k.kept.get(f.key, asked)
			f.there = f.cached
		}
		if !f.cached {
			missing = append(missing, f.key)
		}
	}
	if len(scopes) == 0 {
		return results, nil
	}
	rows, err := k.subjectKeys(ctx, scopes, missing, fresh)
	if err == nil {
		k.keepFound(items, found, rows, asked, epoch)
	}
	opener := opener{ring: k, aad: make([]byte, 0, 256)}
	defer opener.wipe()
	for i := range items {
		switch {
		case results[i].Err != nil:
		case err != nil:
			results[i].Err = err
		default:
			p := scopes[items[i].Scope]
			results[i].Plaintext, results[i].Err = opener.open(&items[i], p, &found[i])
			if (p.cached || found[i].cached) && mayBeStale(results[i].Err) {
				stale = append(stale, i)
			}
		}
	}
	return results, stale
}

// foundRow is the row of an item's record, if it is there.
type foundRow struct {
	key    string
	value  []byte
	there  bool
	cached bool
}

// keepFound takes what the store had, into the cache too.
func (k *Keyring) keepFound(items []Item, found []foundRow, rows map[string]Row, asked time.Time, epoch uint64) {
	for i := range found {
		f := &found[i]
		if f.key == "" || f.cached {
			continue
		}
		row, ok := rows[f.key]
		switch {
		case !ok:
			k.kept.drop(f.key)
		case sameScope(items[i].Scope, row.Value):
			k.kept.put(f.key, ownerOf(items[i].Scope.Tenant, items[i].Scope.Subject), row.Value, asked, epoch)
		}
		f.value, f.there = row.Value, ok
	}
}

// mayBeStale reports whether an error is one that a key from before a rotation,
// or from before its subject's destruction, can cause.
func mayBeStale(err error) bool {
	return errors.Is(err, ErrTampered) || isDestroyed(err, LevelSubject)
}

func isDestroyed(err error, level Level) bool {
	var destroyed *KeyDestroyedError
	return errors.As(err, &destroyed) && destroyed.Level == level
}

func (it *Item) check() error {
	if err := it.Scope.check(); err != nil {
		return err
	}
	return checkRecord(it.Label.Record)
}

// opener opens items one after another in the same scratch space.
type opener struct {
	ring  *Keyring
	aad   []byte
	plain []byte
}

func (o *opener) open(it *Item, p *parent, row *foundRow) ([]byte, error) {
	if row.there && !sameScope(it.Scope, row.value) {
		// Someone else's record, whether or not the item's own keys are there.
		return nil, ErrTampered
	}
	if p.err != nil {
		return nil, p.err
	}
	if !row.there {
		return nil, &KeyDestroyedError{Level: LevelRecord}
	}
	plain, err := p.unwrapRecord(o.plain[:0], it.Scope, it.Label.Record, readWrapped(row.value), o.aad[:0])
	if err != nil {
		return nil, err
	}
	o.plain = plain
	b, err := o.ring.recordBox(plain)
	if err != nil {
		return nil, err
	}
	o.aad = it.Scope.appendValueAAD(o.aad[:0], it.Label)
	return b.openValue(nil, it.Sealed, o.aad)
}

// wipe clears the last record's key; growing the scratch space may have left
// earlier ones behind for the garbage collector.
func (o *opener) wipe() { clear(o.plain[:cap(o.plain)]) }

// sameScope compares what a record's row says with an item's scope.
func sameScope(scope Scope, value []byte) bool {
	return len(value) >= recordHeader && value[0] == format &&
		string(value[1:1+TokenSize]) == scope.Subject &&
		string(value[1+TokenSize:1+2*TokenSize]) == scope.Class
}
