// Package scan looks for what was forgotten in the files of a data directory.
//
// It takes words and vectors, works out how each may stand in a file, and reads
// every file below a directory for all of them at once, in constant memory: raw
// UTF-8 as given, in NFC and in NFD, in lower and in upper case, and each of
// those in base64 (both alphabets, whatever stands before it), in hexadecimal,
// with the escapes of JSON, percent-encoded and in UTF-16; vectors as float32
// and float64 of either byte order and rounded to int8. File names are searched
// as well. A [Format] unpacks files whose bytes do not show what they hold.
//
// Guarantees:
//
//   - A run that could not have found is no result. Before the directory is
//     read, every pattern is searched for in memory, and stand-ins in every
//     encoding, drawn for the run, are planted in the directory and in a file of
//     each format, and found by the same code. If one is missed, the run fails
//     with [ErrControl].
//   - The words themselves are not written anywhere, neither to plant them, which
//     would leave on the disk what has been erased, nor in a report: what a file
//     name holds of them is blanked there.
//   - What cannot be read is reported, never passed over: compressed or encrypted
//     blocks of the log, archives, damaged tables, unreadable files.
//   - A file that changes or appears while the directory is read is read again; a
//     directory that does not come to rest is reported as not settled.
//
// A [HeapDump] is searched for the same, for information: what a process holds of
// a word may be the word that it was asked about, garbage that the next collection
// takes, or a page of a cache. It makes no report unclean, and no hit there proves
// little: what the heap has given back is not in a dump.
//
// Not guaranteed: a scan sees files, not the blocks of a disk that files have
// left, nor memory of other processes, swap, snapshots of a file system, or other machines. It does
// not find a part of a word, a word that is split over lines or messages, one in
// any other encoding or case (Quoted-Printable, HTML entities, one encoding
// inside another), or a run of fewer than eight numbers of a vector. In bytes
// that look random, a word of n bytes is met by chance once in some 256^n bytes
// for each of its forms: short words are refused, and those of four and five
// bytes may be met in ciphertext.
package scan
