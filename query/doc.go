// Package query answers: it recalls the memories that have to do with a question,
// lists and looks up facts and episodes on both axes of time, and shows where a
// fact came from and what an answer was made of.
//
// It reads the views and opens what it shows; it writes nothing but traces and that
// a subject was exported, through whoever implements [Traces] and [Exports].
//
// # Guarantees
//
//   - The tenant is the caller's own, in every filter, look-up and cursor. A
//     request has no tenant. What one tenant reads does not depend on another.
//   - What may be shown is settled before it is ranked: tenant, subject, status,
//     valid and recorded time, expiry, tombstones and the caller's filter. A
//     score brings nothing back.
//   - What was taken from an earlier revision of a source is no answer about now: not
//     in a recall and no current fact, by the same snapshot that found it. As of an
//     earlier time it is. A fact is current as long as one of its sources is.
//   - What a tool or somebody outside has said is withheld from agents if by today's
//     rules it looks like an instruction; reviewers see it marked.
//   - Of a slot only the fact that is true at the time asked about is recalled, unless a history is asked for.
//   - An episode stands as long as one of the facts that were taken from it does, at the times asked about and as far as
//     the caller may read them. One that does not comes below all that does, however well it matches; its result says what
//     became of it and what is true instead. Of those about the same slot one is shown, and all in a history.
//   - Every read goes: tombstone, key, open, tombstone again. What was forgotten
//     before the answer was put together is not in it. A destroyed key leaves a
//     hit out; a damaged one is an error.
//   - Of a subject under a legal hold nothing is shown, to no role: every read but
//     an export looks as if it had nothing. Memories of others do not name it.
//   - A name, a tenant or an id that is not there looks like one that has
//     nothing: an empty answer, or ErrNotFound.
//   - Equal questions to equal views at equal times get equal answers, in order:
//     score, then the later position, then the id.
//   - A token budget is kept; what does not fit is left out whole and counted.
//   - Every recall has a trace when it is returned.
//   - The log tells of an export before its first line is written. An export has a
//     signed manifest, which accounts for every byte of it, or is void: see
//     [Exporter.Export] and [VerifyExport].
//   - Every answer says at which position it was read.
//
// # Not guaranteed
//
//   - Views can stand at different positions; an answer's is the lowest. Only
//     [Strong] reads ask the log itself, and only about what the views found.
//   - KnownAt in a recall finds by the words and vectors of today's index: a fact
//     that is no longer indexed because it turned out never to have been true is
//     found by [Service.Facts] only.
//   - What is under a hold still counts in the statistics of words and among the
//     candidates of a recall that names no subject: where thousands of held
//     memories match better than the rest, the rest may not be found.
//   - Who recalls about a held subject gets a trace, kept with the subject, that
//     nobody can read until the hold is lifted.
//   - An episode that no fact was taken from, or one that says something beside its facts, is believed: nobody reads here
//     what a text means.
//   - Lists of episodes show what happened, also what is retired, marked as such, and
//     what looks like an instruction.
//   - Relevance is an estimate. That nothing is relevant means that nothing was
//     above a floor.
//   - A subject that is held and forgotten at once cannot be exported: the views
//     have let go of it.
//   - Results are data that somebody wrote. Nothing here makes it safe to obey.
package query
