package natslog_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		appendUntilKilled(dir, os.Getenv(crashRound))
		return
	}
	goleak.VerifyTestMain(m)
}
