// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// gathered are all series, as text: name, labels and value. Of a histogram it is the number and the sum.
func gathered(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		for _, m := range family.Metric {
			line := family.GetName()
			for _, l := range m.Label {
				line += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			switch {
			case m.Gauge != nil:
				line += fmt.Sprintf(" %g", m.Gauge.GetValue())
			case m.Counter != nil:
				line += fmt.Sprintf(" %g", m.Counter.GetValue())
			case m.Histogram != nil:
				line += fmt.Sprintf(" %d times %gs", m.Histogram.GetSampleCount(), m.Histogram.GetSampleSum())
			}
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

func TestMetersTellOfEachRolloutAndOfWhatItWasTold(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMeters(registry)
	if err != nil {
		t.Fatal(err)
	}
	began := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	later := metav1.NewTime(began.Add(time.Minute))
	rollout := &engine.Rollout{Namespace: "web", Name: "shop", Target: rolloutv1alpha1.WorkloadReference{Kind: "CloneSet", Name: "cart"}}
	rollout.Status = rolloutv1alpha1.RolloutStatus{
		RollingState: rolloutv1alpha1.RollingInBatchesState, BatchRollingState: rolloutv1alpha1.BatchVerifyingState, CurrentBatch: 1,
		Hooks:   []rolloutv1alpha1.HookStatus{{Key: "a", Passed: true}},
		Metrics: []rolloutv1alpha1.MetricStatus{{Name: "good", LastSampleTime: &began}, {Name: "bad", LastSampleTime: &began}, {Name: "none", LastSampleTime: &began}, {Name: "same", LastSampleTime: &began}},
	}
	m.show(rollout, &rollout.Status)
	after := rollout.Status.DeepCopy()
	after.RollingState, after.CurrentBatch = rolloutv1alpha1.RolloutFailedState, 2
	after.Conditions = []metav1.Condition{{Type: rolloutv1alpha1.ConditionLocated, LastTransitionTime: began}}
	after.Hooks = append(after.Hooks, rolloutv1alpha1.HookStatus{Key: "b", Passed: true}, rolloutv1alpha1.HookStatus{Key: "c"})
	after.Metrics = []rolloutv1alpha1.MetricStatus{
		{Name: "good", LastSampleTime: &later, InRange: 1}, {Name: "bad", LastSampleTime: &later, OutOfRange: 1},
		{Name: "none", LastSampleTime: &later}, {Name: "same", LastSampleTime: &began}, {Name: "new", LastSampleTime: &later},
	}
	m.count(rollout, after, began.Add(90*time.Second))
	m.show(rollout, after)
	want := []string{
		"slipway_rollout_batch name=shop namespace=web 2",
		"slipway_rollout_duration_seconds state=rolloutFailed target_kind=CloneSet 1 times 90s",
		"slipway_rollout_info name=shop namespace=web target=cart target_kind=CloneSet 1",
		"slipway_rollout_metric_samples_total result=in_range 1",
		"slipway_rollout_metric_samples_total result=no_data 1",
		"slipway_rollout_metric_samples_total result=out_of_range 1",
		"slipway_rollout_state name=shop namespace=web state=rolloutFailed 1",
		"slipway_rollout_webhooks_total result=passed 1",
		"slipway_rollout_webhooks_total result=rejected 1",
	}
	if diff := cmp.Diff(want, gathered(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.forget(types.NamespacedName{Namespace: "web", Name: "shop"})
	for _, line := range gathered(t, registry) {
		if strings.Contains(line, "name=shop") {
			t.Errorf("it is still told of: %s", line)
		}
	}
}
