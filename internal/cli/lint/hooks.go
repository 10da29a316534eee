// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"net/url"
	"strings"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/measure"
)

var (
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
		if _, err := measure.RangeOf(m.MetricsRange); err != nil {
			ranges(at, err)
		}
		at.at("templateRef.name").text(m.TemplateRef.Name, 253, nil, "")
		at.at("templateRef.kind").oneOf(m.TemplateRef.Kind, true, rolloutv1alpha1.MetricTemplateKind)
		at.at("templateRef.apiVersion").oneOf(m.TemplateRef.APIVersion, true, rolloutv1alpha1.GroupVersion.String())
		at.at("count").between(m.Count, 1, maxInt32)
		at.at("failureLimit").between(m.FailureLimit, 0, maxInt32)
		at.at("noData").oneOf(string(m.NoData), true,
			string(rolloutv1alpha1.WaitOnNoData), string(rolloutv1alpha1.FailOnNoData), string(rolloutv1alpha1.IgnoreNoData))
	}
}

// ranges reports what is wrong with a range: each of several errors names its own field.
func ranges(at place, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		field, what, _ := strings.Cut(line, ": ")
		at.at(field).report(nil, "%s", what)
	}
}

// Template is what is wrong with a MetricTemplate.
func Template(t *rolloutv1alpha1.MetricTemplate) []Finding {
	var found []Finding
	name(t.Name, &found)
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
