// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMedian(t *testing.T) {
	tests := map[string]struct {
		values []float64
		want   float64
	}{
		"of one value it is this value":                 {[]float64{7}, 7},
		"of an odd number it is the middle one by size": {[]float64{9, 1, 5}, 5},
		"of an even number it is the mean of the two":   {[]float64{4, 1, 2, 100}, 3},
		"one value far away does not move it":           {[]float64{1, 1, 1000}, 1},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			before := slices.Clone(test.values)
			if got := median(test.values); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if diff := cmp.Diff(before, test.values); diff != "" {
				t.Errorf("the values changed:\n%s", diff)
			}
		})
	}
}

func TestMedianHasHalfOnEachSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 20).Draw(t, "values")
		m := median(values)
		below, above := 0, 0
		for _, value := range values {
			if value < m {
				below++
			}
			if value > m {
				above++
			}
		}
		if half := len(values) / 2; below > half || above > half {
			t.Fatalf("the median %v of %v has %d below and %d above", m, values, below, above)
		}
	})
}

func TestMedians(t *testing.T) {
	requests := func(n, conflicts int) map[string]map[string]count {
		return map[string]map[string]count{byManager: {"patch pods": {Requests: n, Conflicts: conflicts}}}
	}
	rows := []row{
		{Run: 1, Pods: 500, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 3, "cpu_s": 1}, Requests: requests(10, 3)},
		{Run: 1, Pods: 2000, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 9}},
		{Run: 2, Pods: 500, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 1}, Requests: requests(14, 0), Notes: []string{"a"}},
		{Run: 2, Pods: 2000, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 1000}, Error: "too late"},
		{Run: 3, Pods: 500, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 2, "cpu_s": 3}, Requests: map[string]map[string]count{}, Notes: []string{"a"}},
	}
	want := []row{
		// cpu_s is of the two runs that have it; a run that was logged and has no patch counts as none.
		{Pods: 500, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 2, "cpu_s": 2}, Requests: requests(10, 0), Notes: []string{"a"}},
		{Pods: 2000, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 9}, Error: "run 2: too late"},
	}
	if diff := cmp.Diff(want, medians(rows)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestReportAsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "bench.json")
	r := &report{Flags: []string{"--pods=5"}, Rows: []row{{Run: 1, Pods: 5, Subject: "CloneSet", Scenario: "create", Figures: map[string]float64{"wall_s": 3}}}}
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, &got); diff != "" || len(got.Median) != 1 {
		t.Errorf("the file has %d medians, want 1; other differences:\n%s", len(got.Median), diff)
	}
	if r.failed() {
		t.Error("a report without errors says that it failed")
	}
	r.Rows[0].Error = "broken"
	if !r.failed() {
		t.Error("a report with an error says that all went well")
	}
}
