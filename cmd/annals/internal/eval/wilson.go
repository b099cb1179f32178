package eval

import "math"

// Share is how many of so many, with the 95 % interval of Wilson (1927).
type Share struct {
	N     int     `json:"n"`
	Hits  int     `json:"hits"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// NewShare computes the share and its interval; of nothing it says nothing.
func NewShare(hits, n int) Share {
	if n == 0 {
		return Share{High: 1}
	}
	const z = 1.959963984540054
	p, m := float64(hits)/float64(n), float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return Share{N: n, Hits: hits, Share: p, Low: math.Max(0, centre-half), High: math.Min(1, centre+half)}
}
