// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// meters are the metrics about rollouts. There are three series for each rollout that there is, and those that count have no
// label with the name of anything. How often and how long is reconciled is told by controller-runtime's own.
type meters struct {
	info, state, batch *prometheus.GaugeVec
	duration           *prometheus.HistogramVec
	hooks, samples     *prometheus.CounterVec
}

func newMeters(registry prometheus.Registerer) (*meters, error) {
	rollout := []string{"namespace", "name"}
	m := &meters{
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slipway_rollout_info", Help: "1 for each rollout, with its target.",
		}, append(rollout, "target_kind", "target")),
		state: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slipway_rollout_state", Help: "1 for the state that each rollout is in: rollingInBatches/batchReady.",
		}, append(rollout, "state")),
		batch: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slipway_rollout_batch", Help: "Number of the current batch of each rollout, from 0.",
		}, rollout),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slipway_rollout_duration_seconds", Help: "Time from the moment that the workloads were there to the end of a rollout.",
			Buckets: prometheus.ExponentialBuckets(5, 3, 10), // from 5 s to a day
		}, []string{"target_kind", "state"}),
		hooks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_rollout_webhooks_total", Help: "Answers of webhooks: passed or rejected.",
		}, []string{"result"}),
		samples: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_rollout_metric_samples_total", Help: "Samples of metrics: in_range, out_of_range or no_data.",
		}, []string{"result"}),
	}
	for _, c := range []prometheus.Collector{m.info, m.state, m.batch, m.duration, m.hooks, m.samples} {
		if err := registry.Register(c); err != nil {
			return nil, err //nolint:wrapcheck // it names the metric
		}
	}
	return m, nil
}

// show tells how a rollout is.
func (m *meters) show(rollout *engine.Rollout, status *rolloutv1alpha1.RolloutStatus) {
	m.forget(types.NamespacedName{Namespace: rollout.Namespace, Name: rollout.Name})
	target, _ := rollout.Looks()
	m.info.WithLabelValues(rollout.Namespace, rollout.Name, target.Kind, target.Name).Set(1)
	m.state.WithLabelValues(rollout.Namespace, rollout.Name, engine.StateOf(status).String()).Set(1)
	m.batch.WithLabelValues(rollout.Namespace, rollout.Name).Set(float64(status.CurrentBatch))
}

// forget drops the series of a rollout.
func (m *meters) forget(name types.NamespacedName) {
	of := prometheus.Labels{"namespace": name.Namespace, "name": name.Name}
	for _, gauge := range []*prometheus.GaugeVec{m.info, m.state, m.batch} {
		gauge.DeletePartialMatch(of)
	}
}

// count tells what has come between two stored states of a rollout.
func (m *meters) count(rollout *engine.Rollout, after *rolloutv1alpha1.RolloutStatus, now time.Time) {
	target, _ := rollout.Looks()
	before := &rollout.Status
	if after.RollingState.IsFinal() && before.RollingState != after.RollingState {
		if began := apimeta.FindStatusCondition(after.Conditions, rolloutv1alpha1.ConditionLocated); began != nil {
			m.duration.WithLabelValues(target.Kind, string(after.RollingState)).Observe(now.Sub(began.LastTransitionTime.Time).Seconds())
		}
	}
	known := map[string]bool{}
	for _, h := range before.Hooks {
		known[h.Key] = true
	}
	for _, h := range after.Hooks {
		if !known[h.Key] {
			m.hooks.WithLabelValues(map[bool]string{true: "passed", false: "rejected"}[h.Passed]).Inc()
		}
	}
	old := map[string]rolloutv1alpha1.MetricStatus{}
	for _, s := range before.Metrics {
		old[s.Name] = s
	}
	for _, s := range after.Metrics {
		was, measured := old[s.Name]
		if !measured || was.LastSampleTime.Equal(s.LastSampleTime) {
			continue
		}
		result := "no_data"
		switch {
		case s.OutOfRange > was.OutOfRange:
			result = "out_of_range"
		case s.InRange > was.InRange:
			result = "in_range"
		}
		m.samples.WithLabelValues(result).Inc()
	}
}
