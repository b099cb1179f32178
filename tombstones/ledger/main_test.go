package ledger_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		os.Exit(writer(dir))
	}
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir))
	}
	flag.Parse()
	goleak.VerifyTestMain(m)
}
