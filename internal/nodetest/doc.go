// Package nodetest makes all that a process has, on a log in memory or on an
// embedded server, for tests that need writers, readers and the eraser at once.
// Everything in it is real; only the clock is the test's. No binary may link it.
package nodetest
