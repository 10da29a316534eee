// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/measure"
)

var (
	ends = regexp.MustCompile(`^[-+]?[0-9]+([.][0-9]+)?$`)

	allHooks = []string{string(rolloutv1alpha1.InitializeRolloutHook), string(rolloutv1alpha1.PreBatchRolloutHook),
		string(rolloutv1alpha1.PostBatchRolloutHook), string(rolloutv1alpha1.FinalizeRolloutHook)}
	batchHooks = []string{string(rolloutv1alpha1.PreBatchRolloutHook), string(rolloutv1alpha1.PostBatchRolloutHook)}
)

// metadata that a webhook sends along: how many entries, and how long each may be.
const (
	entries = 64
	entry   = 1024
)

func checkHooks(p place, hooks []rolloutv1alpha1.RolloutWebhook, types []string) {
	p.atMost(len(hooks), 20)
	names := map[rolloutv1alpha1.HookType][]string{}
	for i, h := range hooks {
		at := p.item(i)
		at.at("type").oneOf(string(h.Type), false, types...)
		at.at("name").text(h.Name, 63, nil, "")
		p.once(i, h.Name, names[h.Type], " for a type")
		names[h.Type] = append(names[h.Type], h.Name)
		address(at.at("url"), h.URL)
		at.at("method").oneOf(h.Method, true, "POST", "GET", "PUT")
		at.at("expectedStatus").atMost(len(h.ExpectedStatus), 20)
		for j, status := range h.ExpectedStatus {
			at.at("expectedStatus").item(j).between(&status, 100, 599)
		}
		at.at("timeoutSeconds").between(h.TimeoutSeconds, 1, 300)
		if h.Metadata == nil {
			continue
		}
		at.at("metadata").atMost(len(*h.Metadata), entries)
		for key, value := range *h.Metadata {
			if len([]rune(value)) > entry {
				at.at("metadata").report(key, "use at most %d characters for its value", entry)
			}
		}
	}
}

func address(p place, text string) {
	if text == "" {
		p.report(nil, "is missing")
		return
	}
	u, err := url.Parse(text)
	if len(text) > 2048 || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		p.report(text, "use a URL with http or https and a host, of at most 2048 characters, such as http://checks.default.svc/gate")
	}
}

func checkMetrics(p place, metrics []rolloutv1alpha1.CanaryMetric) {
	p.atMost(len(metrics), 20)
	var names []string
	for i, m := range metrics {
		at := p.item(i)
		at.at("name").text(m.Name, 63, nil, "")
		p.once(i, m.Name, names, "")
		names = append(names, m.Name)
		if m.Interval != nil && m.Interval.Duration < time.Second {
			at.at("interval").report(m.Interval.Duration.String(), "use a duration of at least 1s, such as 30s or 1m30s")
		}
		checkRange(at, m.MetricsRange)
		at.at("templateRef.name").text(m.TemplateRef.Name, 253, nil, "")
		at.at("templateRef.kind").oneOf(m.TemplateRef.Kind, true, rolloutv1alpha1.MetricTemplateKind)
		at.at("templateRef.apiVersion").oneOf(m.TemplateRef.APIVersion, true, rolloutv1alpha1.GroupVersion.String())
		at.at("count").between(m.Count, 1, maxInt32)
		at.at("failureLimit").between(m.FailureLimit, 0, maxInt32)
		at.at("noData").oneOf(string(m.NoData), true,
			string(rolloutv1alpha1.WaitOnNoData), string(rolloutv1alpha1.FailOnNoData), string(rolloutv1alpha1.IgnoreNoData))
	}
}

// end wants a number as the API takes it: without an exponent.
func end(p place, v *intstr.IntOrString) {
	if v != nil && v.Type == intstr.String && (len(v.StrVal) > 32 || !ends.MatchString(v.StrVal)) {
		p.report(v, "use a whole number, or a decimal number in quotes such as \"0.99\", of at most 32 characters")
	}
}

// checkRange asks the room that judges by the range, once its ends can be read.
func checkRange(at place, r *rolloutv1alpha1.MetricsExpectedRange) {
	before := len(*at.found)
	if r != nil {
		end(at.at("metricsRange.min"), r.Min)
		end(at.at("metricsRange.max"), r.Max)
	}
	if _, err := measure.RangeOf(r); err != nil && len(*at.found) == before {
		field, what, _ := strings.Cut(err.Error(), ": ")
		at.at(field).report(nil, "%s", what)
	}
}

// Template is what is wrong with a MetricTemplate.
func Template(t *rolloutv1alpha1.MetricTemplate) []Finding {
	var found []Finding
	name(t.ObjectMeta, &found)
	spec := place{"spec", &found}
	spec.at("provider.type").oneOf(string(t.Spec.Provider.Type), false, string(rolloutv1alpha1.PrometheusProvider), string(rolloutv1alpha1.WebProvider))
	address(spec.at("provider.address"), t.Spec.Provider.Address)
	if s := t.Spec.Provider.SecretRef; s != nil {
		spec.at("provider.secretRef.name").text(s.Name, 253, nil, "")
	}
	query := spec.at("query")
	query.text(t.Spec.Query, 8192, nil, "")
	if t.Spec.Query == "" {
		return found
	}
	// The first batch and a later one, for a query may ask which it is.
	for _, batch := range []int32{0, 1} {
		_, err := measure.Render(t, measure.Fields{Namespace: "shop", Name: "web", Target: "web-v2", TargetRevision: "6b9d4c7f58", Batch: batch, Interval: measure.DefaultInterval})
		if cause := err; cause != nil {
			if inner := errors.Unwrap(cause); inner != nil {
				cause = inner
			}
			query.report(nil, "%s", cause)
			break
		}
	}
	return found
}
