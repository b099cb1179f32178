// Package pebbleindex is the memory search index inside a Pebble store, beside the rows of the other views.
//
// Writing goes through a [Writer], one for each batch of events: it reads what is stored, holds the documents it touches in
// memory, so that later operations of the same batch see earlier ones, and puts the outcome into the caller's batch on
// Flush. Rows and the projection's position so move together. Reading takes any [pebble.Reader] and works on one state of
// it from beginning to end.
//
// # Keys
//
// All keys begin with the index's prefix and one byte for their sort. lp(x) is one byte of length and then x, so that no
// name is a prefix of another: acme never sees acme-corp. Each document has an ordinal, the place in the order in which the
// documents of its subject were put. Numbers in keys are big endian: term has 8 bytes, the others 4.
//
//	sort  key after the sort                           value
//	d     lp(tenant) lp(model)                         dimension of the model's vectors
//	f     lp(tenant) lp(subject) ordinal/128           forward rows: filter fields, length, models with their Seq
//	i     lp(tenant) lp(id)                            lp(subject) ordinal
//	p     lp(tenant) term lp(subject) ordinal/2048     postings: place and frequency
//	r     lp(tenant) lp(model) lp(subject) ordinal     the vector as float32
//	t     lp(tenant) lp(subject) ordinal               tokens of the document's terms
//	v     lp(tenant) lp(model) lp(subject) ordinal/64  the vectors as int8 with scale and error bound
//
// Blocks exist for the scan: a step of the iterator costs more than a row of work. In blocks of forward rows and of vectors
// the fields of fixed size are columns, so that a condition reads the field it is about and nothing else. Vectors stand apart from the forward
// rows, so that lists by words alone do not read them, and several models can stand side by side. Putting a document in
// rewrites the last block of each of its terms; changing or removing it rewrites the blocks it is in.
//
// Only rows of sort d outlive the documents; they tell nothing but that the tenant uses the model.
//
// # Exactness of the dense channel
//
// Let v be a stored vector and u the query. The int8 row is w = s·q with q the integers and s the scale, and the row keeps
// e ≥ ‖v−w‖ and m ≥ ‖w‖. The query is rounded to x = t·p with p integers of up to 15 bits, and g ≥ ‖u−x‖. The scan computes
// a = x·w = s·t·(q·p), where q·p is an exact integer. Then
//
//	u·v − x·w = u·(v−w) + (u−x)·w
//
// and so by Cauchy and Schwarz |u·v − a| ≤ B = ‖u‖·e + g·m. All stored bounds are rounded upwards, and B is widened by a
// relative 1e-9 of ‖u‖·(m+e) for the rounding of the few float64 operations, here and in rescoring, each of which errs by
// less than 1e-12 of the same size. Let T be the K-th greatest of all lower bounds a−B. At least K documents score T or
// more, so a document whose upper bound a+B is below T has K documents strictly above it and cannot be among the first K,
// however ties are broken. Of the others, those with the K greatest upper bounds are scored again from the float32 rows, and
// then those whose upper bound reaches the K-th greatest of these exact scores, by the same argument with that score for T.
//
// # What it does not guarantee
//
// A removal deletes every row of the document in the batch; the bytes leave the disk when Pebble compacts the ranges, and
// a caller who must know that they are gone compacts them. Vectors of another model than the query's are not searched.
package pebbleindex
