package token

import (
	"bytes"
	"math"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

const (
	// digitBits are the bits of one digit of an order. With fewer, a value has more
	// tokens; with more, a range does.
	digitBits = 4
	digitMax  = 1<<digitBits - 1
	// maxDigits are those of a number that a float64 does not tell from its
	// neighbours: 64 bits of a float64, and 12 bits from there to the next one.
	maxDigits   = floatDigits + gapDigits
	floatDigits = 64 / digitBits
	gapBits     = 12
	gapDigits   = gapBits / digitBits
	// timeDigits are enough for the microseconds of the years 1 to 9999.
	timeDigits = 60 / digitBits

	numberSort = "n"
	timeSort   = "t"

	// firstMicro is the beginning of the year 1.
	firstMicro = -62_135_596_800_000_000
	// exactFloat is from where on a float64 leaves out integers.
	exactFloat = 1 << 53
)

// Point is the place of a number or a time in its order. The zero value is none.
type Point struct {
	sort string
	// digits are what the order goes by. Those of a number that are not here
	// are zero for it and for all in its place.
	digits string
}

// PointOf returns the place of a number, or of a string that is an RFC 3339 time
// as [events.Time] reads it; ok is false for all else. Times go by microseconds.
// Numbers go by what [Canonical] makes of them: integers up to 2^65 and all of
// float64 exactly, and longer integers by their first 65 bits.
func PointOf(value jsontext.Value) (p Point, ok bool) {
	switch value.Kind() {
	case '0':
		canonical, err := Canonical(value)
		if err != nil {
			return Point{}, false
		}
		return Point{sort: numberSort, digits: numberDigits(string(canonical))}, true
	case '"':
		var s string
		var t events.Time
		if json.Unmarshal(value, &s) != nil || len(s) < len("0000-00-00T00:00:00Z") || t.UnmarshalText([]byte(s)) != nil {
			return Point{}, false
		}
		return Point{sort: timeSort, digits: digitsOf(uint64(t.UnixMicro()-firstMicro), timeDigits)}, true
	default:
		return Point{}, false
	}
}

// digitsOf returns the lowest n digits of x, the highest of them first.
func digitsOf(x uint64, n int) string {
	d := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		d[i] = byte(x & digitMax)
		x >>= digitBits
	}
	return string(d)
}

func numberDigits(s string) string {
	v := number(s)
	f, side := v.Float64()
	if strings.ContainsAny(s, ".eE") {
		side = big.Exact // it is the float64 that it is written for
		v.SetFloat64(f)
	}
	if side == big.Above {
		f = math.Nextafter(f, math.Inf(-1))
	}
	if f == 0 {
		f = 0 // there are two zeros
	}
	key := math.Float64bits(f)
	if f < 0 {
		key = ^key
	} else {
		key |= 1 << 63
	}
	d := digitsOf(key, floatDigits)
	if math.Abs(f) < exactFloat {
		return d
	}
	return d + digitsOf(gap(v, f), gapDigits)
}

// maxInteger is the longest that an integer within float64 can be, with its sign.
const maxInteger = 310

// number reads a number. All beyond the greatest float64 are in its place, on
// either side of zero.
func number(s string) *big.Float {
	greatest, side := big.NewFloat(math.MaxFloat64), 1
	if strings.HasPrefix(s, "-") {
		greatest.Neg(greatest)
		side = -1
	}
	if len(s) > maxInteger && !strings.ContainsAny(s, ".eE") {
		return greatest // reading it would take time that grows faster than its length
	}
	v, ok := new(big.Float).SetPrec(uint(4*len(s) + 64)).SetString(s)
	switch {
	case !ok:
		return new(big.Float)
	case v.Cmp(greatest) == side:
		return greatest
	}
	return v
}

// gap is how far v is from f, the float64 before it, on the way to the next one:
// in integers if there are few enough between, else in equal parts.
func gap(v *big.Float, f float64) uint64 {
	from, _ := new(big.Float).SetFloat64(f).Int(nil)
	rest, _ := v.Int(nil)
	rest.Sub(rest, from)
	width := math.Nextafter(f, math.Inf(1)) - f
	if math.IsInf(width, 1) || width <= 1<<gapBits {
		return rest.Uint64() // of the greatest of all it is zero, for nothing is beyond
	}
	whole, _ := new(big.Float).SetFloat64(width).Int(nil)
	rest.Lsh(rest, gapBits)
	return rest.Quo(rest, whole).Uint64()
}

