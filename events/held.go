package events

import "errors"

// ErrHeld says that a subject is under a legal hold: what is kept of it stays as it
// is until the hold is lifted.
var ErrHeld = errors.New("under a legal hold")
