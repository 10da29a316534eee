// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Names of figures. A figure that could not be measured is missing from its row.
const (
	wallSeconds   = "wall_s"
	cpuTime       = "cpu_s"
	cpuPer1000    = "cpu_s_per_1000_pods"
	cpuPercent    = "cpu_percent_of_a_core"
	peakMB        = "peak_rss_mb"
	allWrites     = "writes"
	writesPerPod  = "writes_per_pod" // set status, events and leases aside
	conflictShare = "conflicts_percent"
	allReads      = "reads"
	nodeWrites    = "node_writes"
	keptPods      = "pods_kept"
	loadBefore    = "load_before"

	groupsEach     = "groups_of_each"
	atOnce         = "most_pods_at_once"       // of one workload, on their way
	statusPerGroup = "status_writes_per_group" // of the deployment
	podsOwnWrites  = "pod_writes_per_pod"      // those of pods alone

	cpuPerRollout   = "cpu_ms_per_rollout"
	rolloutWrites   = "writes_per_rollout"          // of rollouts, their status and their workloads
	rolloutStatuses = "status_writes_per_rollout"   // of rollouts
	workloadWrites  = "workload_writes_per_rollout" // of workloads, by their rollouts
	rolloutReads    = "reads_per_rollout"           // of workloads and what belongs to them

	createRate = "creates_per_s"
	statusRate = "status_patches_per_s"
	imageRate  = "image_patches_per_s"
	deleteRate = "deletes_per_s"

	readySeconds     = "ready_s"      // caches filled
	firstPassSeconds = "first_pass_s" // every set reconciled, and nothing left to do
	touchedPods      = "pods_touched"
	rssMB            = "rss_mb"
	heapMB           = "heap_mb"

	addedRSSMB     = "added_rss_mb"      // a manager that ran while the foreign pods came
	addedPeakMB    = "added_peak_mb"     // a manager that was started on them
	addedFreshMB   = "added_rss_mb_new"  // the same, a while after its start
	addedHeapMB    = "added_heap_mb_new" // the same, of its heap
	componentsName = "cpu_s_of_"         // with the name of a process of the plane
)

// row is what one scenario gave in one run, or the median of several runs.
type row struct {
	Run      int    `json:"run,omitempty"` // from 1; 0 for a median
	Pods     int    `json:"pods"`
	Subject  string `json:"subject"`
	Scenario string `json:"scenario"`
	// Figures by name, in the unit that the name ends with; MB are 1,000,000 bytes.
	Figures map[string]float64 `json:"figures,omitempty"`
	// Requests by who asked and by verb and resource, while the scenario ran.
	Requests map[string]map[string]count `json:"requests,omitempty"`
	Notes    []string                    `json:"notes,omitempty"`
	Error    string                      `json:"error,omitempty"`
}

// set notes a figure. More than four digits behind the point would only pretend to be exact.
func (r *row) set(name string, value float64) {
	if r.Figures == nil {
		r.Figures = map[string]float64{}
	}
	r.Figures[name] = math.Round(value*1e4) / 1e4
}

// note adds a remark once.
func (r *row) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// report is the JSON file.
type report struct {
	Machine machine  `json:"machine"`
	Flags   []string `json:"flags"`
	// Notes hold for all rows.
	Notes []string `json:"notes,omitempty"`
	// Median has one row for each scenario; Rows all that was measured, in order.
	Median []row `json:"median"`
	Rows   []row `json:"rows"`
}

type machine struct {
	Began      string `json:"began"` // RFC 3339
	System     string `json:"system"`
	CPUs       int    `json:"cpus"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"`
	Manager    string `json:"manager"`
}

func (r *report) write(path string) error {
	r.Median = medians(r.Rows)
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of the figures: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the figures: %w", err)
	}
	return nil
}

func (r *report) failed() bool {
	return slices.ContainsFunc(r.Rows, func(r row) bool { return r.Error != "" })
}

// median is the middle value, of an even number of values the mean of the two in the middle. There must be one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// medians makes one row of those that measured the same, in the order of the first ones. Each figure has its own
// median, over the runs that have it. A run that failed gives no figures, but its error stays visible.
func medians(rows []row) []row {
	type key struct {
		pods              int
		subject, scenario string
	}
	var order []key
	groups := map[key][]row{}
	for _, r := range rows {
		k := key{r.Pods, r.Subject, r.Scenario}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	result := make([]row, 0, len(order))
	for _, k := range order {
		result = append(result, medianOf(groups[k]))
	}
	return result
}

func medianOf(group []row) row {
	m := row{Pods: group[0].Pods, Subject: group[0].Subject, Scenario: group[0].Scenario}
	figures := map[string][]float64{}
	var good []row
	for _, r := range group {
		for _, note := range r.Notes {
			m.note("%s", note)
		}
		if r.Error != "" {
			m.Error = fmt.Sprintf("run %d: %s", r.Run, r.Error)
			continue
		}
		good = append(good, r)
		for name, value := range r.Figures {
			figures[name] = append(figures[name], value)
		}
	}
	for name, values := range figures {
		m.set(name, median(values))
	}
	m.Requests = medianRequests(good)
	return m
}

// medianRequests takes the median of each count. A run without a request counts as none.
func medianRequests(rows []row) map[string]map[string]count {
	logged := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Requests == nil })
	if len(logged) == 0 {
		return nil
	}
	result := map[string]map[string]count{}
	for _, r := range logged {
		for who, requests := range r.Requests {
			if result[who] == nil {
				result[who] = map[string]count{}
			}
			for what := range maps.Keys(requests) {
				middle := func(of func(count) int) int {
					var values []float64
					for _, other := range logged {
						values = append(values, float64(of(other.Requests[who][what])))
					}
					return int(median(values) + 0.5)
				}
				result[who][what] = count{
					Requests:  middle(func(c count) int { return c.Requests }),
					Conflicts: middle(func(c count) int { return c.Conflicts }),
					Refused:   middle(func(c count) int { return c.Refused }),
				}
			}
		}
	}
	return result
}
