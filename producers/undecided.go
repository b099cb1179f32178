package producers

import (
	"slices"
)

// maxUndecided bounds for how many positions the vector of a candidate waits for
// the decision, which is the next commit of its slot unless its command was cut
// off.
const maxUndecided = 1_000

// undecided are the candidates that an [Embedder] has read and that nothing has
// decided on yet, oldest first.
type undecided struct{ list []pendingText }

func (u *undecided) add(t pendingText) { u.list = append(u.list, t) }

// take takes out a candidate, if it is there.
func (u *undecided) take(record string) (t pendingText, ok bool) {
	i := slices.IndexFunc(u.list, func(t pendingText) bool { return t.record == record })
	if i < 0 {
		return pendingText{}, false
	}
	t = u.list[i]
	u.list = slices.Delete(u.list, i, i+1)
	return t, true
}

// takeOld takes out those that have waited too long at a position.
func (u *undecided) takeOld(position uint64) []pendingText {
	n := 0
	for n < len(u.list) && position-u.list[n].position >= maxUndecided {
		n++
	}
	old := slices.Clone(u.list[:n])
	u.list = slices.Delete(u.list, 0, n)
	return old
}

// before is the last position up to which none is left, at most the given one.
func (u *undecided) before(position uint64) uint64 {
	if len(u.list) > 0 {
		return min(position, u.list[0].position-1)
	}
	return position
}
