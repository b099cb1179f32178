package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "convert:", err)

		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("convert", flag.ContinueOnError)
	flags.SetOutput(stderr)

	dir := flags.String("dir", "", "the package's `folder` dist")
	out := flags.String("out", "weights.bin", "the `file` to write")

	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parse flags: %w", err)
	}

	blob, err := convert(os.DirFS(filepath.Clean(*dir)))
	if err != nil {
		return err
	}

	if err := os.WriteFile(*out, blob, 0o600); err != nil {
		return fmt.Errorf("write weights: %w", err)
	}

	if _, err := fmt.Fprintf(stdout, "%x  %d bytes\n", sha256.Sum256(blob), len(blob)); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}

	return nil
}
