package producers_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
)

func items(n int) []producers.CaptureRequest {
	out := make([]producers.CaptureRequest, n)
	for i := range out {
		out[i] = episode(fmt.Sprintf("person %d", i%3), fmt.Sprintf("text %d", i))
	}
	return out
}

func TestBatch(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		list := items(9)
		list[4].Text = ""
		list[6].ChannelTrust = "external"
		b, err := f.CaptureBatch(t.Context(), user("acme"), "key", producers.CaptureBatchRequest{Items: list})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, r := range b.Results {
			if r.Index != i {
				t.Errorf("result %d has index %d", i, r.Index)
			}
			switch i {
			case 4:
				wantInput(t, r.Error, events.Malformed, "missing", "items[4].text")
				if r.ID != "" || r.Error.Field != "items[4].text" || r.Error.Code != "missing" {
					t.Errorf("%+v", r)
				}
				continue
			case 6:
				if r.Status != producers.StatusQuarantined {
					t.Errorf("%+v", r)
				}
			default:
				e := f.last(events.KindEpisode, r.ID)
				if r.Status != producers.StatusCaptured || r.Error != nil || e.Position > b.Position {
					t.Errorf("%+v at %d", r, e.Position)
				}
			}
			if seen[r.ID] {
				t.Errorf("id %s twice", r.ID)
			}
			seen[r.ID] = true
		}
		if n := f.messages(); n != 3+8 {
			t.Errorf("%d messages, want 3 subjects and 8 episodes, one of them in quarantine", n)
		}
		again, err := f.CaptureBatch(t.Context(), user("acme"), "key", producers.CaptureBatchRequest{Items: list})
		if err != nil || again.Position != b.Position {
			t.Fatalf("again: %+v, %v", again, err)
		}
		for i, r := range again.Results {
			if r.ID != b.Results[i].ID || r.Status != b.Results[i].Status {
				t.Errorf("again %d: %+v, want %+v", i, r, b.Results[i])
			}
		}
		if n := f.messages(); n != 11 {
			t.Errorf("%d messages after the repetition", n)
		}
	})
}

// A batch under a used key: what is the same is answered, what is different is
// refused, what is new is kept.
func TestBatchUnderAUsedKey(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		call := func(list []producers.CaptureRequest) producers.BatchCaptured {
			t.Helper()
			b, err := f.CaptureBatch(t.Context(), user("acme"), "key", producers.CaptureBatchRequest{Items: list})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		one := call(items(3))
		f.forgetEpisode(one.Results[2].ID)
		list := items(5)
		list[1].Text = "something else"
		two := call(list)
		if two.Results[0].ID != one.Results[0].ID {
			t.Errorf("%+v, want %+v", two.Results[0], one.Results[0])
		}
		for i, want := range map[int]error{1: events.ErrKeyReused, 2: events.ErrForgotten} {
			if r := two.Results[i]; r.Error == nil || !errors.Is(r.Error, want) || r.Error.Code == "failed" {
				t.Errorf("%+v, want %v", r, want)
			}
		}
		for i := 3; i < 5; i++ {
			if f.last(events.KindEpisode, two.Results[i].ID).Position > two.Position {
				t.Errorf("%+v is after the answer's position", two.Results[i])
			}
		}
	})
}

func TestBatchWithoutAValidItem(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	b, err := f.CaptureBatch(t.Context(), user("acme"), "", producers.CaptureBatchRequest{Items: make([]producers.CaptureRequest, 2)})
	if err != nil || b.Position != 0 || len(b.Results) != 2 || b.Results[0].Error == nil || b.Results[1].Error == nil {
		t.Fatalf("%+v, %v", b, err)
	}
	for row, err := range f.rows.List(t.Context(), "") {
		t.Fatalf("row %s was written, %v", row.Key, err)
	}
}

func TestFullBatch(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		b, err := f.CaptureBatch(t.Context(), user("acme"), "", producers.CaptureBatchRequest{Items: items(producers.MaxItems)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Results {
			if r.Status != producers.StatusCaptured {
				t.Fatalf("%+v", r)
			}
		}
		if n := f.messages(); n != producers.MaxItems+3 {
			t.Errorf("%d messages", n)
		}
	})
}

// A batch that died between its keys and its events is completed.
func TestBatchAfterACrash(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]func(*faultyLog){
		"before the events": func(l *faultyLog) { l.before = unavailable },
		"after the events":  func(l *faultyLog) { l.after = unavailable },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, s store) {
				log := &faultyLog{Log: s.log, kind: events.KindEpisode}
				plan(log)
				f := s.openOn(t, log, s.rows)
				req := producers.CaptureBatchRequest{Items: items(6)}
				if _, err := f.CaptureBatch(t.Context(), user("acme"), "key", req); !errors.Is(err, events.ErrUnavailable) {
					t.Fatal(err)
				}
				b, err := f.CaptureBatch(t.Context(), user("acme"), "key", req)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range b.Results {
					if r.Status != producers.StatusCaptured {
						t.Errorf("%+v", r)
					}
				}
				if n := f.messages(); n != 3+6 {
					t.Errorf("%d messages", n)
				}
			})
		})
	}
}

// One of the subjects was forgotten elsewhere: its items start again alone.
func TestBatchAfterForgetElsewhere(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		here, there := s.open(t), s.open(t)
		old := subjectOf(here, here.capture("person 1", "before"))
		there.forgetSubject("person 1")
		b, err := here.CaptureBatch(t.Context(), user("acme"), "key", producers.CaptureBatchRequest{Items: items(6)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Results {
			if r.Error != nil || subjectOf(here, r.ID) == old {
				t.Fatalf("%+v", r)
			}
			if _, err := here.keys.Record(t.Context(), here.tenant().Token(), r.ID); errors.Is(err, seal.ErrKeyDestroyed) {
				t.Fatalf("%+v has no key", r)
			}
		}
	})
}

// One of the new subjects lost its keys before it had an event: its items start
// again alone, under a new id, and those of the others are not concerned.
func TestBatchAfterALostRegistration(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		log := &faultyLog{Log: s.log, kind: events.KindSubject, before: unavailable}
		f := s.openOn(t, log, s.rows)
		if _, err := f.Capture(t.Context(), user("acme"), "", episode("person 1", "before")); !errors.Is(err, events.ErrUnavailable) {
			t.Fatal(err)
		}
		old, err := f.tenant().SubjectID(t.Context(), "person 1", false)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.keys.DestroySubject(t.Context(), f.tenant().Token(), old); err != nil {
			t.Fatal(err)
		}
		b, err := f.CaptureBatch(t.Context(), user("acme"), "key", producers.CaptureBatchRequest{Items: items(6)})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range b.Results {
			if r.Error != nil || r.Status != producers.StatusCaptured || subjectOf(f, r.ID) == old {
				t.Errorf("item %d: %+v", i, r)
			}
		}
		if n := f.messages(); n != 3+6 {
			t.Errorf("%d messages, want 3 subjects and 6 episodes", n)
		}
	})
}
