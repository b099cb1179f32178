package seal

import (
	"context"
	"errors"
	"testing"
)

// TestQuiesceTwice: who waits second waits for the calls that the first waits for,
// which are under way for both.
func TestQuiesceTwice(t *testing.T) {
	t.Parallel()
	k := &Keyring{}
	over, first := k.calls.begin(), make(chan error, 1)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := k.Quiesce(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("a call is under way: %v", err)
	}
	go func() { first <- k.Quiesce(t.Context()) }()
	later := k.calls.begin()
	if err := k.Quiesce(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("a call is under way still: %v", err)
	}
	over()
	later()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := k.Quiesce(ended); err != nil {
		t.Fatalf("no call is under way: %v", err)
	}
}

// TestQuiesceAfterOneThatGaveUp: that somebody gave up waiting ends no call.
func TestQuiesceAfterOneThatGaveUp(t *testing.T) {
	t.Parallel()
	k := &Keyring{}
	over := k.calls.begin()
	ended, end := context.WithCancel(t.Context())
	end()
	for range 2 {
		if err := k.Quiesce(ended); !errors.Is(err, context.Canceled) {
			t.Fatalf("a call is under way: %v", err)
		}
	}
	over()
	if err := k.Quiesce(ended); err != nil {
		t.Fatalf("no call is under way: %v", err)
	}
}
