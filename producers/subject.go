package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// life is what the log says of a subject.
type life uint8

const (
	lifeUnknown   life = iota // no commit yet
	lifeAlive                 // registered
	lifeForgotten             // a tombstone
)

// reservedName is the outside name of the subject that stands for the tenant
// as a whole. No caller can use it, for NUL is refused in names.
const reservedName = "\x00tenant"

// lifeOf asks the log itself, for a view can be behind.
func (g *Gateway) lifeOf(ctx context.Context, tenant, sid string) (life, error) {
	s, err := events.ReadSubject(ctx, g.log, tenant, sid)
	switch {
	case err != nil:
		return lifeUnknown, fmt.Errorf("find subject: %w", err)
	case s.Erasure != "":
		return lifeForgotten, nil
	case s.Position == 0:
		return lifeUnknown, nil
	}
	return lifeAlive, nil
}

// register appends the first event of a subject, unless it is there, and says
// whether the subject is alive.
func (g *Gateway) register(ctx context.Context, t *seal.Tenant, sid, name, principal string) (life, error) {
	c, err := g.registration(ctx, t, sid, name, principal)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return lifeForgotten, nil
	}
	if err != nil {
		return lifeUnknown, err
	}
	ack, err := g.log.Append(ctx, c, events.ExpectNew)
	switch {
	case err == nil && !ack.Duplicate:
		return lifeAlive, nil
	case err == nil, errors.Is(err, events.ErrConflict):
		return g.lifeOf(ctx, t.Token(), sid)
	}
	return lifeUnknown, fmt.Errorf("append subject: %w", err)
}

func (g *Gateway) registration(ctx context.Context, t *seal.Tenant, sid, name, principal string) (events.Commit, error) {
	rec, err := g.newSubjectKey(ctx, t, sid)
	if err != nil {
		return events.Commit{}, err
	}
	content, err := sealContent(rec, events.KindSubject, events.TypeSubjectRegistered, events.SubjectContent{Name: name})
	if err != nil {
		return events.Commit{}, err
	}
	return events.Commit{
		ID:        sid,
		Aggregate: events.Aggregate{Tenant: t.Token(), Kind: events.KindSubject, ID: sid},
		Time:      g.clock(),
		Principal: principal,
		Events:    []events.Event{events.SubjectRegistered{Class: rec.Scope().Class, Content: content}},
	}, nil
}

// newSubjectKey makes the key of a subject's own first event, which also seals
// what is asked about it, or takes the one that is there.
func (g *Gateway) newSubjectKey(ctx context.Context, t *seal.Tenant, sid string) (*seal.Record, error) {
	scope := seal.Scope{Tenant: t.Token(), Subject: sid, Class: classOf(t, "")}
	n, err := token.Note{Kind: events.KindSubject, Aggregate: sid}.Encode()
	if err != nil {
		return nil, fmt.Errorf("create subject key: %w", err)
	}
	rec, _, err := g.keys.CreateRecord(ctx, scope, sid, n)
	if err != nil {
		return nil, fmt.Errorf("create subject key: %w", err)
	}
	return rec, nil
}

// label is where the sealed content of a record's event belongs.
func label(kind events.Kind, record, eventType string) seal.Label {
	return seal.Label{Aggregate: string(kind), Record: record, EventType: eventType}
}

func sealContent(rec *seal.Record, kind events.Kind, eventType string, content any) ([]byte, error) {
	return sealAt(rec, label(kind, rec.ID(), eventType), content)
}

func sealAt(rec *seal.Record, at seal.Label, content any) ([]byte, error) {
	plain, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode content: %w", events.ErrInvalid)
	}
	defer clear(plain)
	sealed, err := rec.Seal(at, plain)
	if err != nil {
		return nil, fmt.Errorf("seal content: %w", err)
	}
	return sealed, nil
}
