// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// soundRolloutTrait has nothing wrong with it, and something of everything; every case spoils one thing.
const soundRolloutTrait = `
apiVersion: standard.oam.dev/v1alpha1
kind: RolloutTrait
metadata:
  generateName: sound-
  namespace: default
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web-v2}
  sourceRef:
  - {apiVersion: apps/v1, kind: Deployment, name: web-v1}
  rolloutPlan:
    rolloutBatches:
    - replicas: 1
    - replicas: 20%
    - replicas: 12.5%
      maxUnavailable: 1
      instanceInterval: 5
      batchRolloutWebhooks:
      - {type: pre-batch-rollout, name: gate, url: "https://checks.example.com/gate"}
      canaryMetric:
      - {name: latency, metricsRange: {max: "0.25"}, templateRef: {name: latency}}
    - {}
    batchPartition: 1
    rolloutWebhooks:
    - {type: initialize-rollout, name: ticket, url: "https://tickets.example.com/open", expectedStatus: [201], metadata: {team: web}}
    canaryMetric:
    - {name: errors, interval: 30s, metricsRange: {min: 0, max: "0.01"}, templateRef: {name: errors, namespace: metrics}}
`

// The places of the sound object that cases change.
const (
	plan    = "spec.rolloutPlan"
	batches = plan + ".rolloutBatches"
	hooks   = plan + ".rolloutWebhooks"
	metrics = plan + ".canaryMetric"
)

func batch(replicas any) object { return object{"replicas": replicas} }

// plus returns an object with one more value, or with another.
func plus(base object, key string, value any) object {
	base = maps.Clone(base)
	base[key] = value
	return base
}

func hook(kind, name string) object {
	return object{"type": kind, "name": name, "url": "http://hooks.test/" + name}
}

func metric(name string) object {
	return object{"name": name, "metricsRange": object{"max": int64(1)}, "templateRef": object{"name": name}}
}

func repeat(n int, item func(i int) any) list {
	all := list{}
	for i := range n {
		all = append(all, item(i))
	}
	return all
}

func numbered(n int, item func(name string) object) list {
	return repeat(n, func(i int) any { return item(fmt.Sprint("n-", i)) })
}

func TestTheSoundRolloutTraitIsAccepted(t *testing.T) {
	if err := untyped.Create(t.Context(), manifest(t, soundRolloutTrait)); err != nil {
		t.Fatalf("every case starts from this object, so it must be valid: %v", err)
	}
}

// edgesOfARolloutTrait are changes of the sound object that are just allowed.
func edgesOfARolloutTrait() map[string][]spoil {
	fullBatch := object{"replicas": "0.000001%", "maxUnavailable": "100%", "instanceInterval": int64(2147483647),
		"batchRolloutWebhooks": numbered(20, func(name string) object { return hook("post-batch-rollout", name) }), "canaryMetric": numbered(20, metric)}
	return map[string][]spoil{
		"nothing but a target":                       {{"-spec.sourceRef", nil}, {plan, object{}}},
		"no source, in an empty list":                {{"spec.sourceRef", list{}}},
		"a scale":                                    {{"-spec.sourceRef", nil}, {plan, object{"targetSize": int64(7), "numBatches": int64(3)}}},
		"a scale to nothing":                         {{"-spec.sourceRef", nil}, {plan, object{"targetSize": int64(0)}}},
		"as many equal batches as there may be":      {{"-" + batches, nil}, {plan + ".numBatches", int64(1000)}},
		"the number of the batches besides them":     {{plan + ".numBatches", int64(4)}},
		"a number without batches, in an empty list": {{batches, list{}}, {plan + ".numBatches", int64(7)}},
		"a partition beyond the batches":             {{plan + ".batchPartition", int64(99)}},
		"one batch of all":                           {{batches, list{object{}}}},
		"one batch that has a share":                 {{batches, list{batch("50%")}}},
		"first batches without pods":                 {{batches, list{batch(int64(0)), batch("0%"), batch(int64(4))}}},
		"shares of almost all":                       {{batches, list{batch("33.333333%"), batch("66.666666%"), batch("1%")}}},
		"a last batch with a share of all":           {{batches, list{batch("99%"), batch("100%")}}},
		"a last batch of a number after shares":      {{batches, list{batch(int64(1)), batch("20%"), batch("50%"), batch(int64(2))}}},
		"numbers as large as they may be":            {{batches, list{batch(int64(2147483646)), batch(int64(1))}}},
		"as much as there may be of everything":      {{batches, repeat(100, func(int) any { return fullBatch })}},
		"a hook of the same name for each type": {{hooks, list{hook("initialize-rollout", "a"), hook("pre-batch-rollout", "a"),
			hook("post-batch-rollout", "a"), hook("finalize-rollout", "a")}}},
		"a hook with all that it can have": {{hooks, list{object{"type": "finalize-rollout", "name": long(63), "url": "HTTP://[::1]:8080/?a=b%20c", "method": "GET",
			"expectedStatus": list{int64(100), int64(599)}, "metadata": object{"": "", "a": long(1024)}, "timeoutSeconds": int64(300)}}}},
		"a metric with all that it can have": {{metrics, list{object{"name": "a", "interval": "1h2m3.5s", "metricsRange": object{"min": "-0.5", "max": "+00.50"},
			"templateRef": object{"apiVersion": "standard.oam.dev/v1alpha1", "kind": "MetricTemplate", "name": "a"}, "count": int64(3), "failureLimit": int64(2), "noData": "Fail"}}}},
		"a range of one number":      {{metrics, list{plus(metric("a"), "metricsRange", object{"min": int64(-5), "max": "-5.0"})}}},
		"a template of empty names":  {{metrics, list{plus(metric("a"), "templateRef", object{"apiVersion": "", "kind": "", "name": "a", "namespace": ""})}}},
		"an interval of one second":  {{metrics, list{plus(metric("a"), "interval", "1000ms")}}},
		"a kind of the core group":   {{"-spec.sourceRef", nil}, {"spec.targetRef", object{"apiVersion": "v1", "kind": "ReplicationController", "name": "web.a-1"}}},
		"a deadline that never ends": {{plan + ".progressDeadlineSeconds", int64(0)}},
	}
}

