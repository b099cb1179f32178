package token_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// clearHasher hides nothing, but keeps what is long apart in what stays of it.
type clearHasher struct{}

func (clearHasher) Hash(field, value string) string {
	if field != "label_step" {
		return "ffffffffffffffff" + value
	}
	x := new(big.Int).SetBytes([]byte(value))
	return fmt.Sprintf("%016x", x.Mod(x, big.NewInt(1<<61-1)))
}

func within(value jsontext.Value, bounds ...token.Bound) bool {
	steps := token.LabelSteps(clearHasher{}, "k", value)
	return slices.ContainsFunc(token.LabelRange(clearHasher{}, "k", bounds...), func(t string) bool {
		return slices.Contains(steps, t)
	})
}

func point(t interface {
	Fatalf(format string, args ...any)
}, value string,
) token.Point {
	p, ok := token.PointOf(jsontext.Value(value))
	if !ok {
		t.Fatalf("%s has no place", value)
	}
	return p
}

// inRange is the brute force answer.
func inRange[T any](compare func(a, b T) int, x T, bounds []token.Bound, at []T) bool {
	for i, b := range bounds {
		c := compare(x, at[i])
		if b.Lower && c < 0 || !b.Lower && c > 0 || c == 0 && !b.Included {
			return false
		}
	}
	return true
}

// numbers draws integers of all sizes, those near to where float64 leaves some out, and floats.
func numbers() *rapid.Generator[string] {
	integer := func(around int64) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			return strconv.FormatInt(around+rapid.Int64Range(-5, 5).Draw(t, "off"), 10)
		})
	}
	return rapid.OneOf(
		integer(0), integer(1<<53), integer(-(1 << 53)), integer(1<<60), integer(-(1<<62)+7), integer(math.MaxInt64-5),
		rapid.Map(rapid.Uint64Range(math.MaxUint64-9, math.MaxUint64), func(u uint64) string { return strconv.FormatUint(u, 10) }),
		rapid.Map(rapid.Int64(), func(i int64) string { return strconv.FormatInt(i, 10) }),
		rapid.Map(rapid.Float64Range(-2, 2), func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }),
		rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'e', -1, 64) }),
		rapid.SampledFrom([]string{"0", "-0", "0.0", "-0.0", "0.1", "5e-324", "1.7976931348623157e308", "-1.7976931348623157e308", "1e2"}),
	)
}

func exact(t *rapid.T, s string) *big.Rat {
	c, err := token.Canonical(jsontext.Value(s))
	if err != nil {
		t.Fatalf("canonical: %v", err)
	}
	r, ok := new(big.Rat).SetString(string(c))
	if !ok {
		t.Fatalf("no number: %s", c)
	}
	if r.IsInt() && !bytes.ContainsAny(c, ".e") {
		return r // an integer is what it is written as
	}
	f, err := strconv.ParseFloat(string(c), 64)
	if err != nil {
		t.Fatalf("no float64: %v", err)
	}
	return new(big.Rat).SetFloat64(f)
}

func bounds(t *rapid.T, at []string) []token.Bound {
	list := make([]token.Bound, len(at))
	for i, a := range at {
		list[i] = token.Bound{
			Point: point(t, a), Lower: rapid.Bool().Draw(t, "lower"), Included: rapid.Bool().Draw(t, "included"),
		}
	}
	return list
}

func TestRangesOfNumbers(t *testing.T) {
	t.Parallel()
	hits := 0
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfN(numbers(), 1, 3).Draw(t, "bounds")
		list := bounds(t, at)
		exactly := make([]*big.Rat, len(at))
		for i := range at {
			exactly[i] = exact(t, at[i])
		}
		for _, x := range append(rapid.SliceOfN(numbers(), 1, 8).Draw(t, "values"), at...) {
			want := inRange((*big.Rat).Cmp, exact(t, x), list, exactly)
			if got := within(jsontext.Value(x), list...); got != want {
				t.Fatalf("%s within %v at %v: %v, want %v", x, list, at, got, want)
			}
			if want {
				hits++
			}
		}
		if n := len(token.LabelRange(clearHasher{}, "k", list...)); n > 2*15*19 {
			t.Fatalf("a range has %d tokens", n)
		}
	})
	if hits == 0 {
		t.Error("nothing was in any range")
	}
}

