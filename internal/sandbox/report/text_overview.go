// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// overview writes the result of every scenario, a line each, with a column
// for each manager.
func (p *printer) overview(scenarios []scenario) {
	var names []string
	columns := map[string]int{}
	for _, s := range scenarios {
		for _, a := range s.arms {
			if _, ok := columns[a.name]; !ok {
				columns[a.name] = len(names)
				names = append(names, a.name)
			}
		}
	}
	width := max(10, (p.Width-36)/len(names)-2)
	header := []cell{c(fmt.Sprintf("%d scenarios", len(scenarios)), bold)}
	for _, name := range names {
		header = append(header, c(cut(name, width), bold))
	}
	rows := [][]cell{header}
	for _, s := range scenarios {
		row := []cell{c(cut(s.first.Scenario, 34), plain)}
		for range names {
			row = append(row, c("-", faint))
		}
		for _, a := range s.arms {
			row[1+columns[a.name]] = overviewCell(a, width)
		}
		rows = append(rows, row)
	}
	p.table(rows)
	p.line("")
}

func overviewCell(a arm, width int) cell {
	verdict := verdictOf(a)
	f := a.shown().figures
	if len(a.runs) == 1 && f.Checks > 0 {
		verdict.text += fmt.Sprintf(" %d/%d", f.ChecksPassed, f.Checks)
	}
	if f.Violations > 0 {
		verdict.text += fmt.Sprintf(", %d violated", f.Violations)
	}
	verdict.text = cut(verdict.text, width)
	return verdict
}
