package ledger

import "context"

// ChangesSince are the changes of subjects that a copy of the log does not have.
func ChangesSince(ctx context.Context, store Store, copied Standing) ([]SubjectChange, error) {
	h, err := readHistory(ctx, store)
	if err != nil {
		return nil, err
	}
	return h.changesSince(copied), nil
}
