// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// defaultInterval is the interval of a metric that was stored without one.
const defaultInterval = time.Minute

// measure waits until all metrics of the batch have been in range for long enough. The first sample is taken one interval
// after the pods became available, so that it is of them alone.
func (m *machine) measure() (verdict, bool) {
	var v verdict
	var waits []string
	for _, metric := range m.metricsOfBatch() {
		s := m.metricStatus(metric.Name)
		if done(s, metric) || m.approved() {
			continue
		}
		interval := ptr.Deref(metric.Interval, metav1.Duration{Duration: defaultInterval}).Duration
		key := m.sampleKey(metric, s)
		if sample, taken := m.Samples[key]; taken {
			judge(s, metric, sample)
			if s.OutOfRange > ptr.Deref(metric.FailureLimit, 0) {
				return m.fail("MetricFailed", fmt.Sprintf("metric %s is out of its range %s: %s", metric.Name, rangeOf(metric), cause(s))), true
			}
			if done(s, metric) {
				continue
			}
			key = m.sampleKey(metric, s)
		}
		if left := s.LastSampleTime.Add(interval).Sub(m.now); left > 0 {
			v.again = soonest(v.again, left)
		} else {
			v.actions = append(v.actions, Measure{Because("its interval is over"), key, metric, int(m.status.CurrentBatch)})
		}
		waits = append(waits, waitFor(s, metric))
	}
	if len(waits) == 0 {
		return verdict{}, false
	}
	v.why, v.waiting = fmt.Sprintf("the pods of %s are available; waits for %s", m.batchName(), strings.Join(waits, "; ")), rolloutv1alpha1.WaitingForMetric
	return v, true
}

// metricsOfBatch are those of the plan and of the batch. One of the batch takes the place of the plan's of the same name.
func (m *machine) metricsOfBatch() []rolloutv1alpha1.CanaryMetric {
	all := slices.Clone(m.Rollout.Plan.CanaryMetric)
	if b := int(m.status.CurrentBatch); b < len(m.Rollout.Plan.RolloutBatches) {
		for _, own := range m.Rollout.Plan.RolloutBatches[b].CanaryMetric {
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

func done(s *rolloutv1alpha1.MetricStatus, metric rolloutv1alpha1.CanaryMetric) bool {
	return s.InRange >= max(ptr.Deref(metric.Count, 1), 1)
}

// judge counts a sample.
func judge(s *rolloutv1alpha1.MetricStatus, metric rolloutv1alpha1.CanaryMetric, sample Sample) {
	s.LastSampleTime, s.Value, s.Message = &metav1.Time{Time: sample.At}, sample.Value, sample.Message
	good := inRange(sample.Value, metric.MetricsRange)
	if sample.Value == "" {
		switch metric.NoData {
		case rolloutv1alpha1.FailOnNoData:
			good = false
		case rolloutv1alpha1.IgnoreNoData:
			good = true
		case rolloutv1alpha1.WaitOnNoData, "":
			return
		}
	}
	if good {
		s.InRange++
		return
	}
	s.InRange = 0
	s.OutOfRange++
}

// inRange compares exactly: 0.1 is 0.1.
func inRange(value string, within *rolloutv1alpha1.MetricsExpectedRange) bool {
	number, ok := new(big.Rat).SetString(value)
	if !ok {
		return false
	}
	if within == nil {
		return true
	}
	above := func(end *intstr.IntOrString, sign int) bool {
		if end == nil {
			return true
		}
		limit, ok := new(big.Rat).SetString(end.String())
		return ok && number.Cmp(limit)*sign >= 0
	}
	return above(within.Min, 1) && above(within.Max, -1)
}

func rangeOf(metric rolloutv1alpha1.CanaryMetric) string {
	low, high := "-∞", "∞"
	if r := metric.MetricsRange; r != nil && r.Min != nil {
		low = r.Min.String()
	}
	if r := metric.MetricsRange; r != nil && r.Max != nil {
		high = r.Max.String()
	}
	return fmt.Sprintf("%s to %s", low, high)
}

func cause(s *rolloutv1alpha1.MetricStatus) string {
	if s.Value != "" {
		return "it is " + s.Value
	}
	return s.Message
}

func waitFor(s *rolloutv1alpha1.MetricStatus, metric rolloutv1alpha1.CanaryMetric) string {
	words := fmt.Sprintf("metric %s, %d of %d samples in range", metric.Name, s.InRange, max(ptr.Deref(metric.Count, 1), 1))
	if s.Value == "" && s.Message != "" {
		words += " (" + s.Message + ")"
	}
	return words
}
