package producers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// Quarantine keeps what came from outside until a reviewer has seen it or its
// time is over. Nothing in it reaches a view on its own.
type Quarantine interface {
	// Put adds an encoded commit under the id of its record. Putting the same
	// commit again is success.
	Put(ctx context.Context, tenant, id string, m events.Message) error
	// Get returns what waits under an id, with the time since when it does, or
	// events.ErrNoCommits.
	Get(ctx context.Context, tenant, id string) (events.Message, error)
	// Remove removes what waits and its bytes. Absent is success.
	Remove(ctx context.Context, tenant, id string) error
	// Age is for how long it waits.
	Age() time.Duration
}

// QuarantineHash is the hash by which a review names a message in quarantine: the
// hex SHA-256 of the sealed bytes.
func QuarantineHash(m events.Message) string {
	sum := sha256.Sum256(m.Data)
	return hex.EncodeToString(sum[:])
}

// detain puts an episode into quarantine and returns the commit that the log gets
// of it instead, which holds no content. A repetition finds what waits already.
func (g *Gateway) detain(ctx context.Context, w *work, c events.Commit) (events.Commit, error) {
	m, err := events.Encode(c)
	if err != nil {
		return events.Commit{}, fmt.Errorf("encode episode: %w", err)
	}
	tenant := c.Aggregate.Tenant
	if err := g.quarantine.Put(ctx, tenant, w.id, m); err != nil {
		return events.Commit{}, fmt.Errorf("quarantine episode: %w", err)
	}
	m, e, err := g.waiting(ctx, tenant, w.id)
	if errors.Is(err, events.ErrNoCommits) { // its time was over at once
		return events.Commit{}, g.forgotten(ctx, w)
	}
	if err != nil {
		return events.Commit{}, err
	}
	if !w.opens(events.KindEpisode, events.TypeEpisodeCaptured, e.Content) {
		return events.Commit{}, g.forgotten(ctx, w)
	}
	c.Events = []events.Event{events.EpisodeQuarantined{
		Subject: e.Subject, Class: e.Class, Trust: e.Trust, Guard: e.Guard,
		Until: events.Micro(m.RecordedAt.Add(g.quarantine.Age())), Hash: QuarantineHash(m),
	}}
	return c, nil
}

// waiting is the episode that waits under an id, as it would be logged.
func (g *Gateway) waiting(ctx context.Context, tenant, id string) (events.Message, events.EpisodeCaptured, error) {
	m, err := g.quarantine.Get(ctx, tenant, id)
	if err != nil {
		return events.Message{}, events.EpisodeCaptured{}, fmt.Errorf("read quarantine: %w", err)
	}
	r, err := events.Decode(m)
	if err != nil {
		return events.Message{}, events.EpisodeCaptured{}, fmt.Errorf("read quarantine: %w", err)
	}
	for _, e := range r.Events {
		if e, ok := e.(events.EpisodeCaptured); ok && r.Aggregate.Tenant == tenant && r.Aggregate.ID == id {
			return m, e, nil
		}
	}
	return events.Message{}, events.EpisodeCaptured{}, fmt.Errorf("read quarantine: %w", events.ErrCorrupt)
}

// isOurs says whether the episode that waits is this command's own. While it waits
// its key lives.
func (g *Gateway) isOurs(ctx context.Context, w *work) (bool, error) {
	if w.existed {
		return true, nil
	}
	_, e, err := g.waiting(ctx, w.tenant.Token(), w.id)
	if errors.Is(err, events.ErrNoCommits) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return w.opens(events.KindEpisode, events.TypeEpisodeCaptured, e.Content), nil
}

