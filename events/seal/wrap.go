package seal

import (
	"context"
	"fmt"
)

// maxRootID bounds a root's id, in bytes.
const maxRootID = 255

// Rows under the root say which root wrapped them:
//
//	format, length of root id, root id, wrapped bytes

// wrapRoot wraps under the current root. The caller holds [Keyring.wrapping], for
// reading at least, until the row is written.
func (k *Keyring) wrapRoot(ctx context.Context, plaintext []byte, purpose, tenant string) ([]byte, error) {
	id := k.root.ID()
	wrapped, err := k.root.Wrap(ctx, plaintext, appendAAD(nil, purpose, tenant, id))
	if err != nil {
		return nil, fmt.Errorf("wrap under root: %w", err)
	}
	value := make([]byte, 0, 2+len(id)+len(wrapped))
	value = append(value, format, byte(len(id))) //nolint:gosec // A root's id has at most 255 bytes.
	value = append(value, id...)
	return append(value, wrapped...), nil
}

// unwrapRoot unwraps under whichever root wrapped. The caller does not hold
// [Keyring.wrapping].
func (k *Keyring) unwrapRoot(ctx context.Context, value []byte, purpose, tenant string) ([]byte, error) {
	k.wrapping.RLock()
	defer k.wrapping.RUnlock()
	return k.unwrapHeld(ctx, value, purpose, tenant)
}

// unwrapHeld is unwrapRoot of who holds [Keyring.wrapping].
func (k *Keyring) unwrapHeld(ctx context.Context, value []byte, purpose, tenant string) ([]byte, error) {
	id, wrapped, err := splitRoot(value)
	if err != nil {
		return nil, err
	}
	root, ok := k.rootOf(id)
	if !ok {
		return nil, ErrOtherRoot
	}
	plaintext, err := root.Unwrap(ctx, wrapped, appendAAD(nil, purpose, tenant, id))
	if err != nil {
		return nil, fmt.Errorf("unwrap under root: %w", err)
	}
	return plaintext, nil
}

// rootOf finds the root that has the key of an id.
func (k *Keyring) rootOf(id string) (Root, bool) {
	if id == k.root.ID() {
		return k.root, true
	}
	if former := k.RootEpochs().Former; former != nil && former.ID == id {
		return k.root, true
	}
	root, ok := k.retired[id]
	return root, ok
}

func splitRoot(value []byte) (id string, wrapped []byte, err error) {
	if len(value) < 2 || value[0] != format {
		return "", nil, ErrTampered
	}
	rest, n := value[2:], int(value[1])
	if len(rest) < n {
		return "", nil, ErrTampered
	}
	return string(rest[:n]), rest[n:], nil
}

// A K1 is wrapped as seed, current key and, during a rotation, previous key.

func (k *Keyring) wrapTenant(ctx context.Context, tenant string, chain chainKey) ([]byte, error) {
	plain := make([]byte, 0, 3*KeySize)
	plain = append(plain, chain.seed.bytes()...)
	plain = append(plain, chain.current.bytes()...)
	plain = append(plain, chain.previous.bytes()...)
	defer clear(plain)
	return k.wrapRoot(ctx, plain, purposeTenant, tenant)
}

func (k *Keyring) unwrapTenant(ctx context.Context, tenant string, row Row) (chainKey, error) {
	plain, err := k.unwrapRoot(ctx, row.Value, purposeTenant, tenant)
	if err != nil {
		return chainKey{}, err
	}
	defer clear(plain)
	if len(plain) != 2*KeySize && len(plain) != 3*KeySize {
		return chainKey{}, ErrTampered
	}
	chain := readChain(plain[KeySize:])
	chain.seed = newSecret(plain[:KeySize])
	return chain, nil
}

// A K2 is wrapped as lineage, current key and, during a rotation, previous key.

func (k *Keyring) wrapSubject(scope Scope, k1, chain chainKey) ([]byte, error) {
	plain := make([]byte, 0, lineageSize+2*KeySize)
	plain = append(plain, chain.lineage[:]...)
	plain = append(plain, chain.current.bytes()...)
	plain = append(plain, chain.previous.bytes()...)
	defer clear(plain)
	p := newParent(k1, k.rand)
	return p.wrap(plain, scope.appendWrapAAD(nil))
}

func (k *Keyring) unwrapSubject(scope Scope, k1 chainKey, value []byte) (chainKey, error) {
	p := newParent(k1, k.rand)
	plain, err := p.unwrap(nil, value, scope.appendWrapAAD(nil))
	if err != nil {
		return chainKey{}, err
	}
	defer clear(plain)
	if len(plain) != lineageSize+KeySize && len(plain) != lineageSize+2*KeySize {
		return chainKey{}, ErrTampered
	}
	chain := readChain(plain[lineageSize:])
	chain.lineage = lineage(plain[:lineageSize])
	return chain, nil
}

func readChain(plain []byte) chainKey {
	chain := chainKey{current: newSecret(plain[:KeySize])}
	if len(plain) > KeySize {
		chain.previous = newSecret(plain[KeySize:])
	}
	return chain
}

// parent wraps and unwraps the children of a K1 or a K2.
type parent struct {
	current, previous box
	lineage           lineage
	// rotating says that previous is set.
	rotating bool
	// cached says that the key did not come from its row just now.
	cached bool
	// made says that the key was missing and had to be made.
	made bool
	err  error
}

func newParent(chain chainKey, src source) *parent {
	p := &parent{}
	p.set(chain, src)
	return p
}

// use takes the chain over and wipes it.
func (p *parent) use(chain chainKey, src source) {
	defer chain.wipe()
	p.set(chain, src)
}

func (p *parent) set(chain chainKey, src source) {
	*p = parent{lineage: chain.lineage}
	if p.current, p.err = newBox(chain.current, src); p.err != nil {
		return
	}
	if !chain.previous.isZero() {
		if p.previous, p.err = newBox(chain.previous, src); p.err != nil {
			return
		}
		p.rotating = true
	}
}

// unwrapRecord unwraps what a record's row holds. A row of another lineage was
// made under a K2 that is gone, unless it is the lineage itself that was damaged.
func (p *parent) unwrapRecord(dst []byte, scope Scope, record string, w wrappedRecord, aad []byte) ([]byte, error) {
	plain, err := p.unwrap(dst, w.bytes, scope.appendRecordAAD(aad, record, p.lineage))
	if p.err != nil || w.lineage == p.lineage {
		return plain, err
	}
	if err == nil {
		clear(plain)
		return nil, ErrTampered
	}
	return nil, &KeyDestroyedError{Level: LevelSubject}
}

func (p *parent) wrap(plain, aad []byte) ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.current.seal(nil, plain, aad)
}

// unwrap also takes what the previous key wrapped, while a rotation is under way.
func (p *parent) unwrap(dst, wrapped, aad []byte) ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	plain, err := p.current.open(dst, wrapped, aad)
	if err != nil && p.rotating {
		plain, err = p.previous.open(dst, wrapped, aad)
	}
	return plain, err
}
