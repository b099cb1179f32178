package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/query"
)

type evalTracesCmd struct {
	Weights []string `help:"Weights to compare beside the named ones: relevance, freshness and reliability, which sum to 1. Can be repeated." placeholder:"R,F,S" sep:"none"`
	Against string   `help:"Compare with the weights of this name; recorded is the order that was shown." default:"default" placeholder:"NAME"`
	Use     bool     `help:"Where only the use of an answer was reported, take what was used for useful and the rest of it for not."`
	K       int      `help:"Depth of the figures, 1 to 100." short:"k" default:"10"`
}

// Run compares weights on what was recorded and judged.
func (k evalTracesCmd) Run(ctx context.Context, c *cli, t terminal) error {
	o := eval.TracesOptions{K: k.K, Against: k.Against, Use: k.Use}
	if k.K < 1 || k.K > query.MaxK {
		return fmt.Errorf("%w: -k must be in 1..%d", errMisuse, query.MaxK)
	}
	for _, s := range k.Weights {
		w, err := parseWeights(s)
		if err != nil {
			return err
		}
		o.Weights = append(o.Weights, w)
	}
	return c.reading(ctx, t, func(s *session) error {
		b := newBar(t, c.JSON, "eval")
		report, err := eval.Traces(ctx, s.Client, o, b.set)
		b.finish()
		if errors.Is(err, eval.ErrNoWeights) {
			return fmt.Errorf("%w: --against: %w", errMisuse, err)
		}
		if err != nil {
			return fmt.Errorf("eval traces: %w", err)
		}
		if c.JSON {
			return printJSON(t, report)
		}
		return sayTraces(t, &report)
	})
}

// parseWeights reads three numbers.
func parseWeights(s string) (eval.NamedWeights, error) {
	var w [3]float64
	parts := strings.Split(s, ",")
	err := error(nil)
	for i := range w {
		if err == nil && len(parts) == len(w) {
			w[i], err = strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
		}
	}
	out := eval.NamedWeights{Name: s, Weights: query.Weights{Relevance: w[0], Freshness: w[1], Reliability: w[2]}}
	if err != nil || !out.Valid() {
		return out, fmt.Errorf("%w: --weights must be three numbers in 0..1 that sum to 1", errMisuse)
	}
	return out, nil
}

func sayTraces(t terminal, r *eval.TracesReport) error {
	if err := say(t, "%d traces with a report, %d compared: %d judged results; left out: %d without terms, %d unjudged, %d alike; %d results forgotten\n",
		r.Traces, r.N, r.Results, r.LeftOut.WithoutTerms, r.LeftOut.Unjudged, r.LeftOut.Alike, r.Forgotten); err != nil {
		return err
	}
	const row = "%-20s %9s %9s %11s %8s %8s  %-26s %-26s %s\n"
	if err := say(t, row, "weights", "relevance", "freshness", "reliability", fmt.Sprintf("nDCG@%d", r.K), fmt.Sprintf("MRR@%d", r.K),
		"nDCG won over "+r.Against, "MRR won", "verdict"); err != nil {
		return err
	}
	for _, w := range r.Weights {
		terms := [3]string{"", "", ""}
		if w.Weights != nil {
			terms = [3]string{number(w.Weights.Relevance), number(w.Weights.Freshness), number(w.Weights.Reliability)}
		}
		won := func(d eval.Difference) string { return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", d.Mean, d.Low, d.High) }
		if err := say(t, row, w.Name, terms[0], terms[1], terms[2], fmt.Sprintf("%.3f", w.NDCG), fmt.Sprintf("%.3f", w.MRR),
			won(w.NDCGGain), won(w.MRRGain), w.Verdict); err != nil {
			return err
		}
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
