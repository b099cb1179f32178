// Package token derives everything in the log that stands for a name, a request
// or a command: tokens, ids, fingerprints, and the note beside a record's key.
// Who writes, who reads and who forgets must derive the same, so that there is
// one place for it.
//
// # Tokens
//
// A token is [Hasher.Hash] of a field and a value, which for a tenant is keyed
// with the tenant's own key. "" has the token "", which is no condition and no
// value.
//
//	function    field        value
//	Principal   principal    the caller's name
//	Category    category     the consent category, as CategoryName has it
//	Session     session      the session
//	Entity      entity       the entity's name
//	Predicate   predicate    the predicate
//	Scope       scope        the scope
//	AnswerRef   answer_ref   what an answer is known by outside
//	Source      source       kind, NUL, reference
//	Revision    revision     the revision of a source
//	Label       label        key, NUL, canonical JSON of the value
//	LabelKey    label_key    the key; 80 bits of the hash
//	LabelSteps  label_step   the first digits of a number or a time, NUL, key; 80 bits of the hash
//	Slot        slot         subject id, NUL, predicate, NUL, scope
//	Question    question     what a page of a list was asked, as it is
//	Cursor      cursor       the payload of a cursor, as it is
//	Fingerprint fingerprint  canonical JSON of the request, as it is
//
// Values are put into Unicode normalization form C before they are hashed, but
// for those that are taken as they are: two spellings of the same characters are
// one name; case and blanks are significant. No part that is joined by NUL may
// hold one itself.
//
// Canonical JSON is that of RFC 8785, except that integers keep all their
// digits: two large ones must not become equal by rounding.
//
// # Ids
//
// An id is a UUID of version 8 (RFC 9562) of the first 128 bits of a hash. The
// parts of its value are written as they are, each after its length in bytes
// and a colon, so that no two lists of parts give the same.
//
//	function        field      parts
//	Command         idem       command, principal, key, item
//	Erasure         idem       command, token of the principal, key
//	Tombstone       tombstone  erasure, kind, id of the aggregate, position
//	Vector          none       the word vector, record, model, with NUL between; SHA-256 without a key
//	Decision        none       the word decision, candidate, with NUL between; SHA-256 without a key
//
// # Guarantees
//
//   - All words, forms and orders above are for ever, but for those of LabelKey
//     and LabelSteps, which a view makes again when they change. A record, a slot or a key
//     that was made once is found again by the same derivation, by every later
//     version.
//   - An error never holds the value it is about.
//
// # Not guaranteed
//
//   - A token shows which values are equal, and whoever holds the tenant's key
//     can try guesses. The tokens of LabelSteps show besides, of two values of
//     one key, how many of their first digits are equal; they are in no event.
//   - Values are not checked here: what a caller may send is checked where it
//     comes in.
//   - The names of subjects and tenants are not here: they are looked up in key
//     rows, by package seal.
package token
