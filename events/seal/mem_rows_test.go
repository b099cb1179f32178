package seal_test

import (
	"testing"

	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/seal/sealtest"
)

func TestMemRows(t *testing.T) {
	t.Parallel()
	sealtest.Rows(t, func(*testing.T) seal.Rows { return seal.NewMemRows() })
}
