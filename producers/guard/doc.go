// Package guard scans a text that is about to be remembered, and says three
// things of it: how much it looks like an instruction to the agent that will
// read it, how many credentials are in it, and which kinds of personal data.
// The answer is an [events.Guard], which holds nothing of the text.
//
// The rules are data: a YAML file with a version, whose hash is in every
// answer, so that a recorded decision can be checked against the rules that it
// was made with. [Default] has the rules that come with the package.
//
// What decides is the object of an imperative. About the agent's own rules,
// tools, recipients, prompt, credentials or memory it counts; about what the
// user says or how the user wants answers ("from now on reply in Spanish",
// "never share my number") it is a preference, and does not.
//
// Guarantees: a scan is a pure function of the rules and the text; it takes
// time and memory linear in the length of the text, whatever the text (see
// [Scanner.Scan] for the bound); a [Scanner] does not change and may be used
// by any number of goroutines at once; no result holds any part of the text.
//
// Not guaranteed: that an attack is found. A task that nobody asked for, in
// plain words, looks like any other task, and a paraphrase or a language that
// the rules do not know passes. The score is one gate among others: what came
// from outside is never remembered unreviewed, whatever its score. Personal
// data is found by its form and its check digits, so names and addresses of
// people are out of reach, and so is a number that was mistyped.
//
// Figures measured on public sets are in DESIGN.md.
package guard
