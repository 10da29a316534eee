// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/metric"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/test/prometheus"
)

const errorRate = `sum(rate(http_requests_total{app={{ .Target }}, code=~"5.."}[{{ .Interval }}]))
	/ sum(rate(http_requests_total{app={{ .Target }}}[{{ .Interval }}]))`

func says(a errand.Attempt[measure.Sample]) string { return fmt.Sprintf("%+v", a) }

// asker asks one server in the way of a rollout.
type asker struct {
	t        *testing.T
	client   *outbound.Client
	server   *prometheus.Server
	workload *prometheus.Workload
}

func newAsker(t *testing.T) *asker {
	t.Helper()
	program, err := prometheus.Find()
	if err != nil {
		t.Skip(err)
	}
	a := &asker{t: t}
	if a.workload, err = prometheus.StartWorkload(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.workload.Stop)
	if a.server, err = prometheus.Start(program, t.TempDir(), a.workload.Address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.server.Stop()
		if t.Failed() {
			t.Log(a.server.Log())
		}
	})
	if a.client, err = outbound.New(outbound.Options{AllowHosts: []string{"127.0.0.1"}, Clock: clock.RealClock{}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.client.Close)
	return a
}

func (a *asker) try(query, target string) errand.Attempt[measure.Sample] {
	a.t.Helper()
	template := &rolloutv1alpha1.MetricTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "errors"},
		Spec: rolloutv1alpha1.MetricTemplateSpec{
			Provider: rolloutv1alpha1.MetricProvider{Type: rolloutv1alpha1.PrometheusProvider, Address: a.server.URL},
			Query:    query,
		},
	}
	text, err := measure.Render(template, measure.Fields{Namespace: "shop", Name: "web", Target: target, TargetRevision: "web-1", Interval: 2 * time.Second})
	if err != nil {
		a.t.Fatal(err)
	}
	return metric.Errand(a.client, metric.Question{Key: "0", Provider: template.Spec.Provider, Query: text}).Try(a.t.Context())
}

// until asks until an attempt is as wanted, which takes as long as Prometheus needs.
func (a *asker) until(what, query, target string, wanted func(errand.Attempt[measure.Sample]) bool) errand.Attempt[measure.Sample] {
	a.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		attempt := a.try(query, target)
		if wanted(attempt) {
			return attempt
		}
		select {
		case <-a.server.Ended():
			a.t.Fatalf("%s: Prometheus has ended", what)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(end) {
			a.t.Fatalf("%s: the newest answer is %+v", what, attempt)
		}
	}
}

func TestAWorkloadIsJudgedByItsErrors(t *testing.T) {
	a := newAsker(t)
	a.workload.Fail("web", 0)
	a.workload.Fail(`we"ird\`, 100)
	value := func(want float64) func(errand.Attempt[measure.Sample]) bool {
		return func(got errand.Attempt[measure.Sample]) bool { return got == errand.Done(measure.Of(want)) }
	}
	canary := &rolloutv1alpha1.CanaryMetric{
		Name: "errors", Count: ptr.To[int32](2),
		MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Max: ptr.To(intstr.FromString("0.01"))},
	}
	var status *rolloutv1alpha1.MetricStatus
	judge := func(v float64) measure.Outcome {
		status = ptr.To(measure.Count(canary, status, measure.Of(v), time.Now()))
		return measure.Judge(canary, status).Outcome
	}

	a.until("no errors", errorRate, "web", value(0))
	if first, second := judge(0), judge(0); first != measure.Wait || second != measure.Passed {
		t.Errorf("two good samples: got %s and %s", first, second)
	}
	a.workload.Fail("web", 50)
	a.until("half of the requests fail", errorRate, "web", value(0.5))
	if got := judge(0.5); got != measure.Failed {
		t.Errorf("a bad sample: got %s", got)
	}
	a.workload.Fail("web", 0)
	a.until("no errors any more", errorRate, "web", value(0))
	a.until("a name that could end its string", errorRate, `we"ird\`, value(1))
}

func TestWhatPrometheusAnswersOtherThanANumber(t *testing.T) {
	a := newAsker(t)
	a.workload.Fail("web", 10)
	a.until("it is scraped", `sum(http_requests_total)`, "web", func(got errand.Attempt[measure.Sample]) bool {
		return got != errand.Done(measure.Sample{Kind: measure.NoData, Message: "the query gives nothing"}) && !strings.Contains(says(got), "no answer") && !strings.Contains(says(got), "503")
	})
	for query, want := range map[string]string{
		`http_requests_total{app="nobody"}`: "Kind:NoData Value:0 Message:the query gives nothing",
		`vector(0) / 0`:                     "Kind:NoData Value:0 Message:the query gives NaN",
		`vector(1) / 0`:                     "Kind:Measured Value:+Inf",
		`scalar(vector(3))`:                 "Kind:Measured Value:3",
		`http_requests_total`:               "Kind:Fault Value:0 Message:the query gives 2 numbers",
		`http_requests_total[1m]`:           "Kind:Fault Value:0 Message:the query gives a matrix",
		`"text"`:                            "Kind:Fault Value:0 Message:its answer is not a number from Prometheus",
		`sum(`:                              "Kind:Fault Value:0 Message:it answers 400 Bad Request: invalid parameter \"query\": 1:5: parse error",
		`http_requests_total * on(app) http_requests_total`:                  "Kind:Fault Value:0 Message:it answers 422 Unprocessable Entity: found duplicate series",
		`http_requests_total{app="{{ .Target }}-x", code!~{{ .Namespace }}}`: "Kind:NoData",
	} {
		if got := says(a.try(query, "web")); !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", query, got, want)
		}
	}
}

// A server that starts, or is gone, is asked again.
func TestAServerThatIsNotThereIsAskedAgain(t *testing.T) {
	a := newAsker(t)
	a.until("it is ready", `vector(1)`, "web", func(got errand.Attempt[measure.Sample]) bool { return got == errand.Done(measure.Of(1)) })
	a.server.Stop()
	want := errand.Again[measure.Sample]("it gives no answer: dial: connection refused", 0)
	if got := a.try(`vector(1)`, "web"); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
