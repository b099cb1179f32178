package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary be the command itself, so that tests run real
// processes without another build.
func TestMain(m *testing.M) {
	if os.Getenv("ANNALS_TEST_COMMAND") == "1" {
		os.Exit(run(os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
	}
	os.Exit(m.Run())
}
