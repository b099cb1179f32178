package index

// Kind says which sort of memory a document stands for.
type Kind uint8

// The kinds of memory.
const (
	// Episode is something that happened.
	Episode Kind = iota + 1
	// Fact is something that is held true over an interval.
	Fact
	// Trajectory is a recorded run of a task.
	Trajectory
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool { return k >= Episode && k <= Trajectory }

// String returns the lower-case name of k.
func (k Kind) String() string {
	switch k {
	case Episode:
		return "episode"
	case Fact:
		return "fact"
	case Trajectory:
		return "trajectory"
	}
	return "unknown"
}
