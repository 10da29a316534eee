// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/measure"
)

// measure waits until all metrics of the batch have been in range for long enough. The first sample is taken one interval
// after the pods became available, so that it is of them alone.
func (m *machine) measure() (verdict, bool) {
	var v verdict
	var waits []string
	for _, metric := range m.metricsOfBatch() {
		s := m.metricStatus(metric.Name)
		key := m.sampleKey(metric, s)
		if sample, taken := m.Samples[key]; taken {
			*s = measure.Count(&metric, s, sample.Sample, sample.At)
			key = m.sampleKey(metric, s)
		}
		judged := measure.Judge(&metric, s)
		switch {
		case judged.Outcome == measure.Passed || m.approved():
			continue
		case judged.Outcome == measure.Failed:
			return m.fail("MetricFailed", judged.Message), true
		}
		if left := measure.Due(&metric, s, m.now); left > 0 {
			v.again = soonest(v.again, left)
		} else {
			v.actions = append(v.actions, Measure{Because("its interval is over"), key, metric, int(m.status.CurrentBatch)})
		}
		if said := m.Asked[key]; said != "" {
			judged.Message += "; " + said
		}
		waits = append(waits, judged.Message)
	}
	if len(waits) == 0 {
		return verdict{}, false
	}
	v.why, v.waiting = fmt.Sprintf("the pods of %s are available; %s", m.batchName(), strings.Join(waits, "; ")), rolloutv1alpha1.WaitingForMetric
	return v, true
}

func (m *machine) metricsOfBatch() []rolloutv1alpha1.CanaryMetric {
	return MetricsOf(&m.Rollout.Plan, int(m.status.CurrentBatch))
}

// MetricsOf are the metrics of a plan for one of its batches, from 0: those of the plan and of the batch. One of the batch takes
// the place of the plan's of the same name.
func MetricsOf(p *rolloutv1alpha1.RolloutPlan, batch int) []rolloutv1alpha1.CanaryMetric {
	all := slices.Clone(p.CanaryMetric)
	if batch < len(p.RolloutBatches) {
		for _, own := range p.RolloutBatches[batch].CanaryMetric {
			if at := slices.IndexFunc(all, func(c rolloutv1alpha1.CanaryMetric) bool { return c.Name == own.Name }); at >= 0 {
				all[at] = own
			} else {
				all = append(all, own)
			}
		}
	}
	return all
}

// metricStatus is what was measured so far. Measuring begins when it is asked for first.
func (m *machine) metricStatus(name string) *rolloutv1alpha1.MetricStatus {
	at := slices.IndexFunc(m.status.Metrics, func(s rolloutv1alpha1.MetricStatus) bool { return s.Name == name })
	if at < 0 {
		m.status.Metrics = append(m.status.Metrics, rolloutv1alpha1.MetricStatus{Name: name})
		at = len(m.status.Metrics) - 1
	}
	s := &m.status.Metrics[at]
	if s.LastSampleTime == nil {
		s.LastSampleTime = &metav1.Time{Time: m.now}
	}
	return s
}

// sampleKey is the same for every try to take a sample, and for no other sample.
func (m *machine) sampleKey(metric rolloutv1alpha1.CanaryMetric, s *rolloutv1alpha1.MetricStatus) string {
	return fmt.Sprintf("%s/%s/%d/%s/%d", m.Rollout.UID, m.status.Take(), m.status.CurrentBatch, metric.Name, s.LastSampleTime.Unix())
}
