package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/annals-memory/annals/events"
)

// What says what happened to a subject.
type What string

// What can happen to a subject that a restore must not lose.
const (
	WhatHeld             What = "held"
	WhatReleased         What = "released"
	WhatConsentGranted   What = "consent_granted"
	WhatConsentWithdrawn What = "consent_withdrawn"
)

// SubjectChange is the ledger's copy of one event of a subject: a legal hold or its
// end, a consent or its withdrawal. It is free of values.
type SubjectChange struct {
	// Tenant is the token in the log's subjects.
	Tenant string `json:"-"`
	// Subject is the id of the subject.
	Subject string `json:"subject"`
	What    What   `json:"what"`
	// Token is that of the hold's name, or of the consent's category.
	Token string `json:"token"`
	// Erasure is that of a withdrawal, "" otherwise.
	Erasure string `json:"erasure,omitempty"`
	// Position is that of the event in the log.
	Position uint64 `json:"position"`
}

// ChangesOf are the copies that the ledger is to have of a commit, none if it is not
// about a subject's holds or consents.
func ChangesOf(r events.Recorded) []SubjectChange {
	if r.Aggregate.Kind != events.KindSubject {
		return nil
	}
	var list []SubjectChange
	for _, e := range r.Events {
		c := SubjectChange{Tenant: r.Aggregate.Tenant, Subject: r.Aggregate.ID, Position: r.Position}
		switch e := e.(type) {
		case events.SubjectHeld:
			c.What, c.Token = WhatHeld, e.Hold
		case events.SubjectReleased:
			c.What, c.Token = WhatReleased, e.Hold
		case events.ConsentGranted:
			c.What, c.Token = WhatConsentGranted, e.Category
		case events.ConsentWithdrawn:
			c.What, c.Token, c.Erasure = WhatConsentWithdrawn, e.Category, e.Erasure
		default:
			continue
		}
		list = append(list, c)
	}
	return list
}

// Event is the event that a change is the copy of. A consent has no content: what
// was sealed in it is not in the ledger.
func (c SubjectChange) Event() events.Event {
	switch c.What {
	case WhatHeld:
		return events.SubjectHeld{Hold: c.Token}
	case WhatReleased:
		return events.SubjectReleased{Hold: c.Token}
	case WhatConsentGranted:
		return events.ConsentGranted{Category: c.Token}
	case WhatConsentWithdrawn:
		return events.ConsentWithdrawn{Category: c.Token, Erasure: c.Erasure}
	}
	return nil
}

// RecordSubject writes changes and returns when the ledger has acknowledged all of
// them. All that are at one position are given together. One that the ledger is
// known to have is not written again; twice does no harm. After an error some may
// be there.
func (l *Ledger) RecordSubject(ctx context.Context, list []SubjectChange) error {
	l.mu.Lock()
	epoch := l.book.epoch
	list = slices.DeleteFunc(slices.Clone(list), func(c SubjectChange) bool {
		_, is := l.book.changes[c.Position]
		return is
	})
	l.mu.Unlock()
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Tenant == list[0].Tenant && (n < maxChanges || list[n].Position == list[n-1].Position) {
			n++
		}
		if err := l.put(ctx, prefixSubject+list[0].Tenant, subjectRecord{Epoch: epoch, Changes: list[:n]}); err != nil {
			return fmt.Errorf("record changes of a subject: %w", err)
		}
		l.mu.Lock()
		l.book.changed(epoch, list[:n])
		l.mu.Unlock()
		list = list[n:]
	}
	return nil
}

// changed notes that changes are there, if they are of the epoch.
func (b *book) changed(epoch uint64, list []SubjectChange) {
	if epoch != b.epoch {
		return
	}
	for _, c := range list {
		b.changes[c.Position] = struct{}{}
	}
}

// decodeSubject reads one record of changes.
func decodeSubject(m events.Message) (subjectRecord, error) {
	var r subjectRecord
	if err := decodeRecord(m, &r); err != nil {
		return r, err
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.Event() == nil {
			return r, damage(KindLedgerDiffers, m.Position)
		}
		c.Tenant = strings.TrimPrefix(m.Subject, prefixSubject)
	}
	return r, nil
}
