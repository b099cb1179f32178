// Package residue lets a scan look into the tables of the views, whose blocks
// are compressed and whose keys share their beginnings.
//
// It guarantees that every point, range deletion and range key of a table is
// handed on, those that newer ones hide included, and every block as a whole
// besides, uncompressed: indices, filters and properties too. A table that is
// damaged is an error, never a part of an answer.
//
// It does not read values that stand in files of their own, which the views do
// not use; a table with such values is an error.
package residue
