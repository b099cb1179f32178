package pebbleindex

import (
	"math"
	"slices"
)

// scored is one document of a scope, by its number in the scope, with its score.
type scored struct {
	doc   int32
	score float64
}

// floor keeps the k greatest of the numbers offered to it as a heap with the least on top.
type floor struct {
	k    int
	heap []float64
}

// min returns the k-th greatest number so far. ok is false while there are fewer.
func (f *floor) min() (least float64, ok bool) {
	if len(f.heap) < f.k {
		return 0, false
	}
	return f.heap[0], true
}

func (f *floor) offer(x float64) {
	if len(f.heap) < f.k {
		f.heap = append(f.heap, x)
		for i := len(f.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if f.heap[up] <= f.heap[i] {
				break
			}
			f.heap[up], f.heap[i] = f.heap[i], f.heap[up]
			i = up
		}
		return
	}
	if x <= f.heap[0] {
		return
	}
	f.heap[0] = x
	for i := 0; ; {
		down := 2*i + 1
		if down >= len(f.heap) {
			return
		}
		if r := down + 1; r < len(f.heap) && f.heap[r] < f.heap[down] {
			down = r
		}
		if f.heap[i] <= f.heap[down] {
			return
		}
		f.heap[i], f.heap[down] = f.heap[down], f.heap[i]
		i = down
	}
}

// kthGreatest returns the k-th greatest score of list, and one below all when there are fewer.
func kthGreatest(list []scored, k int) float64 {
	if len(list) < k {
		return math.Inf(-1)
	}
	f := floor{k: k, heap: make([]float64, 0, k)}
	for _, s := range list {
		f.offer(s.score)
	}
	least, _ := f.min()
	return least
}

// best returns the documents of list that may be among the first k by score and then by Seq descending: the first k and
// all that tie with the k-th, which only the id can tell apart. It reorders list.
func best(list []scored, seqs []uint64, k int) []scored {
	if k <= 0 {
		return nil
	}
	if len(list) <= k {
		return list
	}
	least := kthGreatest(list, k)
	list = slices.DeleteFunc(list, func(s scored) bool { return s.score < least })
	slices.SortFunc(list, func(a, b scored) int { return byRank(a, b, seqs) })
	n := k
	for n < len(list) && byRank(list[k-1], list[n], seqs) == 0 {
		n++
	}
	return list[:n]
}

// byRank orders by score descending, then by Seq descending.
func byRank(a, b scored, seqs []uint64) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	case seqs[a.doc] > seqs[b.doc]:
		return -1
	case seqs[a.doc] < seqs[b.doc]:
		return 1
	}
	return 0
}
