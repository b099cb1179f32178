package events

// Losses decides on the slot's facts of which a source is gone. A fact that has
// another source loses the one; a fact that has none left is forgotten, with the
// last of the erasures. Sources that never were, which have no subject, hold up
// no fact.
//
// Of tells which facts to look at, and gone by which erasure a source went, if
// it did. Losses changes nothing: the events are the decision. Facts that are
// forgotten already are passed over, so that once the events are applied there
// are none left to decide.
func (s *Slot) Losses(of func(*SlotFact) bool, gone func(SourceRef) (erasure string, gone bool)) []Event {
	var list []Event
	for _, f := range s.Facts {
		if f.Status == StatusDeleted || !of(f) {
			continue
		}
		var lost []Event
		left, last := false, ""
		for _, src := range f.Sources {
			if erasure, ok := gone(src); ok {
				lost, last = append(lost, FactSourceLost{Fact: f.Fact, Source: src.Episode, Erasure: erasure}), erasure
			} else if src.Subject != "" {
				left = true
			}
		}
		switch {
		case len(lost) == 0:
		case left:
			list = append(list, lost...)
		default:
			list = append(list, FactForgotten{Fact: f.Fact, Subject: f.Subject, Erasure: last})
		}
	}
	return list
}
