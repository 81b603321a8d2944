// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// color is the number of an ANSI attribute; plain text has none.
type color string

const (
	plain   color = ""
	bold    color = "1"
	faint   color = "2"
	red     color = "31"
	green   color = "32"
	yellow  color = "33"
	blue    color = "34"
	magenta color = "35"
	cyan    color = "36"
)

// UseColor reports whether colours are wanted: out is a terminal, which is
// able to show them, and the user did not set NO_COLOR.
func UseColor(out io.Writer, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return false
	}
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// cell is a text with a colour.
type cell struct {
	text  string
	color color
}

func c(text string, color color) cell { return cell{clean(text), color} }

// clean takes out control characters: names and messages come from objects
// of the cluster and must not steer the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text)
}

// paint adds the colour's codes.
func (p *printer) paint(text string, color color) string {
	if !p.Color || color == plain || text == "" {
		return text
	}
	return "\x1b[" + string(color) + "m" + text + "\x1b[0m"
}

// table writes rows of cells in columns. Columns named in right are aligned
// to the right. The last column is cut where the line would get too long.
func (p *printer) table(rows [][]cell, right ...int) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.text))
		}
	}
	isRight := map[int]bool{}
	for _, column := range right {
		isRight[column] = true
	}
	for _, row := range rows {
		var line strings.Builder
		used := 0
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
				used += 2
			}
			text := cell.text
			if i == len(row)-1 {
				text = cut(text, max(12, p.Width-used))
			}
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			used += max(widths[i], utf8.RuneCountInString(text))
			switch {
			case isRight[i]:
				line.WriteString(pad + p.paint(text, cell.color))
			case i == len(row)-1:
				line.WriteString(p.paint(text, cell.color))
			default:
				line.WriteString(p.paint(text, cell.color) + pad)
			}
		}
		p.line("%s", strings.TrimRight(line.String(), " "))
	}
}

// cut shortens a text to a number of characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width-1)]) + "…"
}

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(clean(text)) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			runes := []rune(word)
			lines = append(lines, string(runes[:width]))
			word = string(runes[width:])
		}
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// duration writes seconds as a person would say them.
func duration(seconds float64) string {
	switch {
	case math.Abs(seconds) < 0.005:
		return "0s"
	case math.Abs(seconds) < 10:
		return fmt.Sprintf("%.2fs", seconds)
	case seconds < 119.95:
		return fmt.Sprintf("%.1fs", seconds)
	case seconds < 3600-0.5:
		whole := int(math.Round(seconds))
		return fmt.Sprintf("%dm%02ds", whole/60, whole%60)
	case seconds < 48*3600:
		minutes := int(math.Round(seconds / 60))
		return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
	default:
		whole := int(math.Round(seconds / 3600))
		return fmt.Sprintf("%dd%02dh", whole/24, whole%24)
	}
}

// amount writes a number with as many digits as help.
func amount(value float64) string {
	switch magnitude := math.Abs(value); {
	case magnitude == 0:
		return "0"
	case magnitude < 0.0995:
		return fmt.Sprintf("%.3f", value)
	case magnitude < 9.95:
		return fmt.Sprintf("%.2f", value)
	case magnitude < 999.5:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.0f", value)
	}
}

// count writes a whole number.
func count(value float64) string { return fmt.Sprintf("%.0f", value) }

// gpuTime writes GPU-hours, and names the unit that fits the length of the
// run: seconds if it took less than an hour.
type gpuTime struct {
	// unit is "GPU-h" or "GPU-s", long the same in full.
	unit, long string
	factor     float64
}

func gpuTimeOf(hours float64) gpuTime {
	if hours < 1 {
		return gpuTime{unit: "GPU-s", long: "GPU-seconds", factor: 3600}
	}
	return gpuTime{unit: "GPU-h", long: "GPU-hours", factor: 1}
}

func (g gpuTime) write(hours float64) string { return amount(hours * g.factor) }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
