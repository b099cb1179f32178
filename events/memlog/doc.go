// Package memlog is the log in memory: the reference that every other
// implementation of events.Log is compared with.
//
// It is for tests and for reading. It holds one slice under one mutex, encodes
// on append and decodes on reading, as a log on disk does, and is never
// optimised: what it does is what the port means.
//
// # Guarantees
//
// All of events.Log. A commit id is remembered for as long as the commit is in
// the log, so a retry is recognised without a time limit.
//
// # Not guaranteed
//
// Nothing outlives the process. Reading one aggregate costs time in the length
// of the whole log.
package memlog
