// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// compared names the Deployment's row that a release of ours is compared with.
var compared = map[string]string{
	scenarioCreate:     scenarioCreate,
	scenarioInPlace100: scenarioReplace100,
	scenarioInPlace10:  scenarioReplace10,
	scenarioRecreate10: scenarioReplace10,
	scenarioScaleDown:  scenarioScaleDown,
}

// column is one column of a table of figures.
type column struct {
	title  string
	figure string
	digits int
}

var (
	releaseColumns = []column{
		{"wall s", wallSeconds, 1}, {"CPU s", cpuTime, 2}, {"CPU s/1000", cpuPer1000, 2}, {"peak MB", peakMB, 1},
		{"writes", allWrites, 0}, {"writes/pod", writesPerPod, 2}, {"409 %", conflictShare, 2},
		{"reads", allReads, 0}, {"node writes", nodeWrites, 0}, {"pods kept", keptPods, 0}, {"load before", loadBefore, 1},
	}
	fleetColumns = append(slices.Clone(releaseColumns),
		column{"pod writes/pod", podsOwnWrites, 2}, column{"groups", groupsEach, 0}, column{"at once", atOnce, 0}, column{"status writes/group", statusPerGroup, 1})
	rolloutsColumns = append(slices.Clone(releaseColumns),
		column{"CPU ms/rollout", cpuPerRollout, 1}, column{"writes/rollout", rolloutWrites, 1}, column{"of its status", rolloutStatuses, 1},
		column{"of its workload", workloadWrites, 1}, column{"reads/rollout", rolloutReads, 1}, column{"at once", atOnce, 0})
	ceilingColumns = []column{
		{"creates/s", createRate, 0}, {"status patches/s", statusRate, 0}, {"image patches/s", imageRate, 0}, {"deletes/s", deleteRate, 0},
	}
	startColumns = []column{
		{"ready s", readySeconds, 2}, {"first pass s", firstPassSeconds, 2}, {"CPU s", cpuTime, 2}, {"peak MB", peakMB, 1},
		{"writes", allWrites, 0}, {"pods touched", touchedPods, 0}, {"reads", allReads, 0},
	}
	restColumns = []column{
		{"watched s", wallSeconds, 0}, {"CPU s", cpuTime, 2}, {"% of a core", cpuPercent, 2}, {"RSS MB", rssMB, 1},
		{"writes", allWrites, 0}, {"reads", allReads, 0},
	}
	foreignColumns = []column{
		{"RSS + MB, running", addedRSSMB, 1}, {"RSS + MB, new", addedFreshMB, 1}, {"heap + MB, new", addedHeapMB, 1},
		{"peak + MB, new", addedPeakMB, 1},
	}
)

