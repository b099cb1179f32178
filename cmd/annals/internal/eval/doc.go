// Package eval measures retrieval and as-of answers on data sets in the
// common shape: corpus, queries and relevance judgements as (gzipped) JSON
// Lines and tab-separated values. Everything goes through the real capture,
// propose and recall paths of a node.
//
// [All] measures everything that there are data for, beside what is wanted, and
// [Chart] draws it.
//
// Not guaranteed: that a figure on one data set says anything of another.
package eval
