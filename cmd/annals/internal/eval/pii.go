package eval

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/producers/guard"
)

// piiFile is the file of a data set of personal data.
const piiFile = "presidio_generated_small.json"

// PIIReport is the result of [PII].
type PIIReport struct {
	Sentences int      `json:"sentences"`
	Types     []PIIRow `json:"types"`
}

// PIIRow says how well one type was found.
type PIIRow struct {
	Type string `json:"type"`
	// Kind is what the scanner calls it; empty if it does not look for it.
	Kind string `json:"kind,omitempty"`
	// Recall is of the marked spans: those that a found span of the kind
	// overlaps. AnyKind counts a found span of any kind.
	Recall  Share `json:"recall"`
	AnyKind Share `json:"any_kind"`
	// Precision is of the found spans of the kind: those that overlap a marked
	// one of the type.
	Precision Share `json:"precision"`
}

// sentence is one entry of the data set. Positions are in characters.
type sentence struct {
	Text  string `json:"full_text"`
	Spans []struct {
		Type string `json:"entity_type"`
		From int    `json:"start_position"`
		To   int    `json:"end_position"`
	} `json:"spans"`
}

// kindOf is what the scanner calls a type of the data set.
func kindOf(entity string) string {
	switch entity {
	case "EMAIL_ADDRESS":
		return guard.KindEmail
	case "PHONE_NUMBER":
		return guard.KindPhone
	case "CREDIT_CARD":
		return guard.KindCard
	case "IBAN_CODE", "IBAN":
		return guard.KindIBAN
	case "IP_ADDRESS":
		return guard.KindIP
	case "DATE_TIME": // of which only dates of birth are looked for
		return guard.KindBirthDate
	case "US_SSN":
		return guard.KindSSN
	case "CRYPTO":
		return guard.KindCrypto
	}
	return ""
}

// PII looks for personal data in the marked sentences in dir.
func PII(s *guard.Scanner, dir string) (PIIReport, error) {
	r, err := open(dir, piiFile)
	if err != nil {
		return PIIReport{}, err
	}
	defer r.Close() //nolint:errcheck // It was only read.
	text, err := io.ReadAll(r)
	if err != nil {
		return PIIReport{}, fmt.Errorf("read data set: %w", err)
	}
	var sentences []sentence
	if err := json.Unmarshal(text, &sentences); err != nil {
		return PIIReport{}, errors.New("data set is not of the expected shape")
	}
	type counts struct{ n, found, any, hits, right int }
	types := map[string]*counts{}
	of := func(name string) *counts {
		if types[name] == nil {
			types[name] = &counts{}
		}
		return types[name]
	}
	for _, x := range sentences {
		found := s.Find(x.Text)
		right := make([]bool, len(found))
		at := offsets(x.Text)
		for _, m := range x.Spans {
			if m.From < 0 || m.To >= len(at) || m.From > m.To {
				return PIIReport{}, errors.New("a span is outside of its text")
			}
			from, to := at[m.From], at[m.To]
			c := of(m.Type)
			c.n++
			same, some := false, false
			for i, f := range found {
				if f.From >= to || f.To <= from {
					continue
				}
				some = true
				if f.Kind == kindOf(m.Type) {
					same, right[i] = true, true
				}
			}
			if same {
				c.found++
			}
			if some {
				c.any++
			}
		}
		for i, f := range found {
			c := of(typeOf(f.Kind))
			c.hits++
			if right[i] {
				c.right++
			}
		}
	}
	report := PIIReport{Sentences: len(sentences)}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		c := types[name]
		report.Types = append(report.Types, PIIRow{
			Type: name, Kind: kindOf(name),
			Recall: NewShare(c.found, c.n), AnyKind: NewShare(c.any, c.n), Precision: NewShare(c.right, c.hits),
		})
	}
	return report, nil
}

// typeOf is what the data set calls a kind; a kind that it does not have is
// called by its own name.
func typeOf(kind string) string {
	for _, name := range []string{"EMAIL_ADDRESS", "PHONE_NUMBER", "DATE_TIME", "CREDIT_CARD", "IBAN_CODE", "IP_ADDRESS", "US_SSN", "CRYPTO"} {
		if kindOf(name) == kind {
			return name
		}
	}
	return kind
}

// offsets are the bytes at which the characters of a text begin, and its end.
func offsets(s string) []int {
	all := make([]int, 0, len(s)+1)
	for i := range s {
		all = append(all, i)
	}
	return append(all, len(s))
}
