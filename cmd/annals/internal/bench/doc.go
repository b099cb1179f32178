// Package bench measures a node beside raw references of the same run, so
// that a figure says something on any machine: a ratio to what JetStream alone
// does with the same bytes at the same durability.
//
// Not guaranteed: that absolute figures repeat. Compare ratios, on a quiet
// machine.
package bench
