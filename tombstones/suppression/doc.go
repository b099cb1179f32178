// Package suppression keeps forgotten values from coming back: it knows keyed
// hashes of them, and tells whether a value is one of those.
//
// They are events of one aggregate for each tenant, and not rows beside the keys:
// so they are in the order of the log and in its tree, every process knows them, a
// backup has them, and a tenant that never used them has nothing at all.
//
// # Guarantees
//
//   - A value is compared in a normal form: NFKC, lower case, without control
//     and format characters, variation selectors and whatever else is not to be
//     seen, each run of blanks one. A value that is empty then is
//     never kept out.
//   - What is kept is a hash under the tenant's own key: equal values of another
//     tenant are not kept out, and the hashes tell nothing without the key.
//   - A value that was added by this Set is kept out when Add has returned.
//   - They outlive the record, its key and its subject.
//   - What is kept out is lifted by the id of what kept it out. A value that two
//     keep out is let in when both are lifted.
//
// # Not guaranteed
//
//   - A restore has those that the restored log has: what was added behind it has to
//     be added again.
//   - A value that another process added is kept out here a second later at most.
//   - A paraphrase, a translation or a text that has the value as a part is
//     another value.
//   - A repetition under its key of a capture or proposal that was taken before its
//     value was kept out is refused too, though what it made may be there.
//   - What was lifted leaves its hashes in the log.
//   - Who holds the tenant's key can try values out.
package suppression
