package query

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// ConsentChange is a consent as it was given or taken back.
type ConsentChange struct {
	// Category is the name, "" if it can no longer be opened; Token is always there.
	Category string `json:"category,omitempty"`
	Token    string `json:"token"`
	Granted  bool   `json:"granted"`
	// Basis is what the consent rests on, as it was told.
	Basis string `json:"basis,omitempty"`
	// Erasure is that of what was kept under a consent that was taken back.
	Erasure    string      `json:"erasure,omitempty"`
	RecordedAt events.Time `json:"recorded_at"`
	Position   uint64      `json:"position"`
}

// ConsentsAnswer is what a subject has agreed to.
type ConsentsAnswer struct {
	// Current is the last change of each category, in the order in which they were
	// first told of.
	Current []ConsentChange `json:"current"`
	// History is every change, oldest first.
	History  []ConsentChange `json:"history"`
	Position uint64          `json:"position"`
}

// Consents returns what a subject has agreed to and what it has taken back, by the
// log itself, for admins and reviewers. The errors are ErrForbidden, an InputError,
// ErrNotFound for a subject that nothing is kept of, that is forgotten or under a
// legal hold, and the log's.
func (s *Service) Consents(ctx context.Context, caller events.Caller, subject string) (ConsentsAnswer, error) {
	r, err := s.open(ctx, caller, 0, events.RoleAdmin, events.RoleReviewer)
	if err != nil {
		return ConsentsAnswer{}, err
	}
	defer r.close()
	if err := checkName("subject", subject, true); err != nil {
		return ConsentsAnswer{}, err
	}
	sid, ok, err := r.subject(ctx, subject)
	if err != nil {
		return ConsentsAnswer{}, err
	}
	if !ok || r.silent(sid) {
		return ConsentsAnswer{}, events.ErrNotFound
	}
	out := ConsentsAnswer{Current: []ConsentChange{}, History: []ConsentChange{}}
	var state events.SubjectState
	class := ""
	for rec, err := range s.log.ReadAggregate(ctx, events.Aggregate{Tenant: r.token, Kind: events.KindSubject, ID: sid}, 0) {
		if err != nil {
			return ConsentsAnswer{}, fmt.Errorf("read consents: %w", err)
		}
		state.Apply(rec)
		for _, e := range rec.Events {
			c := ConsentChange{RecordedAt: events.At(rec.RecordedAt), Position: rec.Position}
			switch e := e.(type) {
			case events.SubjectRegistered:
				class = e.Class
				continue
			case events.ConsentGranted:
				c.Token, c.Granted = e.Category, true
				c.Category, c.Basis = s.consentContent(ctx, seal.Scope{Tenant: r.token, Subject: sid, Class: class}, e.Content)
			case events.ConsentWithdrawn:
				c.Token, c.Erasure = e.Category, e.Erasure
			default:
				continue
			}
			out.History = append(out.History, c)
		}
	}
	if state.Erasure != "" || len(state.Holds) > 0 { // the views did not have that yet
		return ConsentsAnswer{}, events.ErrNotFound
	}
	out.Position = state.Position
	out.fill()
	return out, nil
}

// consentContent opens the name and the basis, "" if the key is gone.
func (s *Service) consentContent(ctx context.Context, scope seal.Scope, sealed []byte) (category, basis string) {
	plain, err := s.keys.Open(ctx, scope,
		seal.Label{Aggregate: string(events.KindSubject), Record: scope.Subject, EventType: events.TypeConsentGranted}, sealed)
	if err != nil {
		return "", ""
	}
	content, err := parse[events.ConsentContent](plain)
	if err != nil {
		return "", ""
	}
	return content.Category, content.Basis
}

// fill names the categories that were taken back by what was told when they were
// given, and finds the last change of each.
func (a *ConsentsAnswer) fill() {
	names, place := map[string]string{}, map[string]int{}
	for _, c := range a.History {
		if c.Category != "" {
			names[c.Token] = c.Category
		}
	}
	for i := range a.History {
		c := &a.History[i]
		c.Category = names[c.Token]
		at, seen := place[c.Token]
		if !seen {
			place[c.Token] = len(a.Current)
			a.Current = append(a.Current, *c)
			continue
		}
		a.Current[at] = *c
	}
}
