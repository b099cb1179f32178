// Package policy is the part of a decision on a candidate that can be chosen:
// named rules, each a condition in CEL, in a YAML file that is checked as a whole
// before anything goes by it.
//
// # The file
//
// Nothing but these fields may be in it, and no key may be given twice. The one in
// force until another is activated is default.yaml, which shows all of them.
//
//	name: promotion
//	version: 2             # a version stands for one text, for ever
//	rules:                 # up to 200; among equal outcomes the first is named
//	  - id: below_threshold  # the reason that is recorded
//	    gate: confidence     # consent, guardrail, provenance or confidence
//	    when: cand.confidence < 0.95
//	    outcome: review      # review, quarantine or reject
//	    approvals: 2         # optional: how many reviewers lift it; 1 if absent
//	categories:            # optional
//	  health:
//	    special: true        # optional: of a special kind
//	    consent: explicit    # optional: explicit or none; explicit if special
//	    horizon: 90d         # optional: when a memory has no freshness left
//	    weights: {relevance: 0.6, freshness: 0.3, reliability: 0.1} # optional
//	    retention: {rejected: 1d} # optional, as below
//	retention:             # optional: how long what is no fact is kept
//	  candidates: 30d        # proposed, not decided on
//	  unreviewed: 90d        # waits for a review or is quarantined
//	  rejected: 30d
//	examples:              # optional; each must come out as it says
//	  - name: what is not quite certain is reviewed
//	    input: {confidence: 0.9}
//	    want: review         # promote, review, quarantine or reject
//	    rule: below_threshold # optional: the rule that must say so
//
// # What a condition may look at
//
//	cand.predicate, cand.category, cand.scope   string
//	                      (a category in small letters, as [token.CategoryName] has it;
//	                      a text that it is compared with must be spelt so as well)
//	cand.confidence       double, 0 to 1
//	cand.trust            int: EXTERNAL < TOOL < AGENT < USER < HUMAN_VERIFIED < SYSTEM
//	cand.sensitivity      string: the highest of its sources: normal, personal, special, secret
//	cand.context          int: lowest trust of what was recalled before; 0 for nothing
//	cand.traces           int: recalls that it may have been made from
//	cand.sources          int: sources that are alive and about the subject
//	cand.principals       int: distinct callers who captured those
//	cand.special          bool: its category is of a special kind
//	cand.needs_consent    bool: its category needs an explicit consent
//	cand.guard            .score int 0 to 100, .hits list(string), .secrets int, .personal list(string)
//	evidence              list of .trust .sensitivity .found .forgotten .other .retired .guard
//	consent               string: "granted", "withdrawn" or ""
//	conflict              string: the reason of its place among the other facts
//	reviews               list of .reviewer .verdict
//	at                    timestamp of the decision
//
// There is nothing else, the clock and the value least of all. Of CEL there are
// the operators, size, contains, startsWith, endsWith, matches, duration and
// timestamp, and the macros exists, all, exists_one and filter.
//
// # Guarantees
//
//   - A policy that can be parsed has rules that are well typed, of a bounded cost
//     and true to its examples. The error of one that cannot names the line, the
//     rule and the field.
//   - Evaluation is a pure function of the policy and the input, safe for
//     concurrent use. The input can be built again from the log.
//   - The worst outcome of all rules wins; a rule that fails to evaluate rejects.
//   - The hash of a policy is the SHA-256 of its text with Unix line ends.
//
// # Not guaranteed
//
//   - A policy only adds to the floor that is in code; it loosens none of it. What
//     an example says is of the rules alone.
//   - Rules see what the log has recorded of a guardrail scan, not the value.
package policy
