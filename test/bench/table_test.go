// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	writeTable(&b, [][]string{{"pods", "subject", "wall s"}, {"500", "CloneSet", "3.5"}, {"2000", "Größe", "-"}})
	want := `| pods | subject  | wall s |
|-----:|----------|-------:|
|  500 | CloneSet |    3.5 |
| 2000 | Größe    |      - |
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestComparison(t *testing.T) {
	built := func(pods int, scenario string, wall float64) row {
		return row{Pods: pods, Subject: subjectDeployment, Scenario: scenario, Figures: map[string]float64{wallSeconds: wall}}
	}
	ours := func(pods int, scenario string, wall float64) row {
		return row{Pods: pods, Subject: "CloneSet", Scenario: scenario, Figures: map[string]float64{wallSeconds: wall}}
	}
	rows := []row{
		built(500, scenarioReplace10, 10), built(500, scenarioReplace100, 4), built(2000, scenarioReplace10, 40), built(500, scenarioScaleDown, 0),
	}
	tests := map[string]struct {
		row    row
		figure string
		want   string
	}{
		"in place at 10 % stands against a replacement at 10 %":   {ours(500, scenarioInPlace10, 9), wallSeconds, "0.90"},
		"in place at 100 % stands against a replacement at 100 %": {ours(500, scenarioInPlace100, 5), wallSeconds, "1.25"},
		"recreation stands against a replacement":                 {ours(2000, scenarioRecreate10, 50), wallSeconds, "1.25"},
		"only the same number of pods compares":                   {ours(2000, scenarioInPlace100, 5), wallSeconds, "-"},
		"a figure that is missing does not compare":               {ours(500, scenarioInPlace10, 9), cpuTime, "-"},
		"nothing compares with zero":                              {ours(500, scenarioScaleDown, 9), wallSeconds, "-"},
		"a Deployment is not compared with itself":                {rows[0], wallSeconds, "-"},
		"a scenario that no Deployment has does not compare":      {ours(500, scenarioStartup, 9), wallSeconds, "-"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if got := ratio(rows, test.row, test.figure); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestRender(t *testing.T) {
	r := &report{
		Machine: machine{Began: "2026-01-02T03:04:05Z", System: "linux/amd64", CPUs: 2, Kubernetes: "v1.36.3", Manager: "slipway-manager version v1"},
		Notes:   []string{"Holds for all."},
		Rows: []row{
			{Run: 1, Pods: 50, Subject: "plain client", Scenario: scenarioCeiling, Figures: map[string]float64{createRate: 725.4}},
			{Run: 1, Pods: 50, Subject: subjectDeployment, Scenario: scenarioReplace10, Figures: map[string]float64{wallSeconds: 4, cpuTime: 2}},
			{Run: 1, Pods: 50, Subject: "CloneSet", Scenario: scenarioInPlace10, Figures: map[string]float64{wallSeconds: 3, cpuTime: 1, writesPerPod: 3},
				Requests: map[string]map[string]count{
					byManager: {"patch pods": {Requests: 50, Conflicts: 2}, "patch clonesets/status": {Requests: 4}}, byBench: {"patch clonesets": {Requests: 1}},
				}},
			{Run: 1, Pods: 50, Subject: "CloneSet", Scenario: scenarioStartup, Figures: map[string]float64{firstPassSeconds: 1.234, touchedPods: 0}, Notes: []string{"5 sets"}},
			{Run: 1, Pods: 40, Subject: "CloneSet", Scenario: scenarioRest, Error: "the manager ended"},
		},
	}
	want := `2026-01-02T03:04:05Z: linux/amd64, 2 CPUs, Kubernetes v1.36.3, manager slipway-manager version v1
Holds for all.

Ceiling of a plain client

| pods | subject      | scenario | creates/s | status patches/s | image patches/s | deletes/s |
|-----:|--------------|----------|----------:|-----------------:|----------------:|----------:|
|   50 | plain client | ceiling  |       725 |                - |               - |         - |

Releases

| pods | subject    | scenario   | wall s | CPU s | CPU s/1000 | peak MB | writes | writes/pod | 409 % | reads | node writes | pods kept | load before | time x Deployment | CPU x Deployment |
|-----:|------------|------------|-------:|------:|-----------:|--------:|-------:|-----------:|------:|------:|------------:|----------:|------------:|------------------:|-----------------:|
|   50 | Deployment | replace-10 |    4.0 |  2.00 |          - |       - |      - |          - |     - |     - |           - |         - |           - |                 - |                - |
|   50 | CloneSet   | inplace-10 |    3.0 |  1.00 |          - |       - |      - |       3.00 |     - |     - |           - |         - |           - |              0.75 |             0.50 |

Start on existing pods

| pods | subject  | scenario | ready s | first pass s | CPU s | peak MB | writes | pods touched | reads |
|-----:|----------|----------|--------:|-------------:|------:|--------:|-------:|-------------:|------:|
|   50 | CloneSet | startup  |       - |         1.23 |     - |       - |      - |            0 |     - |

At rest

| pods | subject  | scenario | watched s | CPU s | % of a core | RSS MB | writes | reads |
|-----:|----------|----------|----------:|------:|------------:|-------:|-------:|------:|
|   40 | CloneSet | rest     |         - |     - |           - |      - |      - |     - |

Requests (status 409 in brackets)

| pods | subject  | scenario   | who     | requests                                    |
|-----:|----------|------------|---------|---------------------------------------------|
|   50 | CloneSet | inplace-10 | manager | patch clonesets/status 4, patch pods 50 (2) |

Remarks

50 CloneSet startup: 5 sets
40 CloneSet rest: ERROR: run 1: the manager ended
`
	var b strings.Builder
	if err := render(&b, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
