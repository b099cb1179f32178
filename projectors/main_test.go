package projectors

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

var tempDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "projectors-test-")
	if err != nil {
		panic(err)
	}
	return dir
})

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := os.RemoveAll(tempDir()); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}
