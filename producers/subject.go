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

// standing is what the log says of a subject, and of a category of it.
type standing struct {
	life
	// withdrawn says that the subject has taken its consent back.
	withdrawn bool
}

// standingOf asks the log itself about a subject and the class of the work.
func (g *Gateway) standingOf(ctx context.Context, w *work, sid string) (standing, error) {
	s, err := events.ReadSubject(ctx, g.log, w.tenant.Token(), sid)
	if err != nil {
		return standing{}, fmt.Errorf("find subject: %w", err)
	}
	return standing{lifeIn(&s), consentOf(&s, w.category) == events.ConsentTakenBack}, nil
}

// consentOf is what a subject says of a class.
func consentOf(s *events.SubjectState, class string) string {
	given, said := s.Consents[class]
	switch {
	case !said:
		return ""
	case given:
		return events.ConsentGiven
	}
	return events.ConsentTakenBack
}

func refusedConsent() error {
	return refused("consent_withdrawn", "category", "must be one that the subject has not taken its consent back from")
}

// lifeOf asks the log itself, for a view can be behind.
func (g *Gateway) lifeOf(ctx context.Context, tenant, sid string) (life, error) {
	s, err := events.ReadSubject(ctx, g.log, tenant, sid)
	if err != nil {
		return lifeUnknown, fmt.Errorf("find subject: %w", err)
	}
	return lifeIn(&s), nil
}

func lifeIn(s *events.SubjectState) life {
	switch {
	case s.Erasure != "":
		return lifeForgotten
	case s.Position == 0:
		return lifeUnknown
	}
	return lifeAlive
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
