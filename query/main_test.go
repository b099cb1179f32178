package query_test

import (
	"os"
	"testing"

	"github.com/annals-memory/annals/internal/nodetest"
)

func TestMain(m *testing.M) { os.Exit(nodetest.Main(m)) }
