package natslog

import (
	"context"
	"fmt"
	"iter"

	"github.com/annals-memory/annals/events"
)

// ReadKind yields the messages of a tenant's aggregates of one kind; see
// events.KindReader. It costs a request for each page of what is there.
func (l *Log) ReadKind(ctx context.Context, tenant string, kind events.Kind, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		subject, err := events.SubjectsOf(tenant, kind)
		if err != nil {
			yield(events.Message{}, fmt.Errorf("read kind: %w", err))
			return
		}
		for {
			page, err := l.collect(ctx, subject, after+1)
			if err != nil {
				yield(events.Message{}, translate("read kind", err))
				return
			}
			if len(page) == 0 {
				return
			}
			for _, m := range page {
				if !yield(fromRaw(m), nil) {
					return
				}
			}
			after = page[len(page)-1].Sequence
		}
	}
}
