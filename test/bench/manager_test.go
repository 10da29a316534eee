// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const metricsText = `# HELP workqueue_depth Current depth
# TYPE workqueue_depth gauge
workqueue_depth{controller="cloneset",name="cloneset",priority=""} 0
workqueue_depth{controller="cloneset",name="cloneset",priority="-100"} 2
workqueue_depth{controller="other",name="other",priority=""} 9
workqueue_depth_old{name="cloneset"} 50
controller_runtime_reconcile_total{controller="cloneset",result="error"} 1
controller_runtime_reconcile_total{controller="cloneset",result="success"} 4 1700000000000
controller_runtime_active_workers{controller="cloneset"} 0
go_memstats_heap_inuse_bytes 1.2345e+07
broken{name="x"} abc
empty{name="x"}
`

func TestSumMetric(t *testing.T) {
	tests := map[string]struct {
		metric, label, value string
		want                 float64
		fail                 bool
	}{
		"samples with the label add up":                  {"workqueue_depth", "name", "cloneset", 2, false},
		"another value of the label does not count":      {"workqueue_depth", "name", "other", 9, false},
		"a time behind the value is no value":            {"controller_runtime_reconcile_total", "controller", "cloneset", 5, false},
		"a metric without labels has its value":          {"go_memstats_heap_inuse_bytes", "", "", 12345000, false},
		"a metric that is not there is 0":                {"rest_client_requests_total", "", "", 0, false},
		"the beginning of a metric's name is not enough": {"workqueue", "", "", 0, false},
		"the end of a label's name is not enough":        {"workqueue_depth", "ame", "cloneset", 0, false},
		"a value that is no number is an error":          {"broken", "", "", 0, true},
		"a sample without a value is an error":           {"empty", "", "", 0, true},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, err := sumMetric(metricsText, test.metric, test.label, test.value)
			if (err != nil) != test.fail || got != test.want {
				t.Errorf("got %v, error %v; want %v, an error: %t", got, err, test.want, test.fail)
			}
		})
	}
}

func TestPassed(t *testing.T) {
	done := strings.Replace(metricsText, `priority="-100"} 2`, `priority="-100"} 0`, 1)
	tests := map[string]struct {
		text    string
		objects int
		want    bool
	}{
		"every object was looked at, and nothing is left": {done, 5, true},
		"an object was not looked at":                     {done, 6, false},
		"something waits":                                 {metricsText, 5, false},
		"something is being worked on": {
			strings.Replace(done, `active_workers{controller="cloneset"} 0`, `active_workers{controller="cloneset"} 1`, 1), 5, false,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(test.text)) }))
			defer server.Close()
			m := &manager{metrics: server.URL}
			if got, err := m.passed("cloneset", test.objects)(t.Context()); err != nil || got != test.want {
				t.Errorf("passed: %t, error %v; want %t", got, err, test.want)
			}
			if heap, known := m.heapBytes(t.Context()); !known || heap != 12345000 {
				t.Errorf("heap: %v, known %t; want 12345000", heap, known)
			}
		})
	}
}

func TestManagerWithoutMetrics(t *testing.T) {
	if _, known := (&manager{}).heapBytes(t.Context()); known {
		t.Error("a manager without metrics tells its heap")
	}
	ended := make(chan struct{})
	close(ended)
	m := &manager{metrics: "http://127.0.0.1:1/metrics", ended: ended}
	if err := m.await(t.Context(), "work", m.passed("cloneset", 1)); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("got error %v, want one that says that the manager ended", err)
	}
}
