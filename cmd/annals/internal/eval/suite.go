package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/annals-memory/annals/producers/guard"
)

// The measures of a whole run that something else asks for by name.
const (
	measureRecall5  = "recall@5"
	measureRecall10 = "recall@10"
	measureMRR10    = "MRR@10"
	measureNDCG10   = "nDCG@10"
	measureExact    = "exact answers"

	measureForbidden         = "questions answered with what is forbidden"
	measureUnreviewed        = "attacks promoted without a review"
	measureAttacksSuspicious = "attacks found suspicious"
)

// Rig is what a whole run needs beside the data.
type Rig struct {
	// Scratch calls f with a node of its own that has nothing in it.
	Scratch func(ctx context.Context, f func(Target) error) error
	// Gate does the same with one whose log can be read.
	Gate    func(ctx context.Context, f func(GateNode) error) error
	Scanner *guard.Scanner
	Now     func() time.Time
	// Attacks bounds those that the gate is tried with; 0 is all.
	Attacks int
}

// AllReport is the result of [All].
type AllReport struct {
	At      time.Time `json:"at"`
	Version string    `json:"version,omitempty"`
	// Runs are what was measured, one after another.
	Runs    []Run    `json:"runs"`
	Figures []Figure `json:"figures"`
	// Skipped are the folders that are no known data set.
	Skipped []string `json:"skipped"`
	Seconds float64  `json:"seconds"`
}

// Run is one evaluation of one data set.
type Run struct {
	Set     string  `json:"set"`
	Eval    string  `json:"eval"`
	Seconds float64 `json:"seconds"`
	// Error says why it has no figures, or why those that it has mean nothing.
	Error string `json:"error,omitempty"`
}

// ErrMissed says that a whole run has failed.
var ErrMissed = errors.New("the evaluation failed")

// check is an error that wraps [ErrMissed] if a run missed what must be or had an
// error.
func (r *AllReport) check() error {
	for _, f := range r.Figures {
		if f.Target != nil && f.Target.Must && !f.Target.Met {
			return fmt.Errorf("%w: %s: %s: %g of %d", ErrMissed, f.Set, f.Measure, f.Value, f.N)
		}
	}
	for _, run := range r.Runs {
		if run.Error != "" {
			return fmt.Errorf("%w: %s of %s: %s", ErrMissed, run.Eval, run.Set, run.Error)
		}
	}
	return nil
}

// suite is one evaluation among those of a whole run.
type suite struct {
	name string
	// fits says by its files whether a data set is of the shape that it reads.
	fits func(has func(name string) bool) bool
	run  func(ctx context.Context, rig Rig, dir string, p Progress) ([]Figure, error)
}

func suites() []suite {
	return []suite{
		{
			"retrieval", func(has func(string) bool) bool {
				return has("corpus.jsonl") && has("queries.jsonl") && has("qrels.tsv")
			}, retrievalFigures,
		},
		{
			"asof", func(has func(string) bool) bool {
				return has("facts.jsonl") && has("queries.jsonl") && !has("corpus.jsonl")
			}, asOfFigures,
		},
		{
			"contracts", func(has func(string) bool) bool {
				return has("*.json") && !has(piiFile) && !has("corpus.jsonl")
			}, contractFigures,
		},
		{
			"guard", func(has func(string) bool) bool { return has("corpus.jsonl") && !has("queries.jsonl") }, guardFigures,
		},
		{
			"gate", func(has func(string) bool) bool { return has("corpus.jsonl") && !has("queries.jsonl") }, gateFigures,
		},
		{"pii", func(has func(string) bool) bool { return has(piiFile) }, piiFigures},
	}
}

// All measures everything that there are data for in the folders of dir. What fails
// is named in the report and does not keep the rest from being measured; the error is
// [ErrMissed] then, as it is where something happened that must not.
func All(ctx context.Context, rig Rig, dir string, progress Progress) (AllReport, error) {
	start := rig.Now()
	report := AllReport{At: start.UTC(), Runs: []Run{}, Figures: []Figure{}, Skipped: []string{}}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return report, fmt.Errorf("%w: there is no folder %s", ErrNoData, dir)
	}
	if err != nil {
		return report, fmt.Errorf("read folder: %w", err)
	}
	for _, e := range entries {
		set := filepath.Join(dir, e.Name())
		if info, err := os.Stat(set); err != nil || !info.IsDir() { // a link to a folder is one
			continue
		}
		has, err := holds(set)
		if err != nil {
			return report, err
		}
		known := false
		for _, s := range suites() {
			if !s.fits(has) {
				continue
			}
			known = true
			if err := report.measure(ctx, rig, s, e.Name(), set, progress); err != nil {
				return report, err
			}
		}
		if !known {
			report.Skipped = append(report.Skipped, e.Name())
		}
	}
	report.Seconds = rig.Now().Sub(start).Seconds()
	if len(report.Runs) == 0 {
		return report, fmt.Errorf("%w: no folder of %s is a known data set", ErrNoData, dir)
	}
	return report, report.check()
}

