package projectors

import (
	"testing"
	"time"
)

// A replay or a verification waits for a purge, which runs unasked, and is
// refused beside another one.
func TestOperate(t *testing.T) {
	t.Parallel()
	l := &lane{}
	l.busy.Lock() // a purge
	began := make(chan func())
	go func() {
		done, ok := l.operate()
		if !ok {
			t.Error("refused beside a purge")
		}
		began <- done
	}()
	select {
	case <-began:
		t.Fatal("it runs beside a purge")
	case <-time.After(20 * time.Millisecond):
	}
	l.busy.Unlock()
	done := <-began
	if _, ok := l.operate(); ok {
		t.Error("two at a time")
	}
	done()
	done, ok := l.operate()
	if !ok {
		t.Fatal("refused after the other has ended")
	}
	done()
}
