package memlog

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/annals-memory/annals/events"
)

// ReadKind yields the messages of a tenant's aggregates of one kind; see
// events.KindReader.
func (l *Log) ReadKind(ctx context.Context, tenant string, kind events.Kind, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		subjects, err := events.SubjectsOf(tenant, kind)
		if err != nil {
			yield(events.Message{}, fmt.Errorf("read kind: %w", err))
			return
		}
		prefix := strings.TrimSuffix(subjects, "*")
		for {
			if err := ctx.Err(); err != nil {
				yield(events.Message{}, unavailable("read kind", err))
				return
			}
			m, ok := l.nextUnder(prefix, after)
			if !ok || !yield(m, nil) {
				return
			}
			after = m.Position
		}
	}
}

// nextUnder returns the first message above after whose subject has a prefix.
func (l *Log) nextUnder(prefix string, after uint64) (events.Message, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := after; i < uint64(len(l.messages)); i++ {
		if m := &l.messages[i]; !l.removed[m.Position] && strings.HasPrefix(m.Subject, prefix) {
			return clone(*m), true
		}
	}
	return events.Message{}, false
}
