package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
)

// choiceFile says which model memories are to be searched by.
const choiceFile = "model.json"

// choice is what the last word on the model was. All are keys of models.
type choice struct {
	// Configured is what the last server was started with. Another one is a newer word
	// than Chosen.
	Configured string `json:"configured"`
	Chosen     string `json:"chosen"`
	// Previous served before the last switch.
	Previous string `json:"previous,omitempty"`
}

// readChoice is the zero choice if none was ever made.
func readChoice(data string) (c choice, err error) {
	b, err := os.ReadFile(filepath.Join(data, embedDir, choiceFile)) //nolint:gosec // a file of our own.
	if errors.Is(err, fs.ErrNotExist) {
		return choice{}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return choice{}, fmt.Errorf("read the choice of the model: %w", err)
	}
	return c, nil
}

func (c choice) write(data string) error {
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("note the choice of the model: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(data, embedDir), 0o700); err != nil {
		return fmt.Errorf("note the choice of the model: %w", err)
	}
	if err := replaceFile(filepath.Join(data, embedDir, choiceFile), b); err != nil {
		return fmt.Errorf("note the choice of the model: %w", err)
	}
	return nil
}
