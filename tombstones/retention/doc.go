// Package retention ends what has been kept for long enough: it reads how long
// memories of each category are to be kept from a file, finds what is over by a
// time, and hands it to the forget saga.
//
// # The file
//
// It is YAML. Nothing in it is optional but what is marked so, nothing else may
// be in it, and no key may be given twice:
//
//	version: 1
//	default: keep          # how long what no category below names is kept
//	expiry_grace: 7d       # optional; how long a fact is kept behind its expires_at
//	categories:            # optional
//	  support:
//	    episodes: 90d      # each optional; left out, it is the default
//	    facts: 2y
//	    candidates: 30d
//
// A duration is a whole number above zero and one unit: h is an hour, d is 24
// hours, m is a calendar month, y a calendar year, all in UTC. A month after the
// 31st of January is the last day of February. "keep" is for ever; as
// expiry_grace it means that expiry erases nothing. Without expiry_grace an
// expired fact is erased at once.
//
// Time counts from:
//
//   - for an episode, when the log recorded it, whenever it may have happened;
//   - for a fact, when the log recorded the last change to it: a promotion, a
//     source more or less, a supersession, a retraction. What is confirmed again
//     and again stays;
//   - for a candidate, when it was proposed. A candidate is what was proposed and
//     is no fact: not decided on, waiting for a review, quarantined, or rejected.
//     One that was merged into a fact of equal value goes with that fact.
//
// # What is no fact
//
// Beside the file, each tenant says how long what was proposed and did not become a
// fact is kept: see [Settler]. A candidate ends when either of the two is over. One
// whose review was taken back counts from then.
//
// # Guarantees
//
//   - What a file does not mention is kept, unless its default, or for a candidate the
//     tenant, says otherwise.
//   - A file that cannot be read in full changes nothing: the error names the line.
//   - A subject under a legal hold keeps everything: holds are looked for in the log
//     right before each batch is ended.
//   - A preview writes nothing, and names what a run at that time would end.
//   - Erasing is the saga's: a tombstone first, with its own account of progress
//     and its cause, retention or expiry.
//   - Any number of processes can run the same schedule.
//
// # Not guaranteed
//
//   - A hold that is put while a batch is being ended comes too late for its
//     tombstones; what they end is not destroyed before the hold is lifted.
//   - Facts that rest on an episode alone go with it, as they do in every forget,
//     however long facts are kept, those about a subject under a hold too if the
//     episode is somebody else's. The preview counts them as derived.
//   - Categories are compared by name: one that was renamed is another.
//   - It goes by the clock that it is given and by the views, once they have
//     caught up with the log as it was when a run began.
//   - What is over is gone within the interval between two runs and the time that
//     a run takes, not at the instant.
package retention
