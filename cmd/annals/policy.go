package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/policy"
)

const policyPath = "/v1/policies/" + producers.PolicyName

type policyCmd struct {
	Check    policyCheckCmd    `cmd:"" help:"Say whether a policy is sound and its examples hold; it needs no server."`
	Activate policyActivateCmd `cmd:"" help:"Put a policy into force."`
	Show     policyShowCmd     `cmd:"" help:"Print the policy in force."`
	History  policyHistoryCmd  `cmd:"" help:"Show the policies that were in force."`
	Simulate policySimulateCmd `cmd:"" help:"Show what a policy would have decided otherwise; it changes nothing."`
	Verify   policyVerifyCmd   `cmd:"" help:"Make every recorded decision again and compare; it changes nothing."`
}

// readPolicy reads a policy and checks it, so that what is wrong is said the same
// way with and without a server.
func readPolicy(path string) (*policy.Policy, error) {
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMisuse, err)
	}
	p, err := policy.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errMisuse, path, err)
	}
	return p, nil
}

type policyCheckCmd struct {
	File string `arg:"" help:"Policy to check." type:"existingfile"`
}

// checked is what a check prints.
type checked struct {
	Name     string `json:"name"`
	Version  int    `json:"version"`
	Hash     string `json:"hash"`
	Rules    int    `json:"rules"`
	Examples int    `json:"examples"`
}

// Run checks a policy.
func (k policyCheckCmd) Run(c *cli, t terminal) error {
	p, err := readPolicy(k.File)
	if err != nil {
		return err
	}
	ref := p.Ref()
	out := checked{Name: ref.Name, Version: ref.Version, Hash: ref.Hash, Rules: p.Rules(), Examples: p.Examples()}
	if c.JSON {
		return printJSON(t, out)
	}
	return say(t, "sound: %s version %d, %d rules, %d examples hold\nhash %s\n", out.Name, out.Version, out.Rules, out.Examples, out.Hash)
}

type policyActivateCmd struct {
	File   string `arg:"" help:"Policy to put into force." type:"existingfile"`
	Expect int    `help:"Refuse unless this version is in force." placeholder:"VERSION"`
}

// Run activates a policy.
func (k policyActivateCmd) Run(ctx context.Context, c *cli, t terminal) error {
	p, err := readPolicy(k.File)
	if err != nil {
		return err
	}
	body := producers.PolicyRequest{Text: p.Text(), ExpectedVersion: k.Expect}
	return c.with(ctx, t, func(s *session) error {
		var out producers.PolicyAnswer
		if err := s.Do(ctx, client.Call{Method: http.MethodPut, Path: policyPath, Body: body, Out: &out}); err != nil {
			return fmt.Errorf("activate: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		return say(t, "in force: %s version %d, at %d\nhash %s\n", out.Name, out.Version, out.Position, out.Hash)
	})
}

type policyShowCmd struct{}

// Run prints the text of the policy in force, which is a file to begin with.
func (policyShowCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out producers.PolicyAnswer
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: policyPath, Out: &out}); err != nil {
			return fmt.Errorf("show: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		if out.Fault != "" {
			if _, err := fmt.Fprintln(t.err, "everything is rejected:", out.Fault); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
		return say(t, "%s", out.Text)
	})
}

type policyHistoryCmd struct{}

// Run lists the policies that were in force.
func (policyHistoryCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out producers.PolicyHistory
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: policyPath + "/history", Out: &out}); err != nil {
			return fmt.Errorf("history: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		for _, p := range out.Policies {
			since := "built in"
			if p.ActivatedAt != nil {
				since = p.ActivatedAt.Format("2006-01-02 15:04:05Z07:00") + fmt.Sprintf(" at %d", p.Position)
			}
			if err := say(t, "version %-4d  %s  %s\n", p.Version, p.Hash[:min(len(p.Hash), 12)], since); err != nil {
				return err
			}
		}
		return nil
	})
}

type policySimulateCmd struct {
	File  string `arg:"" optional:"" help:"Policy to run; without it the one in force." type:"existingfile"`
	From  string `help:"From this position, or time in RFC 3339, on." placeholder:"POSITION|TIME"`
	To    string `help:"Up to this position or time." placeholder:"POSITION|TIME"`
	Limit int    `help:"Look at so many decisions at most." placeholder:"N"`
}

// Run simulates a policy.
func (k policySimulateCmd) Run(ctx context.Context, c *cli, t terminal) error {
	body := producers.SimulateRequest{From: k.From, To: k.To, Limit: k.Limit}
	if k.File != "" {
		p, err := readPolicy(k.File)
		if err != nil {
			return err
		}
		body.Text = p.Text()
	}
	return c.reading(ctx, t, func(s *session) error {
		var out producers.Simulation
		if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/policies/simulate", Body: body, Out: &out}); err != nil {
			return fmt.Errorf("simulate: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		return printSimulation(t, out)
	})
}

func printSimulation(t terminal, s producers.Simulation) error {
	err := say(t, "%s version %d on %d decisions, positions %d to %d: %d would change\n",
		s.Policy.Name, s.Policy.Version, s.Decisions, s.From, s.To, s.Changed)
	if err != nil {
		return err
	}
	for _, o := range s.Outcomes {
		if o.Was == o.WouldBe {
			if err := say(t, "%-12s  stays                       %d\n", o.Was, o.Count); err != nil {
				return err
			}
			continue
		}
		if err := say(t, "%-12s  would be %-12s  %7d\n", o.Was, o.WouldBe, o.Count); err != nil {
			return err
		}
		for _, x := range o.Samples {
			if err := say(t, "    %s at %d: %s, %s\n", x.Candidate, x.Position, x.Gate, x.Reason); err != nil {
				return err
			}
		}
	}
	if err := printSkipped(t, s.Skipped); err != nil {
		return err
	}
	if s.Truncated {
		return say(t, "the limit was reached; go on with --from %d\n", s.To+1)
	}
	return nil
}

type policyVerifyCmd struct{}

// errDiffers says that a decision of the log is not what its policy decides.
var errDiffers = errors.New("decisions differ from what their policies decide")

// Run makes the recorded decisions again.
func (policyVerifyCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out producers.VerifiedDecisions
		if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/policies/verify", Out: &out}); err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if err := printVerified(c, t, out); err != nil {
			return err
		}
		if len(out.Differing) > 0 {
			return errDiffers
		}
		return nil
	})
}

func printVerified(c *cli, t terminal, v producers.VerifiedDecisions) error {
	if c.JSON {
		return printJSON(t, v)
	}
	if err := say(t, "%d decisions, %d are the same when they are made again\n", v.Decisions, v.Repeated); err != nil {
		return err
	}
	for _, at := range v.Differing {
		if err := say(t, "    the one at %d differs\n", at); err != nil {
			return err
		}
	}
	if v.NoPolicy > 0 {
		if err := say(t, "%d by a policy that is not in the log\n", v.NoPolicy); err != nil {
			return err
		}
	}
	return printSkipped(t, v.Skipped)
}

func printSkipped(t terminal, k producers.Skipped) error {
	if k.Forgotten+k.Held+k.NoBasis == 0 {
		return nil
	}
	return say(t, "skipped: %d forgotten, %d held, %d recorded without their basis\n", k.Forgotten, k.Held, k.NoBasis)
}
