// Package logtest is the contract of events.Log as tests: what every
// implementation must do, the one in memory too.
//
// [Run] runs all of it. The tests touch nothing but the port, so they do not
// know what is behind it; what only one implementation can show (crashes,
// replicas, bytes on a disk) is tested beside it. A test that must find nothing
// first shows that it would find something.
package logtest