// Bound is one end of a range.
type Bound struct {
	Point

	// Lower says that it is the lower end, Included that its point is in.
	Lower, Included bool
}

// LabelSteps returns the tokens of a key of metadata with each beginning of the
// digits of its value's [Point]; nil if that has none. A value is in a range if one
// of its tokens is among those of [LabelRange].
func LabelSteps(h Hasher, key string, value jsontext.Value) []string {
	p, ok := PointOf(value)
	if !ok {
		return nil
	}
	tokens := make([]string, len(p.digits))
	for i := range tokens {
		tokens[i] = step(h, key, p.sort, p.digits[:i+1])
	}
	return tokens
}

// LabelRange returns the tokens of a key of metadata with those beginnings of
// digits that all points in the range have, and no others: at most 2·15 for a
// digit. The range is what is within all bounds; of numbers and times together it
// is nothing. No bounds are nothing too.
func LabelRange(h Hasher, key string, bounds ...Bound) []string {
	if len(bounds) == 0 {
		return nil
	}
	c := cover{h: h, key: key, sort: bounds[0].sort}
	width := maxDigits
	if c.sort == timeSort {
		width = timeDigits
	}
	lo, hi := padded("", 0, width), padded("", digitMax, width)
	for _, b := range bounds {
		if b.sort != c.sort || b.digits == "" {
			return nil
		}
		first, last := padded(b.digits, 0, width), padded(b.digits, digitMax, width)
		ok := true
		switch {
		case b.Lower && b.Included:
			lo = later(lo, first)
		case b.Lower:
			ok = move(last, 1)
			lo = later(lo, last)
		case b.Included:
			hi = earlier(hi, last)
		default:
			ok = move(first, -1)
			hi = earlier(hi, first)
		}
		if !ok {
			return nil
		}
	}
	if bytes.Compare(lo, hi) <= 0 {
		c.between(lo, hi, 0)
	}
	return c.tokens
}

// padded makes the digits width long with the filling.
func padded(digits string, filling byte, width int) []byte {
	return append([]byte(digits), bytes.Repeat([]byte{filling}, width-len(digits))...)
}

func later(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

func earlier(a, b []byte) []byte {
	if bytes.Compare(a, b) > 0 {
		return b
	}
	return a
}

// move goes to the next digits, or to those before for a step of -1; it reports
// whether there are any.
func move(digits []byte, by int) bool {
	edge, other := byte(digitMax), byte(0)
	if by < 0 {
		edge, other = other, edge
	}
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] != edge {
			digits[i] = byte(int(digits[i]) + by) //nolint:gosec // it is no edge
			return true
		}
		digits[i] = other
	}
	return false
}

// cover collects the fewest beginnings that make up a range.
type cover struct {
	h         Hasher
	key, sort string
	tokens    []string
}

// between takes what is from lo to hi, which have the first d digits in common.
func (c *cover) between(lo, hi []byte, d int) {
	if d > 0 && all(lo[d:], 0) && all(hi[d:], digitMax) {
		c.tokens = append(c.tokens, step(c.h, c.key, c.sort, string(lo[:d])))
		return
	}
	for x := lo[d]; x <= hi[d]; x++ {
		from, to := lo, hi
		if x > lo[d] {
			from = padded(string(lo[:d])+string(rune(x)), 0, len(lo))
		}
		if x < hi[d] {
			to = padded(string(lo[:d])+string(rune(x)), digitMax, len(hi))
		}
		c.between(from, to, d+1)
	}
}

func all(digits []byte, x byte) bool { return bytes.Count(digits, []byte{x}) == len(digits) }

// step is the token of a key with the beginning of a point.
func step(h Hasher, key, sort, digits string) string {
	const names = "0123456789abcdef"
	var b strings.Builder
	b.WriteString(sort)
	for i := range len(digits) {
		b.WriteByte(names[digits[i]])
	}
	b.WriteByte(0)
	b.WriteString(key)
	return short(of(h, "label_step", b.String()))
}

// LabelKey returns the token of a key of metadata, whatever its value is.
func LabelKey(h Hasher, key string) string { return short(of(h, "label_key", key)) }

// short cuts a token to 80 bits: there are many for each record, and nothing but
// a filter of one tenant's records goes by them.
func short(token string) string {
	const length = 16
	return token[:min(length, len(token))]
}