// ReleaseEpisode lets an episode out of quarantine, exactly as it was shown under
// the hash of [QuarantineHash]: from then on it is an episode like any other, that
// somebody has verified. Only a reviewer or an admin can, who is no agent, and not
// who captured it. A note is sealed with the episode and told to nobody who reads it.
// The same call under its key is the same answer, unless the episode is gone.
//
// The errors are ErrForbidden; ErrNotFound for what is no episode, and for one of a
// subject under a legal hold; ErrForgotten for one that is gone, as when its time is
// over; ErrKeyReused; a *events.ConflictError for other bytes and for one that has
// been decided on; an *events.InputError for an edit, where the subject has taken its
// consent back, and for a text that is kept out by now; and the log's.
func (g *Gateway) ReleaseEpisode(ctx context.Context, caller events.Caller, key, id string, r ReviewRequest) (Captured, error) {
	d, err := g.detained(ctx, caller, command{name: cmdRelease, principal: caller.Principal, key: key}, id, r)
	if err != nil {
		return Captured{}, err
	}
	if d.ended != 0 {
		return Captured{ID: d.aggregate.ID, Position: d.ended, Status: StatusCaptured}, nil
	}
	if d.withdrawn { // what is not captured is not let in either
		return Captured{}, refusedConsent()
	}
	m, e, err := g.waiting(ctx, d.aggregate.Tenant, d.aggregate.ID)
	if errors.Is(err, events.ErrNoCommits) {
		return Captured{}, events.ErrForgotten
	}
	if err != nil {
		return Captured{}, err
	}
	if QuarantineHash(m) != d.Hash {
		return Captured{}, d.conflict()
	}
	if e.Content, err = g.admitDetained(ctx, d, e.Content, r.Note); err != nil {
		return Captured{}, err
	}
	e.Released, e.Trust = e.Trust, events.TrustHuman
	position, err := g.end(ctx, d, e)
	if err != nil {
		return Captured{}, err
	}
	if err := g.quarantine.Remove(ctx, d.aggregate.Tenant, d.aggregate.ID); err != nil {
		return Captured{}, fmt.Errorf("remove from quarantine: %w", err)
	}
	return Captured{ID: d.aggregate.ID, Position: position, Status: StatusCaptured}, nil
}

// admitDetained refuses an episode whose text has been forgotten since it came, and
// is not to come back. It returns the content with the reviewer's note.
func (g *Gateway) admitDetained(ctx context.Context, d *detained, sealed []byte, note string) ([]byte, error) {
	if g.suppressed == nil && note == "" {
		return sealed, nil
	}
	plain, err := d.record.Open(label(events.KindEpisode, d.aggregate.ID, events.TypeEpisodeCaptured), sealed)
	if err != nil {
		return nil, fmt.Errorf("open episode: %w", err)
	}
	defer clear(plain)
	var content events.EpisodeContent
	if err := json.Unmarshal(plain, &content); err != nil {
		return nil, fmt.Errorf("open episode: %w", events.ErrCorrupt)
	}
	if err := g.admit(ctx, d.work.tenant, "text", content.Text); err != nil || note == "" {
		return sealed, err
	}
	content.Note = note
	return sealContent(d.record, events.KindEpisode, events.TypeEpisodeCaptured, content)
}

// DropEpisode ends the wait of an episode in quarantine: its key is destroyed and
// its bytes are removed. Who can is as with [Gateway.ReleaseEpisode], and so are
// the errors, but that no consent is needed and nothing is kept out. A note is sealed
// under the subject's own key and goes from the log when the episode or its subject is
// forgotten. If it fails after the log has it, the [Sweeper] completes it, as does the
// same call under its key.
func (g *Gateway) DropEpisode(ctx context.Context, caller events.Caller, key, id string, r ReviewRequest) (Written, error) {
	d, err := g.detained(ctx, caller, command{name: cmdDrop, principal: caller.Principal, key: key}, id, r)
	if err != nil {
		return Written{}, err
	}
	position := d.ended
	if position == 0 {
		dropped := events.EpisodeDropped{Subject: d.Subject}
		if r.Note != "" {
			if dropped.Content, err = sealAt(d.subject, droppedLabel(d.Subject, d.aggregate.ID), events.ReviewContent{Note: r.Note}); err != nil {
				return Written{}, err
			}
		}
		if position, err = g.end(ctx, d, dropped); err != nil {
			return Written{}, err
		}
	}
	if err := discard(ctx, g.keys, g.quarantine, d.aggregate.Tenant, d.aggregate.ID); err != nil {
		return Written{}, err
	}
	return Written{Position: position}, nil
}

// droppedLabel is where the note on a dropped episode belongs, whose own key is gone.
func droppedLabel(subject, episode string) seal.Label {
	l := label(events.KindEpisode, subject, events.TypeEpisodeDropped)
	l.Part = episode
	return l
}

