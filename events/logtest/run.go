package logtest

import (
	"testing"

	"github.com/annals-memory/annals/events"
)

// Run runs the contract. Each call of open returns an empty log that lives as
// long as the test it is given; the tests run one after another, so that open
// may empty a shared store.
func Run(t *testing.T, open func(t *testing.T) events.Log) {
	t.Helper()
	for _, c := range contract() {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

type clause struct {
	name string
	test func(*testing.T, events.Log)
}

func contract() []clause {
	return []clause{
		{"an appended commit is read back", testRoundTrip},
		{"many events in one commit", testManyEvents},
		{"a wrong expectation is a conflict with the position", testConflict},
		{"one of fifty creators wins", testOneWinner},
		{"one of fifty successors wins", testOneSuccessor},
		{"a retry is one commit", testRetry},
		{"a retry after later commits is a conflict", testRetryTooLate},
		{"one id on two aggregates is two commits", testSharedID},
		{"anything goes with ExpectAny", testExpectAny},
		{"ExpectAny is for vectors and traces", testExpectAnyKinds},
		{"a trace parent has its form", testTraceParent},
		{"a batch is appended in order", testBatch},
		{"a batch is all or nothing", testBatchConflict},
		{"rival batches do not mix", testBatchRace},
		{"the limits of a batch", testBatchLimits},
		{"a commit that is too large", testTooLarge},
		{"bad tokens are refused", testBadTokens},
		{"a cancelled context is an error", testCancelled},
		{"one aggregate among many", testOneAmongMany},
		{"two thousand commits of one aggregate", testLongAggregate},
		{"reads see what was acknowledged", testReadYourWrites},
		{"a tenant never reads another's", testForeign},
		{"all of a kind", testKind},
		{"the last commit", testLast},
		{"a message at its position", testMessageAt},
		{"the state of the log", testState},
		{"follow from the beginning and the middle", testFollow},
		{"follow wakes up", testFollowLive},
		{"several followers at once", testFollowers},
		{"follow ends with its context", testFollowEnds},
		{"follow owns its data", testFollowOwnsData},
	}
}
