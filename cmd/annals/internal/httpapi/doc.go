// Package httpapi is the HTTP door: routes, decoding, errors, OpenAPI.
//
// A door has no logic of its own. It finds the caller in the credential,
// decodes strictly, hands the request to producers, query or tombstones, and
// writes what they say. Every route is one row of one table, from which the
// OpenAPI document is made too.
//
// Guarantees: an unknown or repeated field, an invalid encoding or a lone
// surrogate is a 400 that names the field; a record that is not there and one
// of another tenant get the same bytes; no response, log line or error holds
// text of a memory, except the answer that was asked for.
package httpapi