// detained is an episode that waits for its reviewer, or that this very command has
// decided on.
type detained struct {
	events.EpisodeQuarantined

	work      *work
	aggregate events.Aggregate
	position  uint64
	// by is who captured it.
	by string
	// ended is the position of the commit of this command, 0 while there is none.
	ended uint64
	// over says that it does not wait, and gone that nothing is left of it.
	over, gone bool
	// record is its key, and subject that of its subject.
	record, subject *seal.Record
	// withdrawn says that the subject has taken its consent back.
	withdrawn bool
}

// conflict says that the episode is not as the reviewer takes it to be.
func (d *detained) conflict() error {
	return &events.ConflictError{Aggregate: d.aggregate, Actual: d.position}
}

// see learns from a commit of the episode.
func (d *detained) see(r events.Recorded) {
	d.position = r.Position
	if r.ID == d.work.id {
		d.ended = r.Position
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.EpisodeQuarantined:
			d.EpisodeQuarantined, d.by = e, r.Principal
		case events.EpisodeForgotten:
			d.over, d.gone, d.ended = true, true, 0
		case events.EpisodeDropped:
			d.over, d.gone = true, true
		case events.EpisodeCaptured:
			d.over = true
		default:
		}
	}
}

// detained finds an episode in quarantine for who may decide on it.
func (g *Gateway) detained(ctx context.Context, caller events.Caller, cmd command, id string, r ReviewRequest) (*detained, error) {
	if err := permitReview(caller); err != nil {
		return nil, err
	}
	if r.Edit != nil {
		return nil, malformed("not_allowed", "edit", "is part of an approval of a candidate only")
	}
	if err := first(events.CheckIdempotencyKey(cmd.key), r.validate(g.clock())); err != nil {
		return nil, err
	}
	type asked struct {
		Episode string        `json:"episode"`
		Request ReviewRequest `json:"request"`
	}
	id = token.CanonicalID(id)
	w, err := g.prepare(ctx, caller, cmd, asked{id, r})
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, events.ErrNotFound
	}
	d := &detained{work: w, aggregate: events.Aggregate{Tenant: w.tenant.Token(), Kind: events.KindEpisode, ID: id}}
	for r, err := range g.log.ReadAggregate(ctx, d.aggregate, 0) {
		if err != nil && !errors.Is(err, events.ErrNoCommits) {
			return nil, fmt.Errorf("read episode: %w", err)
		}
		if err == nil {
			d.see(r)
		}
	}
	switch {
	case d.position == 0:
		return nil, events.ErrNotFound
	case d.ended != 0:
	case d.gone:
		return nil, events.ErrForgotten
	case d.over || d.Hash == "":
		return nil, d.conflict()
	case d.by == w.principal:
		return nil, events.ErrForbidden
	default:
		if d.record, _, err = g.find(ctx, w.tenant, id, events.KindEpisode); err != nil {
			return nil, err // it was forgotten with its subject
		}
		if r.ContentHash != d.Hash {
			return nil, d.conflict()
		}
	}
	if err := g.decidable(ctx, d); err != nil {
		return nil, err
	}
	d.subject, err = g.keys.Record(ctx, d.aggregate.Tenant, d.Subject)
	if isDestroyed(err) {
		return nil, events.ErrForgotten
	}
	if err != nil {
		return nil, fmt.Errorf("find subject: %w", err)
	}
	return d, g.commandRow(ctx, w, d.subject.Scope())
}

// decidable says why nothing of the subject can be decided on: what is held is kept
// as it is and shown to nobody.
func (g *Gateway) decidable(ctx context.Context, d *detained) error {
	s, err := events.ReadSubject(ctx, g.log, d.aggregate.Tenant, d.Subject)
	switch {
	case err != nil:
		return fmt.Errorf("read subject: %w", err)
	case len(s.Holds) > 0:
		return events.ErrNotFound
	case s.Erasure != "":
		return events.ErrForgotten
	}
	d.withdrawn = consentOf(&s, d.Class) == events.ConsentTakenBack
	return nil
}

// end appends what ends the wait of an episode.
func (g *Gateway) end(ctx context.Context, d *detained, e events.Event) (uint64, error) {
	ack, err := g.log.Append(ctx, events.Commit{
		ID: d.work.id, Aggregate: d.aggregate, Time: g.clock(), Principal: d.work.principal, Events: []events.Event{e},
	}, events.Expect(d.position))
	if err != nil {
		return 0, fmt.Errorf("end quarantine: %w", err)
	}
	return ack.Position, nil
}