func TestEdgeCasesOfARolloutTraitAreAccepted(t *testing.T) {
	cases := edgesOfARolloutTrait()
	for _, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			trait := manifest(t, soundRolloutTrait)
			for _, s := range cases[sentence] {
				s.apply(t, trait)
			}
			if err := untyped.Create(t.Context(), trait); err != nil {
				t.Errorf("creating: %v", err)
			}
		})
	}
}

func TestAbsentFieldsOfARolloutTraitGetTheirDefaults(t *testing.T) {
	empty := object{"rolloutStrategy": nil, "targetSize": nil, "numBatches": nil, "rolloutBatches": nil, "batchPartition": nil, "paused": nil, "revertOnDelete": nil,
		"rolloutWebhooks": nil, "canaryMetric": nil, "progressDeadlineSeconds": nil, "failurePolicy": nil}
	want := object{"rolloutStrategy": "IncreaseFirst", "progressDeadlineSeconds": int64(600), "failurePolicy": "Fail"}
	hooked := object{"type": "pre-batch-rollout", "name": "a", "url": "http://a.test", "method": "POST", "timeoutSeconds": int64(10)}
	measured := object{"name": "a", "templateRef": object{"name": "a"}, "metricsRange": object{"max": int64(1)},
		"interval": "60s", "count": int64(1), "failureLimit": int64(0), "noData": "Wait"}
	for sentence, test := range map[string]struct{ plan, want object }{
		"nothing is given":   {object{}, want},
		"everything is null": {empty, want},
		"hooks and metrics": {
			object{"rolloutBatches": list{object{"replicas": nil, "maxUnavailable": nil,
				"batchRolloutWebhooks": list{object{"type": "pre-batch-rollout", "name": "a", "url": "http://a.test", "method": nil, "timeoutSeconds": nil}},
				"canaryMetric":         list{plus(plus(metric("a"), "interval", nil), "noData", nil)}}}},
			plus(want, "rolloutBatches", list{object{"batchRolloutWebhooks": list{hooked}, "canaryMetric": list{measured}}})},
	} {
		t.Run(sentence, func(t *testing.T) {
			trait := manifest(t, soundRolloutTrait)
			spoil{plan, test.plan}.apply(t, trait)
			if err := untyped.Create(t.Context(), trait); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if diff := cmp.Diff(test.want, at(t, trait, "spec", "rolloutPlan")); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiscoveryShowsTheKindsOfARollout(t *testing.T) {
	checkResources(t, "standard.oam.dev/v1alpha1", []metav1.APIResource{
		{Name: "metrictemplates", SingularName: "metrictemplate", Namespaced: true, Kind: "MetricTemplate"},
		{Name: "rollouttraits", SingularName: "rollouttrait", Namespaced: true, Kind: "RolloutTrait", ShortNames: []string{"rt"}},
		{Name: "rollouttraits/status", Namespaced: true, Kind: "RolloutTrait"},
	})
}

// reportedRollout is the status of a rollout that is in its second batch.
const reportedRollout = `{"status":{"observedGeneration":1,"rolloutOriginalSize":10,"rolloutTargetSize":10,"targetGeneration":"abc","rollingState":"rollingInBatches",` +
	`"batchRollingState":"batchVerifying","currentBatch":1,"upgradedReplicas":3,"upgradedReadyReplicas":2,"message":"waits","waitingFor":"Pods","run":1,` +
	`"running":{"mode":"TwoObjects","targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web-v2"},"rolloutBatches":[{"replicas":1},{"replicas":"20%"},{}]},` +
	`"conditions":[{"type":"Paused","status":"False","reason":"NotAsked","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}],"hooks":[{"key":"k","name":"gate","passed":true}],"metrics":[{"name":"errors","value":"0.001"}]}}`

func TestListsShowTheColumnsOfRolloutTraits(t *testing.T) {
	trait := named(t, soundRolloutTrait, newNamespace(t), "columns")
	if err := untyped.Create(t.Context(), trait); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), trait, client.RawPatch(types.MergePatchType, []byte(reportedRollout))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	columns, cells := readTable(t, trait)
	want := []column{
		{"Name", "string", 0}, {"TARGET", "string", 0}, {"UPGRADED", "integer", 0}, {"READY", "integer", 0}, {"BATCH-STATE", "string", 0},
		{"ROLLING-STATE", "string", 0}, {"AGE", "date", 0}, {"BATCH", "integer", 1}, {"MESSAGE", "string", 1},
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	cells = slices.Delete(cells, 6, 7) // the age is not ours to say
	wantCells := []any{"columns", "web-v2", int64(3), int64(2), "batchVerifying", "rollingInBatches", int64(1), "waits"}
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells without the age (-want +got):\n%s", diff)
	}
}
