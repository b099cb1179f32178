package qdrantindex

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
)

// The errors a caller can decide on, besides those of package index. They are wrapped, so compare with [errors.Is]. None
// carries a name, a value, or the server's words.
var (
	// ErrConfig means that a [Config] cannot be used as it is.
	ErrConfig = errors.New("qdrantindex: bad configuration")
	// ErrVersion means that the server is older than what the index needs, or does not tell its version.
	ErrVersion = errors.New("qdrantindex: server version is not supported")
	// ErrUnavailable means that the server did not answer, or not in time, however often it was asked.
	ErrUnavailable = errors.New("qdrantindex: server is unavailable")
	// ErrNotCompleted means that the server took a write and did not say that it is applied. It may yet be.
	ErrNotCompleted = errors.New("qdrantindex: write is not completed")
	// ErrSchema means that a collection is not one that [Index.Create] made, or is not fit to serve.
	ErrSchema = errors.New("qdrantindex: collection does not fit")
	// ErrLimit means that an answer would need more than the index asks the server for.
	ErrLimit = errors.New("qdrantindex: too many values")
	// ErrFlushed means that a [Writer] was used after Flush.
	ErrFlushed = errors.New("qdrantindex: writer is flushed")
)

// CallError is a refusal by the server that asking again does not mend.
type CallError struct{ Code codes.Code }

// Error tells the code, and not the server's words, which may quote what was sent.
func (e *CallError) Error() string { return fmt.Sprintf("qdrantindex: server answers %s", e.Code) }

// Gone reports whether the server does not have the collection.
func (e *CallError) Gone() bool { return e.Code == codes.NotFound }
