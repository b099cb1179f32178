package eval

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"time"

	"github.com/annals-memory/annals/producers/guard"
)

// Halves of a corpus, by a hash of the id: rules may be tuned on the even half,
// and the odd one tells what that was worth.
const (
	HalfEven = "even"
	HalfOdd  = "odd"
)

// GuardReport is the result of [Guard].
type GuardReport struct {
	Rules   string     `json:"rules"`
	Version string     `json:"version"`
	Half    string     `json:"half,omitempty"`
	Sources []GuardRow `json:"sources"`
	// Median and P99 are times of one scan of a text of 4 KB, in microseconds:
	// longer texts are cut and shorter ones repeated to that length. The fastest
	// of three scans counts for each text.
	Median float64 `json:"median_us"`
	P99    float64 `json:"p99_us"`
}

// GuardRow says what became of the texts of one source. For attacks a share is
// the recall, for others the false positives.
type GuardRow struct {
	Source string `json:"source"`
	Label  string `json:"label"`
	// Review and Reject are the texts whose score is from [guard.Review] and
	// [guard.Reject] on.
	Review Share `json:"review"`
	Reject Share `json:"reject"`
	// Secrets and Personal are the texts in which such were found.
	Secrets  Share `json:"secrets"`
	Personal Share `json:"personal"`
}

// sample is one line of the corpus.
type sample struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Label  string `json:"label"`
	Source string `json:"source"`
	Family string `json:"family"`
	Lang   string `json:"lang"`
}

// Guard scans the corpus in dir and the turns of the conversations beside it,
// if they are there. half restricts the corpus to one half. now is the clock.
func Guard(s *guard.Scanner, dir, half string, families bool, now func() time.Time) (GuardReport, error) {
	samples, err := lines[sample](dir, "corpus.jsonl")
	if err != nil {
		return GuardReport{}, err
	}
	samples = slices.DeleteFunc(samples, func(x sample) bool { return half != "" && halfOf(x.ID) != half })
	if families {
		for i := range samples {
			samples[i].Source += " " + samples[i].Family
		}
	}
	for _, name := range []string{"locomo", "beam_100k"} {
		docs, err := lines[Document](filepath.Join(dir, "..", name), "corpus.jsonl")
		if errors.Is(err, ErrNoData) {
			continue
		}
		if err != nil {
			return GuardReport{}, fmt.Errorf("%s: %w", name, err)
		}
		for _, d := range docs {
			source := name + " user turns"
			if d.Speaker == "assistant" {
				source = name + " assistant turns"
			}
			samples = append(samples, sample{Source: source, Label: "benign", Text: d.Text})
		}
	}
	return scan(s, samples, half, now), nil
}

func halfOf(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it never fails
	if h.Sum32()%2 == 0 {
		return HalfEven
	}
	return HalfOdd
}

func scan(s *guard.Scanner, samples []sample, half string, now func() time.Time) GuardReport {
	type counts struct{ n, review, reject, secrets, personal int }
	type key struct{ label, source string }
	all := map[key]*counts{}
	times := timing{scanner: s, now: now}
	for _, x := range samples {
		g := s.Scan(x.Text)
		times.add(x.Text)
		k := key{x.Label, x.Source}
		c := all[k]
		if c == nil {
			c = &counts{}
			all[k] = c
		}
		c.n++
		for _, add := range []struct {
			to   *int
			when bool
		}{
			{&c.review, g.Score >= guard.Review},
			{&c.reject, g.Score >= guard.Reject},
			{&c.secrets, g.Secrets > 0},
			{&c.personal, len(g.Personal) > 0},
		} {
			if add.when {
				*add.to++
			}
		}
	}
	report := GuardReport{Rules: s.Rules(), Version: s.Version(), Half: half}
	for k, c := range all {
		report.Sources = append(report.Sources, GuardRow{
			Source: k.source, Label: k.label,
			Review: NewShare(c.review, c.n), Reject: NewShare(c.reject, c.n),
			Secrets: NewShare(c.secrets, c.n), Personal: NewShare(c.personal, c.n),
		})
	}
	slices.SortFunc(report.Sources, func(a, b GuardRow) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Source, b.Source))
	})
	report.Median, report.P99 = times.quantiles()
	return report
}
