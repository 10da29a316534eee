// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// DefaultInterval is the time between two samples when a metric says nothing.
const DefaultInterval = time.Minute

// SampleKind is what came of asking once.
type SampleKind string

const (
	// Measured is a number.
	Measured SampleKind = "Measured"
	// NoData is an answer without a number.
	NoData SampleKind = "NoData"
	// Fault is no answer that could be used: a query that is refused, several numbers, a Secret that is missing. It is not
	// evidence about the workload, so it neither counts for nor against it, whatever noData says: somebody has to look.
	Fault SampleKind = "Fault"
)

// Sample is what came of asking once.
type Sample struct {
	Kind SampleKind
	// Value of a sample that is Measured.
	Value float64
	// Message says what came instead of a number.
	Message string
}

// Of is the sample that has a number. NaN is none.
func Of(value float64) Sample {
	if math.IsNaN(value) {
		return Sample{Kind: NoData, Message: "the query gives NaN"}
	}
	return Sample{Kind: Measured, Value: value}
}

// Outcome is what the samples of a metric mean for its batch.
type Outcome string

const (
	// Passed lets the batch go on.
	Passed Outcome = "Passed"
	// Wait asks for more samples.
	Wait Outcome = "Wait"
	// Failed is a failure of the batch.
	Failed Outcome = "Failed"
)

// Verdict is what the samples of a metric mean for its batch, and why.
type Verdict struct {
	Outcome Outcome
	// Message says it in one sentence, and is the same for the same samples.
	Message string
}

// Interval is the time between two samples of a metric, and the range that its query may ask for: at least a second.
func Interval(m *rolloutv1alpha1.CanaryMetric) time.Duration {
	if m.Interval == nil || m.Interval.Duration <= 0 {
		return DefaultInterval
	}
	return max(m.Interval.Duration, time.Second)
}

// Due is how long the next sample has to wait, given what was measured so far (nil is nothing): 0 when it is due.
func Due(m *rolloutv1alpha1.CanaryMetric, sofar *rolloutv1alpha1.MetricStatus, now time.Time) time.Duration {
	if sofar == nil || sofar.LastSampleTime == nil {
		return 0
	}
	return max(sofar.LastSampleTime.Add(Interval(m)).Sub(now), 0)
}

// Count adds a sample that was taken at a time to what was measured so far (nil is nothing).
func Count(m *rolloutv1alpha1.CanaryMetric, sofar *rolloutv1alpha1.MetricStatus, s Sample, at time.Time) rolloutv1alpha1.MetricStatus {
	next := rolloutv1alpha1.MetricStatus{Name: m.Name, LastSampleTime: ptr.To(metav1.NewTime(at)), Message: s.Message}
	if sofar != nil {
		next.InRange, next.OutOfRange = sofar.InRange, sofar.OutOfRange
	}
	switch s.Kind {
	case Fault:
	case NoData:
		switch m.NoData {
		case rolloutv1alpha1.FailOnNoData:
			outOfRange(&next)
		case rolloutv1alpha1.IgnoreNoData:
			next.InRange++
		case rolloutv1alpha1.WaitOnNoData, "":
		}
	case Measured:
		next.Value = Number(s.Value)
		good, err := RangeOf(m.MetricsRange)
		switch {
		case err != nil: // it is for whoever wrote the plan; the workload did nothing
			next.Message = err.Error()
		case good.Holds(s.Value):
			next.InRange++
		default:
			outOfRange(&next)
		}
	}
	return next
}

func outOfRange(s *rolloutv1alpha1.MetricStatus) {
	s.InRange = 0
	s.OutOfRange++
}

// Judge says what was measured so far (nil is nothing) means for the batch. It looks at the plan as it stands now, so a
// failureLimit that was raised, or a count that was lowered, takes effect at once. A plan without a usable range waits.
func Judge(m *rolloutv1alpha1.CanaryMetric, sofar *rolloutv1alpha1.MetricStatus) Verdict {
	good, err := RangeOf(m.MetricsRange)
	if err != nil {
		return Verdict{Wait, fmt.Sprintf("metric %s: %s", m.Name, err)}
	}
	if sofar == nil {
		return Verdict{Wait, fmt.Sprintf("metric %s: waiting for the first sample", m.Name)}
	}
	newest := "is " + sofar.Value
	if sofar.Value == "" {
		newest = "has no value"
	}
	if sofar.Message != "" {
		newest += " (" + sofar.Message + ")"
	}
	wanted, tolerated := ptr.Deref(m.Count, 1), ptr.Deref(m.FailureLimit, 0)
	switch {
	case sofar.OutOfRange > tolerated:
		return Verdict{Failed, fmt.Sprintf("metric %s %s, wanted %s; samples out of range: %d, tolerated: %d", m.Name, newest, good, sofar.OutOfRange, tolerated)}
	case sofar.InRange >= wanted:
		return Verdict{Passed, fmt.Sprintf("metric %s %s, wanted %s; samples in range: %d", m.Name, newest, good, sofar.InRange)}
	default:
		return Verdict{Wait, fmt.Sprintf("metric %s %s, wanted %s; samples in range: %d of %d, out of range: %d, tolerated: %d", m.Name, newest, good, sofar.InRange, wanted, sofar.OutOfRange, tolerated)}
	}
}
