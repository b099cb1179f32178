package eval

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// ErrNoData says that a data set's file is not there.
var ErrNoData = errors.New("data set is absent")

// Document is one line of a corpus.
type Document struct {
	ID      string `json:"_id"`
	Tenant  string `json:"tenant"`
	Session string `json:"session"`
	Seq     int    `json:"seq"`
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// Question is one line of the queries.
type Question struct {
	ID       string `json:"_id"`
	Tenant   string `json:"tenant"`
	Text     string `json:"text"`
	Category string `json:"category"`
}

// open opens dir/name or dir/name.gz.
func open(dir, name string) (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(dir, name)) //nolint:gosec // The operator names the directory.
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open data set: %w", err)
	}
	f, err = os.Open(filepath.Join(dir, name+".gz")) //nolint:gosec // The operator names the directory.
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: neither %s nor %s.gz is in %s", ErrNoData, name, name, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open data set: %w", err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		_ = f.Close() // it was only read
		return nil, fmt.Errorf("open %s.gz: %w", name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// lines reads every line of JSON in a file.
func lines[T any](dir, name string) ([]T, error) {
	r, err := open(dir, name)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // It was only read.
	var all []T
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	for n := 1; s.Scan(); n++ {
		if len(strings.TrimSpace(s.Text())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s line %d is not of the expected shape", name, n)
		}
		all = append(all, v)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return all, nil
}

// cells reads the lines of a table of tabs.
func cells(dir, name string, columns int) ([][]string, error) {
	r, err := open(dir, name)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // It was only read.
	var rows [][]string
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		row := strings.Split(s.Text(), "\t")
		if len(row) != columns {
			return nil, fmt.Errorf("%s line %d does not have %d cells", name, n, columns)
		}
		rows = append(rows, row)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return rows, nil
}

// judgements reads query, document and gain of each line; gains of 0 are left
// out.
func judgements(dir, name string) (map[string]map[string]float64, error) {
	rows, err := cells(dir, name, 3)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]float64{}
	for i, row := range rows {
		gain, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			if i == 0 {
				continue // a heading
			}
			return nil, fmt.Errorf("%s line %d: the gain is not a number", name, i+1)
		}
		if gain <= 0 {
			continue
		}
		if all[row[0]] == nil {
			all[row[0]] = map[string]float64{}
		}
		all[row[0]][row[1]] = gain
	}
	return all, nil
}

// parseTime reads the times that data sets write; ok is false for one that
// says nothing.
func parseTime(s string) (t time.Time, ok bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02", "2006-01", "2006", "January-2-2006", "January 2, 2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
