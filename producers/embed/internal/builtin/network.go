package builtin

// Network is the arithmetic of one model. It is read-only once made.
type Network interface {
	// Encode cuts a text into the ids of its tokens, without those that frame a window. It reads no more of a text
	// than the windows can hold.
	Encode(text string) []int32
	// NewPass makes the working memory of one pass.
	NewPass() Pass
}

// Pass computes one window after the other in the same memory.
type Pass interface {
	// Forward writes the vector of one window, which is not empty, to out. Its length need not be 1.
	Forward(ids []int32, out []float32)
}
