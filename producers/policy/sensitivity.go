package policy

import "slices"

// sensitivities are the labels of episodes, the ordinary one first and the highest
// last.
func sensitivities() []string { return []string{"normal", "personal", "special", "secret"} }

// sensitivityOf is a label as a condition sees it: what is not labelled is normal.
func sensitivityOf(label string) string {
	if label == "" {
		return sensitivities()[0]
	}
	return label
}

// sensitivity is the highest of the sources that are there: what is taken from a
// secret is one. A label that is not known is the highest of all.
func (in *Input) sensitivity() string {
	highest := sensitivityOf("")
	for i := range in.Evidence {
		e := &in.Evidence[i]
		if !e.Found || e.Forgotten {
			continue
		}
		rank := slices.Index(sensitivities(), sensitivityOf(e.Sensitivity))
		if rank < 0 {
			return e.Sensitivity
		}
		highest = sensitivities()[max(rank, slices.Index(sensitivities(), highest))]
	}
	return highest
}
