//go:build race

package ledger_test

// raced says that the race detector is there, which needs more address space
// than any limit would leave.
const raced = true
