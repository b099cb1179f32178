package indextest_test

import (
	"testing"

	"github.com/annals-memory/annals/projectors/index/indextest"
)

// TestOracle runs the suite on the oracle itself: the tests with fixed expectations judge the oracle too.
func TestOracle(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) indextest.Backend { return indextest.NewOracle() })
}