// render writes the report for people.
func render(out io.Writer, r *report) error {
	rows := medians(r.Rows)
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s: %s, %d CPUs, Kubernetes %s, manager %s\n", m.Began, m.System, m.CPUs, m.Kubernetes, m.Manager)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "%s\n", note)
	}
	parts := []struct {
		title     string
		scenarios []string
		columns   []column
	}{
		{"Ceiling of a plain client", []string{scenarioCeiling}, ceilingColumns},
		{"Releases", []string{
			scenarioCreate, scenarioInPlace100, scenarioInPlace10, scenarioRecreate10, scenarioReplace10, scenarioReplace100, scenarioScaleDown,
		}, releaseColumns},
		{"Releases among pods of other owners", []string{scenarioCrowdedCreate, scenarioCrowdedInPlace10, scenarioCrowdedRecreate10}, releaseColumns},
		{"Many deployments at once", []string{scenarioFleetCreate, scenarioFleetRelease}, fleetColumns},
		{"Many rollouts at once", []string{scenarioRollouts}, rolloutsColumns},
		{"Start on existing pods", []string{scenarioStartup}, startColumns},
		{"At rest", []string{scenarioRest, scenarioFleetRest, scenarioRolloutsRest}, restColumns},
		{"Memory for pods of other owners", []string{scenarioForeign}, foreignColumns},
	}
	for _, part := range parts {
		chosen := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !slices.Contains(part.scenarios, r.Scenario) })
		if len(chosen) > 0 {
			fmt.Fprintf(&b, "\n%s\n\n", part.title)
			writeTable(&b, figuresTable(chosen, part.columns))
		}
	}
	if lines := requestsTable(rows); len(lines) > 1 {
		fmt.Fprintf(&b, "\nRequests (status 409 in brackets)\n\n")
		writeTable(&b, lines)
	}
	writeRemarks(&b, rows)
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// figuresTable has a line for each row. Releases show how they compare with the built-in controller's.
func figuresTable(rows []row, columns []column) [][]string {
	head := []string{"pods", "subject", "scenario"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	against := slices.ContainsFunc(rows, func(r row) bool { return r.Subject == subjectDeployment }) &&
		slices.ContainsFunc(rows, func(r row) bool { return r.Subject != subjectDeployment })
	if against {
		head = append(head, "time x Deployment", "CPU x Deployment")
	}
	lines := [][]string{head}
	for _, r := range rows {
		line := []string{strconv.Itoa(r.Pods), r.Subject, r.Scenario}
		for _, c := range columns {
			line = append(line, cell(r.Figures, c.figure, c.digits))
		}
		if against {
			line = append(line, ratio(rows, r, wallSeconds), ratio(rows, r, cpuTime))
		}
		lines = append(lines, line)
	}
	return lines
}

func cell(figures map[string]float64, name string, digits int) string {
	value, known := figures[name]
	if !known {
		return "-"
	}
	return strconv.FormatFloat(value, 'f', digits, 64)
}

// ratio compares a figure with that of the Deployment's row; "-" where there is nothing to compare.
func ratio(rows []row, r row, figure string) string {
	if r.Subject == subjectDeployment {
		return "-"
	}
	at := slices.IndexFunc(rows, func(other row) bool {
		return other.Subject == subjectDeployment && other.Pods == r.Pods && other.Scenario == compared[r.Scenario]
	})
	mine, known := r.Figures[figure]
	if at < 0 || !known || rows[at].Figures[figure] == 0 {
		return "-"
	}
	return strconv.FormatFloat(mine/rows[at].Figures[figure], 'f', 2, 64)
}

// requestsTable lists who asked the API server for what, the bench and what it does not know by name aside.
func requestsTable(rows []row) [][]string {
	lines := [][]string{{"pods", "subject", "scenario", "who", "requests"}}
	for _, r := range rows {
		for _, who := range slices.Sorted(maps.Keys(r.Requests)) {
			if who == byBench {
				continue
			}
			var parts []string
			for _, what := range slices.Sorted(maps.Keys(r.Requests[who])) {
				c := r.Requests[who][what]
				text := fmt.Sprintf("%s %d", what, c.Requests)
				if c.Conflicts > 0 {
					text += fmt.Sprintf(" (%d)", c.Conflicts)
				}
				parts = append(parts, text)
			}
			lines = append(lines, []string{strconv.Itoa(r.Pods), r.Subject, r.Scenario, who, strings.Join(parts, ", ")})
		}
	}
	return lines
}

func writeRemarks(b *strings.Builder, rows []row) {
	begun := false
	for _, r := range rows {
		remarks := r.Notes
		if r.Error != "" {
			remarks = append(slices.Clone(remarks), "ERROR: "+r.Error)
		}
		for _, remark := range remarks {
			if !begun {
				b.WriteString("\nRemarks\n\n")
				begun = true
			}
			fmt.Fprintf(b, "%d %s %s: %s\n", r.Pods, r.Subject, r.Scenario, remark)
		}
	}
}

// writeTable writes lines as a Markdown table with aligned columns; numbers stand on the right.
func writeTable(b *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	numbers := make([]bool, len(lines[0]))
	for i := range widths {
		numbers[i] = true
		for n, line := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]), 3)
			if _, err := strconv.ParseFloat(line[i], 64); n > 0 && err != nil && line[i] != "-" {
				numbers[i] = false
			}
		}
	}
	for n, line := range lines {
		for i, text := range line {
			if numbers[i] {
				fmt.Fprintf(b, "| %*s ", widths[i], text)
			} else {
				fmt.Fprintf(b, "| %-*s ", widths[i], text)
			}
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i, width := range widths {
			rule := strings.Repeat("-", width+2)
			if numbers[i] {
				rule = rule[:width+1] + ":"
			}
			b.WriteString("|" + rule)
		}
		b.WriteString("|\n")
	}
}
