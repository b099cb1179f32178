package query

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
)

// the worked example.
func TestScoreOfTheWorkedExample(t *testing.T) {
	t.Parallel()
	w := Weights{Relevance: 0.5, Freshness: 0.3, Reliability: 0.2}
	a := Score(w, Components{Relevance: 0.8, Freshness: 0.6, Reliability: 1.0})
	b := Score(w, Components{Relevance: 0.9, Freshness: 0.2, Reliability: 0.8})
	if math.Abs(a-0.78) > 1e-12 || math.Abs(b-0.67) > 1e-12 {
		t.Fatalf("scores are %v and %v, want 0.78 and 0.67", a, b)
	}
	list := []ranked{{candidate: candidate{ID: "b"}, score: b}, {candidate: candidate{ID: "a"}, score: a}}
	rank(list)
	if list[0].ID != "a" {
		t.Fatal("the higher score is not first")
	}
}

// 6 days of 30 is 0.8.
func TestFreshness(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		age, horizon time.Duration
		want         float64
	}{
		"6 days of 30":        {6 * day, 30 * day, 0.8},
		"now":                 {0, 30 * day, 1},
		"clock of the future": {-time.Second, 30 * day, 1},
		"at the horizon":      {30 * day, 30 * day, 0},
		"beyond":              {300 * day, 30 * day, 0},
		"no horizon":          {time.Nanosecond, 0, 0},
		"no horizon, now":     {0, 0, 1},
		"centuries":           {math.MaxInt64, 30 * day, 0},
	} {
		if got := Freshness(now, now.Add(-tc.age), tc.horizon); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: freshness is %v, want %v", name, got, tc.want)
		}
	}
}

func TestReliabilityFollowsTrust(t *testing.T) {
	t.Parallel()
	got := make([]float64, 0, 7)
	for trust := events.Trust(0); trust <= events.TrustSystem; trust++ {
		got = append(got, Reliability(trust))
	}
	if diff := cmp.Diff([]float64{0, 0.3, 0.6, 0.7, 0.9, 1, 1}, got); diff != "" {
		t.Error(diff)
	}
}

// A later position wins a tie, then the id, whatever the order of arrival.
func TestRankOfTies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		list := make([]ranked, n)
		for i := range list {
			list[i].ID = rapid.StringMatching("[a-c]{2}").Draw(t, "id")
			list[i].Position = rapid.Uint64Range(1, 3).Draw(t, "position")
			list[i].score = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "score")
		}
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		rank(list)
		rank(shuffled)
		for i := range list {
			if list[i].ID != shuffled[i].ID || list[i].Position != shuffled[i].Position {
				t.Fatalf("place %d depends on the order of arrival", i)
			}
			if i > 0 && list[i].score > list[i-1].score {
				t.Fatalf("place %d is better than the one before", i)
			}
		}
	})
}

// S, every component and every fused relevance stay in 0..1.
func TestScoresStayInBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := signals{lexical: rapid.Float64().Draw(t, "lexical"), dense: rapid.Float64().Draw(t, "dense")}
		of := scale{
			best: rapid.Float64().Draw(t, "best"), coverage: rapid.Float64Range(0, 1).Draw(t, "coverage"),
			dense: rapid.Bool().Draw(t, "with dense"), floor: denseFloor(rapid.SampledFrom([]string{"", "x/bge-y"}).Draw(t, "model")),
		}
		r := of.fuse(s)
		if !(r >= 0 && r <= 1) {
			t.Fatalf("relevance is %v", r)
		}
		more := s
		more.lexical = s.lexical + rapid.Float64Range(0, 100).Draw(t, "more")
		if of.fuse(more) < r {
			t.Fatal("more words in common made it less relevant")
		}
	})
	if r := (scale{best: 1, coverage: 1, dense: true}).fuse(signals{lexical: math.NaN(), dense: math.NaN()}); r != 0 {
		t.Errorf("relevance of NaN is %v", r)
	}
}

// the floor is above nothing and below something.
func TestRelevanceFloor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		s    signals
		want bool
	}{
		"nothing in common":       {signals{}, false},
		"vectors of strangers":    {signals{dense: 0.3}, false},
		"same words":              {signals{lexical: 20}, true},
		"same meaning, no word":   {signals{dense: 0.75}, true},
		"a rare word and meaning": {signals{lexical: 6, dense: 0.5}, true},
	} {
		if got := (scale{best: 20, coverage: 0.8, dense: true, floor: denseFloor("builtin/use-lite-en-i8/0")}).fuse(tc.s) >= relevanceFloor; got != tc.want {
			t.Errorf("%s: relevant is %v, want %v", name, got, tc.want)
		}
	}
}

// What strangers have in common is a matter of the model.
func TestDenseFloorIsTheModels(t *testing.T) {
	t.Parallel()
	strangers := signals{dense: 0.53, isDense: true}
	of := func(model string) float64 { return scale{dense: true, floor: denseFloor(model)}.fuse(strangers) }
	if r := of("builtin/bge-small-en-v1.5-i8/0"); r >= relevanceFloor {
		t.Errorf("strangers have relevance %v by a model whose texts are all close", r)
	}
	if r := of("builtin/use-lite-en-i8/0"); r < relevanceFloor {
		t.Errorf("relatives have relevance %v", r)
	}
}

func TestWeightsValid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		w    Weights
		want bool
	}{
		"default":      {DefaultWeights(), true},
		"thirds":       {Weights{1. / 3, 1. / 3, 1. / 3}, true},
		"one alone":    {Weights{1, 0, 0}, true},
		"zero":         {Weights{}, false},
		"too much":     {Weights{0.5, 0.5, 0.5}, false},
		"negative":     {Weights{1.5, -0.5, 0}, false},
		"not a number": {Weights{math.NaN(), 0.5, 0.5}, false},
		"infinite":     {Weights{math.Inf(1), 0, 0}, false},
	} {
		if got := tc.w.Valid(); got != tc.want {
			t.Errorf("%s: valid is %v, want %v", name, got, tc.want)
		}
	}
}

func TestFitNeverCutsAndCountsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 20).Draw(t, "sizes")
		budget := rapid.IntRange(1, 100).Draw(t, "budget")
		kept, omitted, err := fit(sizes, budget, func(n int) (int, error) { return n, nil })
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, n := range kept {
			sum += n
		}
		if sum > budget || len(kept)+omitted != len(sizes) {
			t.Fatalf("%d tokens of %d, %d kept and %d omitted of %d", sum, budget, len(kept), omitted, len(sizes))
		}
		rest := slices.Clone(sizes)
		for _, n := range kept {
			i := slices.Index(rest, n)
			if i < 0 {
				t.Fatal("order changed")
			}
			rest = rest[i+1:]
		}
	})
}

func TestCounterCountsTokens(t *testing.T) {
	t.Parallel()
	c := newCounter()
	for text, want := range map[string]int{"": 0, "hello world": 2, "日本語": 2} {
		got, err := c.count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
}
