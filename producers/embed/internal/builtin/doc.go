// Package builtin is what the models inside the binary have in common: it cuts a text into windows, lets them take turns
// at the processors, and averages their vectors. The arithmetic is the [Network]'s.
package builtin
