package seal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/annals-memory/annals/events/seal"
)

// Example seals a memory, opens it, and forgets the person it was about.
func Example() {
	if err := remember(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// likes tea
	// forgotten: true
}

func remember(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "seal")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	root, err := seal.OpenFileRoot(filepath.Join(dir, "root.key"), seal.FileRootOptions{Create: true})
	if err != nil {
		return err
	}
	ring, err := seal.New(seal.NewMemRows(), root, seal.Options{Now: time.Now})
	if err != nil {
		return err
	}
	tenant, err := ring.Tenant(ctx, "acme", true)
	if err != nil {
		return err
	}
	sid, err := tenant.SubjectID(ctx, "ada@example.com", true)
	if err != nil {
		return err
	}

	scope := tenant.Scope(sid, "preferences")
	label := seal.Label{Aggregate: "episode", Record: "0192f0c1-7d3e-7000-8000-000000000000", EventType: "annals.episode.captured.v1"}
	record, _, err := ring.CreateRecord(ctx, scope, label.Record, []byte("fingerprint of the command"))
	if err != nil {
		return err
	}
	sealed, err := record.Seal(label, []byte("likes tea"))
	if err != nil {
		return err
	}
	text, err := ring.Open(ctx, scope, label, sealed)
	if err != nil {
		return err
	}
	fmt.Println(string(text))

	if err := ring.DestroySubject(ctx, tenant.Token(), sid); err != nil {
		return err
	}
	if err := tenant.DropSubject(ctx, sid, tenant.SubjectHash("ada@example.com")); err != nil {
		return err
	}
	_, err = ring.Open(ctx, scope, label, sealed)
	fmt.Println("forgotten:", errors.Is(err, seal.ErrKeyDestroyed))
	return nil
}
