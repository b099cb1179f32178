// Package producers turns commands into commits: it checks a request, seals
// what a person could recognise, decides, and appends. It is the same for every
// door; a door only decodes, authenticates and encodes.
//
// # Guarantees
//
//  1. A request that breaks a rule changes nothing and is answered with an
//     *events.InputError that names the field and the rule. No error of this
//     package holds text of a request.
//  2. Everything is decided on the aggregate itself, read from the log, and
//     appended under the position that was read. A view is never asked.
//  3. A fact slot has at most one true fact at any instant, under any number of
//     concurrent proposals, in any number of processes.
//  4. A command that is repeated under its idempotency key has one effect and
//     one answer, without a time limit, also if the first attempt was cut off
//     after any of its steps. Another request under the key is
//     events.ErrKeyReused; a key whose record was forgotten is
//     events.ErrForgotten.
//  5. Trust is that of the caller's credential or lower, and a fact has the
//     lowest trust of its caller, its sources and what was recalled for it. What
//     is external waits in quarantine, and so does what a tool says that looks
//     much like an instruction; what is external or from a tool is never promoted
//     without a review, whatever the policy says. Who is external or a tool is
//     not told what becomes of a candidate until it is promoted.
//  6. A proposal is two commits of its slot: the candidate alone, with all that
//     is sealed of it, and then the decision, which holds no value. So the
//     message of a candidate can be removed from the log and takes nothing from
//     other facts. Until it is decided a candidate is true at no time, has no
//     part in any decision, and cannot be retracted. Once the candidate is in the
//     log, the decision does not wait for its caller.
//  7. Nothing is added under a forgotten subject: a command that raced with the
//     forget starts again under a new id, or is forgotten with the rest. A fact
//     whose source was forgotten while it was being decided loses that source,
//     and itself if it was the only one. A candidate that was forgotten before it
//     was decided is events.ErrForgotten for its command.
//  8. While a subject is under a legal hold its facts stay as they are: a proposal and
//     a retraction are events.ErrHeld, also what would be written of a subject that is
//     forgotten and held, and a report on a trace of it is events.ErrNotFound.
//     Who is external or a tool is not told: its proposal seems to wait, and there
//     is nothing for it to retract. Episodes of a held subject are kept. A hold that
//     is put on while a command appends may come behind it.
//
// # Not guaranteed
//
// A command that fails with events.ErrUnavailable may have taken effect;
// repeat it under its key. Without a key a repetition is a second command. A
// key row without its event can remain after a crash; it opens nothing. A
// report on a trace that was cut off right after its event, and is repeated
// when the log no longer knows its id, is a second report.
// A proposal that was cut off between its two commits leaves a candidate that no
// read shows. The same command under its key decides on it; nothing else does,
// so that without a key it stays until it is forgotten.
// Two processes that forget and capture the same subject at the same moment
// may answer the capture with success though the episode is forgotten.
//
// A trace that was removed from the log, with its subject, is an unknown one to
// what names it later.
//
// What waits in quarantine and is not released is ended by the [Sweeper], and its
// key destroyed, some seconds after its time at the earliest; without one running
// its content goes all the same, and the key stays.
//
// The vectors of memories come from the [Embedder], which follows the log.
package producers
