package events_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
)

func TestTrust(t *testing.T) {
	t.Parallel()
	ascending := []string{"external", "tool", "agent", "user", "human_verified", "system"}
	var last events.Trust
	for _, name := range ascending {
		got, err := events.ParseTrust(name)
		if err != nil {
			t.Fatal(err)
		}
		if got <= last {
			t.Errorf("%s is not above the one before it", name)
		}
		last = got
		if got.String() != name {
			t.Errorf("%s is written %s", name, got)
		}
		text, err := got.MarshalText()
		if err != nil || string(text) != name {
			t.Errorf("%s is marshalled as %q, %v", name, text, err)
		}
		var back events.Trust
		if err := back.UnmarshalText(text); err != nil || back != got {
			t.Errorf("%s is read as %d, %v", name, back, err)
		}
	}
	if last != events.TrustSystem {
		t.Errorf("the highest trust is %d, want that of the system", last)
	}
}

func TestTrustRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "System", " system", "system ", "human", "root", "6", "\x00"} {
		if got, err := events.ParseTrust(name); !errors.Is(err, events.ErrInvalid) || got != 0 {
			t.Errorf("ParseTrust(%q) is %d, %v", name, got, err)
		}
		trust := events.TrustTool
		if err := trust.UnmarshalText([]byte(name)); !errors.Is(err, events.ErrInvalid) || trust != events.TrustTool {
			t.Errorf("UnmarshalText(%q) left %s, %v", name, trust, err)
		}
	}
	for _, trust := range []events.Trust{0, events.TrustSystem + 1, 255} {
		if text, err := trust.MarshalText(); !errors.Is(err, events.ErrInvalid) || text != nil {
			t.Errorf("trust %d is marshalled as %q, %v", trust, text, err)
		}
		if trust.String() != "" {
			t.Errorf("trust %d has the name %s", trust, trust)
		}
	}
}
