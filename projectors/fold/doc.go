// Package fold is the reference of the projections: what the log means, folded in memory in the plainest way.
//
// It is the oracle of the projections' tests and a place to read what a view must hold. It guarantees nothing about speed,
// and it grows with the log. It folds what is given in the order it is given; an event on an aggregate that it does not
// belong to is not refused here but parked by the runner, and so never comes.
//
// # The rules of forgetting
//
//   - A subject with a tombstone has no rows and never gets any again; the tombstones of its own records go too.
//   - An episode or a fact with a tombstone has no other row and never gets one again.
//   - A fact is masked while each of its sources is forgotten, itself or by its subject. A source without a subject never
//     existed and does not count; a fact that never had one that existed is not masked.
//   - A legal hold outlives the tombstone of its subject.
//
// Whether the tombstone comes before or after what it ends makes no difference to the outcome.
package fold
