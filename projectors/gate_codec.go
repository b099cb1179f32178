package projectors

import "github.com/annals-memory/annals/events"

func encodeSources(e *encoder, list []events.SourceRef) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.string(s.Episode)
		e.string(s.Subject)
		e.string(s.Source)
		e.string(s.Revision)
		e.uint(s.At)
	}
}

func decodeSources(d *decoder) []events.SourceRef {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]events.SourceRef, n)
	for i := range list {
		list[i] = events.SourceRef{
			Episode: d.string(), Subject: d.string(), Source: d.string(), Revision: d.string(), At: d.uint(),
		}
	}
	return list
}

func encodeGuard(e *encoder, g *events.Guard) {
	e.string(g.Rules)
	e.int(int64(g.Score))
	e.strings(g.Hits)
	e.int(int64(g.Secrets))
	e.strings(g.Personal)
}

func decodeGuard(d *decoder, g *events.Guard) {
	g.Rules = d.string()
	g.Score = int(d.int())
	g.Hits = d.strings()
	g.Secrets = int(d.int())
	g.Personal = d.strings()
}

const (
	flagFound = 1 << iota
	flagForgotten
	flagOther
	flagRetired
)

func encodeBasis(e *encoder, b *events.Basis) {
	e.time(b.At)
	if b.IsZero() {
		return
	}
	e.uint(uint64(len(b.Evidence)))
	for i := range b.Evidence {
		encodeEvidence(e, &b.Evidence[i])
	}
	e.uint(uint64(b.Context))
	e.string(b.Consent)
	e.string(b.Conflict)
	encodeGuard(e, &b.Guard)
	e.uint(uint64(len(b.Reviews)))
	for _, r := range b.Reviews {
		e.string(r.Reviewer)
		e.string(string(r.Verdict))
	}
}

func decodeBasis(d *decoder, b *events.Basis) {
	b.At = d.time()
	if b.IsZero() {
		return
	}
	if n := d.count(); n > 0 {
		b.Evidence = make([]events.EvidenceBasis, n)
		for i := range b.Evidence {
			decodeEvidence(d, &b.Evidence[i])
		}
	}
	b.Context = events.Trust(d.uint()) //nolint:gosec // written from a Trust.
	b.Consent = d.string()
	b.Conflict = d.string()
	decodeGuard(d, &b.Guard)
	if n := d.count(); n > 0 {
		b.Reviews = make([]events.ReviewBasis, n)
		for i := range b.Reviews {
			b.Reviews[i] = events.ReviewBasis{Reviewer: d.string(), Verdict: events.Verdict(d.string())}
		}
	}
}

func encodeEvidence(e *encoder, v *events.EvidenceBasis) {
	var flags uint64
	for flag, set := range map[uint64]bool{
		flagFound: v.Found, flagForgotten: v.Forgotten, flagOther: v.Other, flagRetired: v.Retired,
	} {
		if set {
			flags |= flag
		}
	}
	e.string(v.Episode)
	e.uint(flags)
	e.uint(uint64(v.Trust))
	e.string(v.Sensitivity)
	e.string(v.Principal)
	encodeGuard(e, &v.Guard)
}

func decodeEvidence(d *decoder, v *events.EvidenceBasis) {
	v.Episode = d.string()
	flags := d.uint()
	v.Found, v.Forgotten = flags&flagFound != 0, flags&flagForgotten != 0
	v.Other, v.Retired = flags&flagOther != 0, flags&flagRetired != 0
	v.Trust = events.Trust(d.uint()) //nolint:gosec // written from a Trust.
	v.Sensitivity = d.string()
	v.Principal = d.string()
	decodeGuard(d, &v.Guard)
}

func encodeReviews(e *encoder, list []events.Review) {
	e.uint(uint64(len(list)))
	for i := range list {
		r := &list[i]
		e.string(r.Fact)
		e.string(string(r.Verdict))
		e.string(r.Hash)
		e.bytes(r.Content)
		e.string(r.Into)
		e.string(r.Reviewer)
		e.uint(r.Position)
		e.time(r.RecordedAt)
	}
}

func decodeReviews(d *decoder) []events.Review {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]events.Review, n)
	for i := range list {
		r := &list[i]
		r.Fact = d.string()
		r.Verdict = events.Verdict(d.string())
		r.Hash = d.string()
		r.Content = d.bytes()
		r.Into = d.string()
		r.Reviewer = d.string()
		r.Position = d.uint()
		r.RecordedAt = d.time()
	}
	return list
}
