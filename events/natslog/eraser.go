package natslog

import "context"

// Eraser removes messages of the log and their bytes.
type Eraser struct {
	*store
}

// SecureDelete removes the messages at the positions and overwrites their
// bytes. Each costs what it takes to write a block anew and to have it on the
// disk, some 10 to 25 ms, however small the message; requests at once do not
// help, for the server takes one after the other. Absent is success. After an error some may be gone, and the call can be repeated.
// With several replicas the Raft logs keep the messages until they are
// compacted, and mirrors keep them altogether.
func (e *Eraser) SecureDelete(ctx context.Context, positions ...uint64) error {
	for _, p := range positions {
		if p == 0 {
			continue
		}
		if err := e.secureDelete(ctx, p); err != nil {
			return translate("delete messages", err)
		}
	}
	return nil
}
