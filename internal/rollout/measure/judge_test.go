// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// belowOnePercent wants two samples of at most 0.01 in a row and tolerates one that is not.
func belowOnePercent(edit func(*rolloutv1alpha1.CanaryMetric)) *rolloutv1alpha1.CanaryMetric {
	m := &rolloutv1alpha1.CanaryMetric{
		Name: "errors", Count: ptr.To[int32](2), FailureLimit: ptr.To[int32](1), Interval: &metav1.Duration{Duration: 30 * time.Second},
		MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Max: ptr.To(intstr.FromString("0.01"))},
	}
	if edit != nil {
		edit(m)
	}
	return m
}

func TestSamplesLeadToAVerdict(t *testing.T) {
	onNoData := func(p rolloutv1alpha1.NoDataPolicy) func(*rolloutv1alpha1.CanaryMetric) {
		return func(m *rolloutv1alpha1.CanaryMetric) { m.NoData = p }
	}
	good, bad := Of(0.01), Of(0.2)
	none := Sample{Kind: NoData, Message: "the query gives nothing"}
	fault := Sample{Kind: Fault, Message: "answered 400"}
	for name, tt := range map[string]struct {
		edit    func(*rolloutv1alpha1.CanaryMetric)
		samples []Sample
		want    Outcome
		message string
	}{
		"before the first sample it waits":               {nil, nil, Wait, "metric errors: waiting for the first sample"},
		"enough good samples in a row pass":              {nil, []Sample{good, good}, Passed, "metric errors is 0.01, wanted at most 0.01; samples in range: 2"},
		"too few wait":                                   {nil, []Sample{good}, Wait, "metric errors is 0.01, wanted at most 0.01; samples in range: 1 of 2, out of range: 0, tolerated: 1"},
		"a bad one begins the row anew":                  {nil, []Sample{good, bad, good}, Wait, "metric errors is 0.01, wanted at most 0.01; samples in range: 1 of 2, out of range: 1, tolerated: 1"},
		"and what is tolerated does not keep it":         {nil, []Sample{good, bad, good, good}, Passed, "metric errors is 0.01, wanted at most 0.01; samples in range: 2"},
		"one more than tolerated fails":                  {nil, []Sample{bad, good, bad}, Failed, "metric errors is 0.2, wanted at most 0.01; samples out of range: 2, tolerated: 1"},
		"by default one good sample is enough":           {func(m *rolloutv1alpha1.CanaryMetric) { m.Count = nil }, []Sample{good}, Passed, "metric errors is 0.01, wanted at most 0.01; samples in range: 1"},
		"by default the first bad one fails":             {func(m *rolloutv1alpha1.CanaryMetric) { m.FailureLimit = nil }, []Sample{bad}, Failed, "metric errors is 0.2, wanted at most 0.01; samples out of range: 1, tolerated: 0"},
		"no data waits by default, and keeps the row":    {nil, []Sample{good, none}, Wait, "metric errors has no value (the query gives nothing), wanted at most 0.01; samples in range: 1 of 2, out of range: 0, tolerated: 1"},
		"no data can fail":                               {onNoData(rolloutv1alpha1.FailOnNoData), []Sample{none, none}, Failed, "metric errors has no value (the query gives nothing), wanted at most 0.01; samples out of range: 2, tolerated: 1"},
		"no data can pass":                               {onNoData(rolloutv1alpha1.IgnoreNoData), []Sample{none, none}, Passed, "metric errors has no value (the query gives nothing), wanted at most 0.01; samples in range: 2"},
		"NaN is no data":                                 {nil, []Sample{Of(math.NaN())}, Wait, "metric errors has no value (the query gives NaN), wanted at most 0.01; samples in range: 0 of 2, out of range: 0, tolerated: 1"},
		"infinity is a number":                           {nil, []Sample{Of(math.Inf(1))}, Wait, "metric errors is +Inf, wanted at most 0.01; samples in range: 0 of 2, out of range: 1, tolerated: 1"},
		"a fault never fails":                            {onNoData(rolloutv1alpha1.FailOnNoData), []Sample{fault, fault, fault}, Wait, "metric errors has no value (answered 400), wanted at most 0.01; samples in range: 0 of 2, out of range: 0, tolerated: 1"},
		"a fault never passes":                           {onNoData(rolloutv1alpha1.IgnoreNoData), []Sample{fault, fault, fault}, Wait, "metric errors has no value (answered 400), wanted at most 0.01; samples in range: 0 of 2, out of range: 0, tolerated: 1"},
		"a fault keeps the row":                          {nil, []Sample{good, fault, good}, Passed, "metric errors is 0.01, wanted at most 0.01; samples in range: 2"},
		"without a range it waits for whoever wrote it":  {func(m *rolloutv1alpha1.CanaryMetric) { m.MetricsRange = nil }, []Sample{bad, bad, bad}, Wait, "metric errors: metricsRange: give min, max or both"},
		"a metric that has passed is judged by the plan": {func(m *rolloutv1alpha1.CanaryMetric) { m.FailureLimit = ptr.To[int32](9) }, []Sample{bad, bad, bad, good, good}, Passed, "metric errors is 0.01, wanted at most 0.01; samples in range: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			m := belowOnePercent(tt.edit)
			var sofar *rolloutv1alpha1.MetricStatus
			for _, s := range tt.samples {
				sofar = ptr.To(Count(m, sofar, s, noon))
			}
			if diff := cmp.Diff(Verdict{tt.want, tt.message}, Judge(m, sofar)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDue(t *testing.T) {
	m := belowOnePercent(nil)
	sofar := Count(m, nil, Sample{Kind: Fault}, noon)
	for name, tt := range map[string]struct {
		sofar *rolloutv1alpha1.MetricStatus
		now   time.Time
		want  time.Duration
	}{
		"the first sample is due at once":            {nil, noon, 0},
		"so is one after a status without a time":    {&rolloutv1alpha1.MetricStatus{Name: "errors"}, noon, 0},
		"the next one is due after the interval":     {&sofar, noon.Add(10 * time.Second), 20 * time.Second},
		"one that is late is due at once":            {&sofar, noon.Add(time.Hour), 0},
		"a clock that went back does not stop it":    {&sofar, noon.Add(-time.Second), 31 * time.Second},
		"at the end of the interval, it is just due": {&sofar, noon.Add(30 * time.Second), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Due(m, tt.sofar, tt.now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := Interval(&rolloutv1alpha1.CanaryMetric{}); got != DefaultInterval {
		t.Errorf("a metric that predates the default has interval %s, want %s", got, DefaultInterval)
	}
	if got := Interval(&rolloutv1alpha1.CanaryMetric{Interval: &metav1.Duration{Duration: time.Millisecond}}); got != time.Second {
		t.Errorf("an interval that is too short is %s, want %s", got, time.Second)
	}
}

func TestRangeOf(t *testing.T) {
	text, whole := func(s string) *intstr.IntOrString { return ptr.To(intstr.FromString(s)) }, func(i int) *intstr.IntOrString { return ptr.To(intstr.FromInt(i)) }
	for name, tt := range map[string]struct {
		min, max *intstr.IntOrString
		want     string
		in, out  []float64
		fails    string
	}{
		"both ends":                       {whole(1), text("2.5"), "1 to 2.5", []float64{1, 2, 2.5}, []float64{0.99, 2.51, math.NaN()}, ""},
		"only the lower":                  {text("-.5"), nil, "at least -0.5", []float64{-0.5, math.Inf(1)}, []float64{-0.51}, ""},
		"only the upper":                  {nil, text("1e-7"), "at most 1e-07", []float64{0, -1}, []float64{0.001}, ""},
		"a string may be a whole number":  {text("+3"), text("3"), "3 to 3", []float64{3}, []float64{2, 4}, ""},
		"neither":                         {nil, nil, "", nil, nil, "give min, max or both"},
		"a percentage is not a number":    {text("5%"), nil, "", nil, nil, `metricsRange.min: "5%" is not a number`},
		"NaN is not a number":             {nil, text("NaN"), "", nil, nil, `metricsRange.max: "NaN"`},
		"infinity is not a number":        {nil, text("inf"), "", nil, nil, `metricsRange.max: "inf"`},
		"beyond what can be counted":      {nil, text("1e999"), "", nil, nil, `metricsRange.max: "1e999"`},
		"hexadecimal is not decimal":      {nil, text("0x10"), "", nil, nil, `metricsRange.max: "0x10"`},
		"ends that leave nothing between": {whole(2), whole(1), "", nil, nil, "min 2 is above max 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := RangeOf(&rolloutv1alpha1.MetricsExpectedRange{Min: tt.min, Max: tt.max})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("got %v and error %v, want an error with %q", got, err, tt.fails)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Fatalf("got %v and error %v, want %s", got, err, tt.want)
			}
			for _, v := range tt.in {
				if !got.Holds(v) {
					t.Errorf("%v is not in %s", v, got)
				}
			}
			for _, v := range tt.out {
				if got.Holds(v) {
					t.Errorf("%v is in %s", v, got)
				}
			}
		})
	}
	if _, err := RangeOf(nil); err == nil {
		t.Error("an absent range is a range")
	}
}

// However samples come, a metric fails exactly when more of them were bad than it tolerates, and passes only after a row of
// good ones.
func TestVerdictsFollowTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := belowOnePercent(func(m *rolloutv1alpha1.CanaryMetric) {
			m.Count = ptr.To(rapid.Int32Range(1, 4).Draw(t, "count"))
			m.FailureLimit = ptr.To(rapid.Int32Range(0, 3).Draw(t, "failureLimit"))
		})
		var sofar *rolloutv1alpha1.MetricStatus
		var row, bad int32
		for _, isGood := range rapid.SliceOf(rapid.Bool()).Draw(t, "samples") {
			value := 0.5
			if isGood {
				value, row = 0.005, row+1
			} else {
				row, bad = 0, bad+1
			}
			sofar = ptr.To(Count(m, sofar, Of(value), noon))
			want := Wait
			if bad > *m.FailureLimit {
				want = Failed
			} else if row >= *m.Count {
				want = Passed
			}
			if got := Judge(m, sofar); got.Outcome != want {
				t.Fatalf("got %v, want %s", got, want)
			}
		}
	})
}
