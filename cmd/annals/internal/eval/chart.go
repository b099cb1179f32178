package eval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
)

//go:embed chart.svg.tmpl
var chartTemplate string

// The places of a chart, in pixels.
const (
	chartWidth  = 1080
	chartLeft   = 330 // where 0 is
	chartPlot   = 400 // from 0 to 1
	chartTop    = 76
	chartRow    = 22
	chartGroup  = 34
	chartBar    = 12
	chartBottom = 92
)

type chart struct {
	Width, Height, Left, Right, Top, Base int
	PageWidth, PageHeight                 int
	Middle, AxisLabel, Legend             int
	Title, Subtitle                       string
	Ticks                                 []chartTick
	Groups                                []chartText
	Bars                                  []chartBarOf
}

type chartTick struct {
	X    int
	Text string
}

type chartText struct {
	Y    int
	Text string
}

type chartBarOf struct {
	Y, Mid, Length int
	Label          string
	Value          string
	Said           string
	Missed         bool
	// Interval is nil without one, and Target the middle of its mark.
	Interval *chartSpan
	Target   *int
}

type chartSpan struct{ Low, High int }

// Chart draws the figures of a report as bars, as an SVG that needs nothing beside
// it and is read on a light page as on a dark one.
func Chart(w io.Writer, r *AllReport) error {
	t, err := template.New("chart").Parse(chartTemplate)
	if err != nil {
		return fmt.Errorf("read template: %w", err)
	}
	if err := t.Execute(w, newChart(r)); err != nil {
		return fmt.Errorf("draw chart: %w", err)
	}
	return nil
}

func newChart(r *AllReport) *chart {
	at := func(v float64) int { return chartLeft + int(v*chartPlot+0.5) }
	c := &chart{
		Width: chartWidth, Left: chartLeft, Right: chartLeft + chartPlot, Top: chartTop, Middle: chartLeft + chartPlot/2,
		Title:    "What Annals finds, answers and keeps out",
		Subtitle: "annals eval, " + Plural(len(r.Runs), "measurement") + ", " + r.At.Format("2006-01-02"),
	}
	if r.Version != "" {
		c.Subtitle += ", version " + r.Version
	}
	y, group := chartTop, ""
	for i := range r.Figures {
		f := &r.Figures[i]
		g := f.Set
		if f.Eval != f.Set {
			g += ": " + f.Eval
		}
		if g != group {
			group = g
			y += chartGroup
			c.Groups = append(c.Groups, chartText{Y: y - 10, Text: group})
		}
		b := chartBarOf{
			Y: y - chartBar/2 + 3, Mid: y + 3, Length: at(f.Value) - chartLeft, Label: f.Measure,
			Value: Number(f.Value), Said: "n " + strconv.Itoa(f.N),
		}
		if f.Interval != nil {
			b.Interval = &chartSpan{at(f.Interval.Low), at(f.Interval.High)}
			b.Said += ", " + Number(f.Interval.Low) + " to " + Number(f.Interval.High)
		}
		if t := f.Target; t != nil {
			b.Target, b.Missed = new(at(t.Value)), !t.Met
			b.Said += ", wanted " + t.String()
			if b.Missed {
				b.Said += ": missed"
			}
		}
		c.Bars = append(c.Bars, b)
		y += chartRow
	}
	c.Base = y
	c.AxisLabel, c.Legend = y+36, y+66
	c.Height = y + chartBottom
	c.PageWidth, c.PageHeight = c.Width-1, c.Height-1
	for i := range 6 {
		v := float64(i) / 5
		c.Ticks = append(c.Ticks, chartTick{X: at(v), Text: strconv.FormatFloat(v, 'f', 1, 64)})
	}
	return c
}

// Plural counts what has a plural in s.
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// String is what is wanted in words.
func (g *Goal) String() string {
	sign := "≥ "
	if g.AtMost {
		sign = "≤ "
	}
	return sign + Number(g.Value)
}

// Number writes a figure with three places, and four where it is next to 0 or 1.
func Number(v float64) string {
	switch {
	case v == 0, v == 1:
		return strconv.Itoa(int(v))
	case v < 0.01, v > 0.99:
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', 4, 64), "0")
	}
	return strings.TrimPrefix(strconv.FormatFloat(v, 'f', 3, 64), "0")
}