func TestRangesOfTimes(t *testing.T) {
	t.Parallel()
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	micros := rapid.OneOf(
		rapid.Int64Range(-3, 3), rapid.Int64Range(first.UnixMicro(), last.UnixMicro()),
		rapid.SampledFrom([]int64{first.UnixMicro(), first.UnixMicro() + 1, last.UnixMicro(), last.UnixMicro() - 1}),
	)
	text := func(us int64) string { return strconv.Quote(time.UnixMicro(us).UTC().Format(time.RFC3339Nano)) }
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfN(micros, 1, 3).Draw(t, "bounds")
		texts := make([]string, len(at))
		for i := range at {
			texts[i] = text(at[i])
		}
		list := bounds(t, texts)
		compare := func(a, b int64) int { return time.UnixMicro(a).Compare(time.UnixMicro(b)) }
		for _, x := range append(rapid.SliceOfN(micros, 1, 8).Draw(t, "values"), at...) {
			want := inRange(compare, x, list, at)
			if got := within(jsontext.Value(text(x)), list...); got != want {
				t.Fatalf("%s within %v at %v: %v, want %v", text(x), list, texts, got, want)
			}
		}
	})
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{`1`, `1.0`},
		{`100`, `1e2`},
		{`0`, `-0.0`},
		{`"2026-01-01T01:00:00+01:00"`, `"2026-01-01T00:00:00.0000009Z"`},
		{`1e999`, `1.7976931348623157e308`},
	} {
		if point(t, same[0]) != point(t, same[1]) {
			t.Errorf("%s and %s have two places", same[0], same[1])
		}
	}
	for _, none := range []string{
		`"5"`, `""`, `"2026-01-01"`, `"2026-01-01T00:00:00"`, `"0000-01-01T00:00:00Z"`, `true`, `null`, `[1]`, `{"a":1}`, ``, `-`,
	} {
		if p, ok := token.PointOf(jsontext.Value(none)); ok {
			t.Errorf("%s has the place %v", none, p)
		}
		if steps := token.LabelSteps(clearHasher{}, "k", jsontext.Value(none)); steps != nil {
			t.Errorf("%s has the tokens %v", none, steps)
		}
	}
	// What is longer than any float64 can be.
	huge := "1" + string(slices.Repeat([]byte{'0'}, 400))
	if !within(jsontext.Value(huge), token.Bound{Point: point(t, "1e308"), Lower: true}) ||
		!within(jsontext.Value("-"+huge), token.Bound{Point: point(t, "-1e308")}) {
		t.Error("a huge number is not beyond the others")
	}
}

func TestComparable(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"1e400": false, "-2E400": false, "1e-400": false, "-0.1e-999": false,
		"1e308": true, "5e-324": true, "0.0": true, "-0e-999": true, "0.1": true, `"1e400"`: true, "true": true,
		"1" + strings.Repeat("0", 400): true, // an integer keeps its digits
	} {
		if token.Comparable(jsontext.Value(value)) != want {
			t.Errorf("%.20s can be compared: %t", value, !want)
		}
	}
}

// What is beyond the greatest float64 is in its place, on either side of zero and
// however long it is.
func TestBeyondFloat64(t *testing.T) {
	t.Parallel()
	greatest, _ := big.NewFloat(math.MaxFloat64).Int(nil)
	digits := func(beyond uint) string {
		return new(big.Int).Add(greatest, new(big.Int).Lsh(big.NewInt(1), beyond)).String()
	}
	for _, sign := range []string{"", "-"} {
		end := point(t, sign+greatest.String())
		for _, beyond := range []string{digits(0), digits(900), digits(969), digits(970), digits(971), digits(2000), "1e999", strings.Repeat("7", 1<<20)} {
			if p := point(t, sign+beyond); p != end {
				t.Errorf("%s%.20s, which is beyond, is at %v, not at %v", sign, beyond, p, end)
			}
		}
		// The control: the float64 before it, and an integer between the two, have
		// places of their own.
		before, _ := big.NewFloat(math.Nextafter(math.MaxFloat64, 0)).Int(nil)
		between := new(big.Int).Add(before, new(big.Int).Lsh(big.NewInt(1), 970))
		if b, m := point(t, sign+before.String()), point(t, sign+between.String()); b == m || m == end || b == end {
			t.Errorf("%sbefore %v, between %v, end %v", sign, b, m, end)
		}
	}
}

// TestRangesApart are pairs of what must not have to do with one another.
func TestRangesApart(t *testing.T) {
	t.Parallel()
	h := tenant(t)
	from := token.Bound{Point: point(t, "5"), Lower: true, Included: true}
	list := token.LabelRange(h, "k", from)
	has := func(tokens []string) bool {
		return slices.ContainsFunc(tokens, func(t string) bool { return slices.Contains(list, t) })
	}
	if !has(token.LabelSteps(h, "k", jsontext.Value("7"))) {
		t.Error("7 is not above 5")
	}
	if has(token.LabelSteps(h, "other", jsontext.Value("7"))) {
		t.Error("a number of another key is in the range")
	}
	if has(token.LabelSteps(h, "k", jsontext.Value(`"9000-01-01T00:00:00Z"`))) {
		t.Error("a time is in a range of numbers")
	}
	noon := token.Bound{Point: point(t, `"2026-01-01T12:00:00Z"`)}
	for _, none := range [][]token.Bound{
		nil,
		{from, noon},
		{{Lower: true}},
		{from, {Point: point(t, "4")}},
		{from, {Point: point(t, "5")}},
		{{Point: point(t, `"0001-01-01T00:00:00Z"`)}},
	} {
		if got := token.LabelRange(h, "k", none...); len(got) > 0 {
			t.Errorf("%v has the tokens %v", none, got)
		}
	}
	for _, token := range append(list, token.LabelKey(h, "k")) {
		if !events.ValidToken(token) || len(token) != 16 {
			t.Errorf("%q is no token", token)
		}
	}
	if token.LabelKey(h, "Mari\u0301a") != token.LabelKey(h, "Mar\u00eda") || token.LabelKey(h, "a") == token.LabelKey(h, "b") {
		t.Error("keys are told apart by their spelling, or not at all")
	}
}

func BenchmarkRange(b *testing.B) {
	h := clearHasher{}
	lo, _ := token.PointOf(jsontext.Value("-1.2345678901234567"))
	hi, _ := token.PointOf(jsontext.Value("12345.678901234567"))
	for b.Loop() {
		list := token.LabelRange(h, "k", token.Bound{Point: lo, Lower: true}, token.Bound{Point: hi})
		b.ReportMetric(float64(len(list)), "tokens")
	}
}
