package main

import (
	"archive/zip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
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

	jar := flags.String("jar", "", "the package's `file`")
	out := flags.String("out", "weights.bin", "the `file` to write")

	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parse flags: %w", err)
	}

	archive, err := zip.OpenReader(*jar)
	if err != nil {
		return fmt.Errorf("open package: %w", err)
	}
	defer archive.Close() //nolint:errcheck // It was only read.

	blob, err := convert(archive)
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
