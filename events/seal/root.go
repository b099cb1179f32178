package seal

import (
	"context"
	"time"
)

// Root is the key at the top of the chain, and the one place where keys are
// destroyed for certain: a file, or a key management service. It is safe for
// concurrent use.
type Root interface {
	// Wrap encrypts at most a few hundred bytes and binds them to aad.
	Wrap(ctx context.Context, plaintext, aad []byte) (wrapped []byte, err error)
	// Unwrap returns what was wrapped. It returns an error that matches
	// [ErrTampered] when the bytes or aad are not those of [Root.Wrap], and an
	// error of another kind when the root cannot be asked.
	Unwrap(ctx context.Context, wrapped, aad []byte) (plaintext []byte, err error)
	// ID names the key and its epoch, and is no secret: another key has another
	// id, of at most 255 bytes.
	ID() string
}

// RotatingRoot is a [Root] that can take a fresh key itself. Its epochs follow
// one another: between [RotatingRoot.Rotate] and [RotatingRoot.Finish] it wraps
// under the current one and unwraps under the former one too. [Keyring.RotateRoot]
// and [Keyring.FinishRoot] call them, nothing else may.
type RotatingRoot interface {
	Root
	// Epochs returns what the root holds.
	Epochs() RootEpochs
	// Rotate draws the key of a new epoch, durably, and makes it the current one.
	// While a former epoch is held it does nothing.
	Rotate(ctx context.Context) error
	// Finish destroys the key of the former epoch. Without one it does nothing.
	Finish(ctx context.Context) error
}

// RootEpoch is the time for which a root wraps under one key.
type RootEpoch struct {
	// Number counts from 1. Two copies of a root that are rotated apart give one
	// number to different keys: ID tells those apart.
	Number uint64
	// ID is what [Root.ID] is in the epoch.
	ID string
	// Created is when its key was drawn; zero if that is not known.
	Created time.Time
}

// RootEpochs are the epochs of a root.
type RootEpochs struct {
	// Current is what is wrapped under.
	Current RootEpoch
	// Former is the epoch before, while its key is there.
	Former *RootEpoch
	// Destroyed is when the key before the current one was destroyed, and all
	// before it were by then. It is zero while it is there, in the first epoch and
	// when it is not known.
	Destroyed time.Time
}

// DeadBefore returns a time from before which no copy of the rows can be opened
// any more: every root key that wrapped before it is destroyed, and the keys of
// tenants in it are others than those of today, if a [Keyring] has carried the
// rotation out. It is zero if nothing is known to be dead. Copies of the root itself, which nobody was to
// make, are not known here.
func (e RootEpochs) DeadBefore() time.Time {
	if e.Former != nil || e.Destroyed.IsZero() {
		return time.Time{}
	}
	return e.Current.Created
}