// holds tells whether a folder has a file of a name, plain or gzipped.
func holds(dir string) (has func(name string) bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	return func(pattern string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			ok, err := path.Match(pattern, strings.TrimSuffix(e.Name(), ".gz"))
			return ok && err == nil
		})
	}, nil
}

// measure enters the figures of one data set, or why there are none. The error is
// that of a run that was called off.
func (r *AllReport) measure(ctx context.Context, rig Rig, s suite, name, dir string, progress Progress) error {
	start := rig.Now()
	figures, err := s.run(ctx, rig, dir, func(what string, done, total int) {
		progress(name+" "+s.name+": "+what, done, total)
	})
	if ctx.Err() != nil {
		return fmt.Errorf("called off: %w", context.Cause(ctx))
	}
	run := Run{Set: name, Eval: s.name, Seconds: rig.Now().Sub(start).Seconds()}
	if err != nil {
		run.Error = err.Error()
	}
	r.Runs = append(r.Runs, run)
	for _, f := range figures {
		f.Set, f.Eval = name, s.name
		f.aim()
		r.Figures = append(r.Figures, f)
	}
	return nil
}

func retrievalFigures(ctx context.Context, rig Rig, dir string, p Progress) (list []Figure, err error) {
	err = rig.Scratch(ctx, func(t Target) error {
		r, err := Retrieval(ctx, t, dir, p)
		if err != nil {
			return err
		}
		m := r.Overall
		list = []Figure{
			measured(measureRecall5, m.Recall5, m.N), measured(measureRecall10, m.Recall10, m.N),
			measured(measureMRR10, m.MRR10, m.N), measured(measureNDCG10, m.NDCG10, m.N),
		}
		return nil
	})
	return list, err
}

func asOfFigures(ctx context.Context, rig Rig, dir string, p Progress) (list []Figure, err error) {
	err = rig.Scratch(ctx, func(t Target) error {
		r, err := AsOf(ctx, t, dir, 1, p)
		if err != nil {
			return err
		}
		list = []Figure{counted(measureExact, shareOf(r.Exact, r.N)), counted("a gold value", shareOf(r.Any, r.N))}
		return nil
	})
	return list, err
}

func contractFigures(ctx context.Context, rig Rig, dir string, p Progress) (list []Figure, err error) {
	err = rig.Scratch(ctx, func(t Target) error {
		r, err := Contracts(ctx, t, dir, ContractsOptions{}, p)
		if err != nil {
			return err
		}
		forbidden := ContractFigures{}
		for _, f := range r.Overall {
			forbidden.N += f.N
			forbidden.WithForbidden += f.WithForbidden
		}
		recalled := r.Overall[readRecall]
		list = []Figure{
			counted(measureForbidden, NewShare(forbidden.WithForbidden, forbidden.N)),
			measured("wanted memories recalled@10", recalled.Gold, recalled.Wanting),
		}
		return nil
	})
	return list, err
}

func guardFigures(_ context.Context, rig Rig, dir string, p Progress) ([]Figure, error) {
	p("scan", 0, 0)
	r, err := Guard(rig.Scanner, dir, "", false, rig.Now)
	if err != nil {
		return nil, err
	}
	type sums struct{ n, review, reject int }
	of := map[bool]sums{}
	for _, row := range r.Sources {
		s := of[row.Label == labelAttack]
		s.n += row.Review.N
		s.review += row.Review.Hits
		s.reject += row.Reject.Hits
		of[row.Label == labelAttack] = s
	}
	attacks, harmless := of[true], of[false]
	return []Figure{
		counted(measureAttacksSuspicious, NewShare(attacks.review, attacks.n)),
		counted("attacks rejected", NewShare(attacks.reject, attacks.n)),
		counted("harmless texts found suspicious", NewShare(harmless.review, harmless.n)),
		counted("harmless texts rejected", NewShare(harmless.reject, harmless.n)),
	}, nil
}

func gateFigures(ctx context.Context, rig Rig, dir string, p Progress) (list []Figure, err error) {
	attacks, err := ReadAttacks(dir, 0, rig.Attacks)
	if err != nil {
		return nil, err
	}
	err = rig.Gate(ctx, func(n GateNode) error {
		r, err := Gate(ctx, n, attacks, p)
		if err != nil && !errors.Is(err, ErrVoid) {
			return err
		}
		var asked, promoted int
		for _, c := range r.Controls.Benign {
			asked += c.N
			promoted += c.Promoted
		}
		list = []Figure{
			counted(measureUnreviewed, NewShare(r.Unreviewed, r.N)),
			counted("control: harmless proposals promoted", NewShare(promoted, asked)),
		}
		return err
	})
	return list, err
}

func piiFigures(_ context.Context, rig Rig, dir string, p Progress) ([]Figure, error) {
	p("scan", 0, 0)
	r, err := PII(rig.Scanner, dir)
	if err != nil {
		return nil, err
	}
	var list []Figure
	for _, row := range r.Types {
		if row.Kind == "" || row.Recall.N == 0 {
			continue // it is not looked for, or not there
		}
		list = append(list, counted(row.Type+" recall", row.Recall))
		if row.Precision.N > 0 {
			list = append(list, counted(row.Type+" precision", row.Precision))
		}
	}
	return list, nil
}
