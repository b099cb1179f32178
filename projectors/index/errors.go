package index

import "errors"

// The errors a caller can decide on. They are wrapped, so compare with [errors.Is]. None carries a name or a value.
var (
	// ErrTenant means that a tenant is missing or is not made of a-z, 0-9 and hyphens.
	ErrTenant = errors.New("index: bad tenant")
	// ErrToken means that a required token is missing, or that a token is longer than [MaxToken] bytes.
	ErrToken = errors.New("index: bad token")
	// ErrDocument means that a field of a document or an update is out of range, such as an unknown kind or a repeated term.
	ErrDocument = errors.New("index: bad document")
	// ErrQuery means that a field of a query is out of range.
	ErrQuery = errors.New("index: bad query")
	// ErrVectorValue means that a vector holds a value that is not a finite number.
	ErrVectorValue = errors.New("index: vector value is not finite")
	// ErrVectorNorm means that the length of a vector is zero or nowhere near one.
	ErrVectorNorm = errors.New("index: vector norm is out of range")
	// ErrVectorDim means that a vector is empty, longer than [MaxDim], or not of the dimension of its model.
	ErrVectorDim = errors.New("index: vector dimension does not fit")
	// ErrCorrupt means that stored rows contradict one another. The index must be rebuilt from the log.
	ErrCorrupt = errors.New("index: corrupt rows")
)
