// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Each has nothing wrong with it, and something of everything; every case spoils one thing.
const (
	soundApplication = `
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata:
  generateName: sound-
  namespace: default
spec:
  components:
  - name: web
    type: webservice
    properties: {image: "web:1", port: 8080, env: [{name: A, value: b}], weight: 0.5, debug: false, note: null}
    traits:
    - {type: scaler, properties: {replicas: 3}}
    - type: expose
  - name: jobs
    type: worker
  rolloutPlan:
    rolloutBatches: [{replicas: 10%}, {replicas: 20%}, {replicas: 30%}, {}]
    batchPartition: 1
    rolloutWebhooks:
    - {type: initialize-rollout, name: ticket, url: "https://tickets.example.com/open", metadata: {team: web}}
    canaryMetric:
    - {name: errors, interval: 30s, metricsRange: {min: 0, max: "0.01"}, templateRef: {name: errors}}
`
	soundAppRollout = `
apiVersion: core.oam.dev/v1beta1
kind: AppRollout
metadata:
  generateName: sound-
  namespace: default
spec:
  targetAppRevisionName: shop-v2
  sourceAppRevisionName: shop-v1
  componentList: [web]
  revertOnDelete: true
  rolloutPlan:
    rolloutBatches: [{replicas: 10%}, {replicas: 20%}, {replicas: 30%}, {}]
    batchPartition: 1
`
	soundComponentDefinition = `
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata:
  generateName: sound-
  namespace: default
  annotations: {definition.oam.dev/description: "a service that is stateless"}
spec:
  workload:
    type: deployments.apps
    definition: {apiVersion: apps/v1, kind: Deployment}
  schematic:
    cue:
      template: |
        output: {apiVersion: "apps/v1", kind: "Deployment"}
        parameter: {image: string}
  status:
    healthPolicy: "isHealth: context.output.status.readyReplicas > 0"
    customStatus: 'message: "fine"'
  childResourceKinds:
  - {apiVersion: apps/v1, kind: ReplicaSet, selector: {a: b}}
  podSpecPath: spec.template.spec
  revisionLabel: app.oam.dev/revision
  extension: {template: "", more: {deep: [1, two]}}
`
	soundTraitDefinition = `
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata:
  generateName: sound-
  namespace: default
  annotations: {definition.oam.dev/description: "how many"}
spec:
  appliesToWorkloads: [deployments.apps, webservice, "*"]
  conflictsWith: [hpa]
  podDisruptive: false
  workloadRefPath: spec.workloadRef
  definitionRef: {name: manualscalertraits.core.oam.dev, version: v1alpha2}
  schematic:
    cue:
      template: |
        patch: spec: replicas: parameter.replicas
        parameter: {replicas: *1 | int}
  status: {customStatus: 'message: "fine"', healthPolicy: "isHealth: true"}
`
	soundApplicationRevision = `
apiVersion: core.oam.dev/v1beta1
kind: ApplicationRevision
metadata:
  generateName: sound-
  namespace: default
  labels: {app.oam.dev/name: shop, app.oam.dev/app-revision-hash: abc}
spec:
  revision: 2
  application:
    apiVersion: core.oam.dev/v1beta1
    kind: Application
    metadata: {name: shop, namespace: default, labels: {team: shop}, annotations: {a: b}}
    spec:
      components:
      - {name: web, type: webservice, properties: {image: "web:1", note: null}}
    status: {}
  componentDefinitions:
    webservice:
      metadata: {name: webservice}
      spec:
        workload: {definition: {apiVersion: apps/v1, kind: Deployment}}
        schematic: {cue: {template: "output: {}"}}
  traitDefinitions:
    scaler:
      metadata: {name: scaler}
      spec: {schematic: {cue: {template: "patch: {}"}}}
  componentRevisions:
  - name: web
    revision: web-v1
    revisionHash: abc
    workload: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, template: {fromTheFuture: [null]}}}
    resources:
    - {name: service, trait: expose, object: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}}
`
)

// soundOnes are the sound objects by their kinds.
var soundOnes = map[string]string{"Application": soundApplication, "AppRollout": soundAppRollout, "ComponentDefinition": soundComponentDefinition,
	"TraitDefinition": soundTraitDefinition, "ApplicationRevision": soundApplicationRevision}

// TestSoundObjectsOfTheApplicationLayerComeBackAsTheyWereSent: nothing that a user or a snapshot says may be lost or added, but
// for the defaults of a plan.
func TestSoundObjectsOfTheApplicationLayerComeBackAsTheyWereSent(t *testing.T) {
	for kind, sound := range soundOnes {
		t.Run(kind, func(t *testing.T) {
			sent := named(t, sound, newNamespace(t), "sound")
			want := at(t, respelled(t, sent), "spec").(object)
			if err := untyped.Create(t.Context(), sent); err != nil {
				t.Fatalf("every case starts from this object, so it must be valid: %v", err)
			}
			read := sent.DeepCopy()
			if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(sent), read); err != nil {
				t.Fatalf("reading: %v", err)
			}
			got := at(t, read, "spec").(object)
			delete(want, "rolloutPlan")
			delete(got, "rolloutPlan")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("spec (-sent +read):\n%s", diff)
			}
		})
	}
}

// respelled has the numbers as the API server gives them.
func respelled(t *testing.T, set *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	text, err := set.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	again := &unstructured.Unstructured{}
	if err := again.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return again
}

func TestDiscoveryShowsTheKindsOfTheApplicationLayer(t *testing.T) {
	checkResources(t, "core.oam.dev/v1beta1", []metav1.APIResource{
		{Name: "applicationrevisions", SingularName: "applicationrevision", Namespaced: true, Kind: "ApplicationRevision", ShortNames: []string{"apprev"}},
		{Name: "applications", SingularName: "application", Namespaced: true, Kind: "Application", ShortNames: []string{"app"}},
		{Name: "applications/status", Namespaced: true, Kind: "Application"},
		{Name: "approllouts", SingularName: "approllout", Namespaced: true, Kind: "AppRollout", ShortNames: []string{"approllout"}},
		{Name: "approllouts/status", Namespaced: true, Kind: "AppRollout"},
		{Name: "componentdefinitions", SingularName: "componentdefinition", Namespaced: true, Kind: "ComponentDefinition", ShortNames: []string{"comp"}},
		{Name: "traitdefinitions", SingularName: "traitdefinition", Namespaced: true, Kind: "TraitDefinition", ShortNames: []string{"trait"}},
	})
}

func TestListsShowTheColumnsOfTheApplicationLayer(t *testing.T) {
	for kind, test := range map[string]struct {
		status  string
		columns []column
		cells   []any
	}{
		"Application": {
			`{"status":{"phase":"rollingOut","healthyServices":"1/2","latestRevision":{"name":"shop-v2","revision":2,"revisionHash":"abc"},` +
				`"rollout":{"rollingState":"rollingInBatches","batchRollingState":"batchVerifying","currentBatch":1,"upgradedReplicas":3,"upgradedReadyReplicas":2,` +
				`"lastTargetAppRevision":"shop-v2","LastSourceAppRevision":"shop-v1","component":"web"},` +
				`"services":[{"name":"web","workloadDefinition":{"apiVersion":"apps/v1","kind":"Deployment"},"healthy":true,"message":"fine"}],` +
				`"appliedResources":[{"apiVersion":"v1","kind":"Service","name":"web","namespace":"a","uid":"1","component":"web"}],` +
				`"conditions":[{"type":"Ready","status":"False","reason":"RollingOut","message":"waits for web","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			[]column{{"Name", "string", 0}, {"COMPONENT", "string", 0}, {"TYPE", "string", 0}, {"PHASE", "string", 0}, {"HEALTHY", "string", 0},
				{"REVISION", "integer", 0}, {"STATUS", "string", 0}, {"AGE", "date", 0}, {"BATCH-STATE", "string", 1}, {"ROLLING-STATE", "string", 1}},
			[]any{"columns", "web", "webservice", "rollingOut", "1/2", int64(2), "waits for web", nil, "batchVerifying", "rollingInBatches"},
		},
		"AppRollout": {
			reportedRollout,
			[]column{{"Name", "string", 0}, {"TARGET", "string", 0}, {"UPGRADED", "integer", 0}, {"READY", "integer", 0}, {"BATCH-STATE", "string", 0},
				{"ROLLING-STATE", "string", 0}, {"AGE", "date", 0}, {"BATCH", "integer", 1}, {"MESSAGE", "string", 1}},
			[]any{"columns", "shop-v2", int64(3), int64(2), "batchVerifying", "rollingInBatches", nil, int64(1), "waits"},
		},
		"ApplicationRevision": {
			"",
			[]column{{"Name", "string", 0}, {"APPLICATION", "string", 0}, {"REVISION", "integer", 0}, {"HASH", "string", 0}, {"COMPONENTS", "string", 0}, {"AGE", "date", 0}},
			[]any{"columns", "shop", int64(2), "abc", "web-v1", nil},
		},
		"ComponentDefinition": {
			"",
			[]column{{"Name", "string", 0}, {"WORKLOAD-KIND", "string", 0}, {"DESCRIPTION", "string", 0}, {"AGE", "date", 0}},
			[]any{"columns", "Deployment", "a service that is stateless", nil},
		},
		"TraitDefinition": {
			"",
			[]column{{"Name", "string", 0}, {"APPLIES-TO", "string", 0}, {"RESTARTS-PODS", "boolean", 0}, {"DESCRIPTION", "string", 0}, {"AGE", "date", 0}},
			[]any{"columns", `["deployments.apps","webservice","*"]`, false, "how many", nil},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			shown := named(t, soundOnes[kind], newNamespace(t), "columns")
			if err := untyped.Create(t.Context(), shown); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if test.status != "" {
				if err := untyped.Status().Patch(t.Context(), shown, client.RawPatch(types.MergePatchType, []byte(test.status))); err != nil {
					t.Fatalf("reporting the status: %v", err)
				}
			}
			columns, cells := readTable(t, shown)
			if diff := cmp.Diff(test.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			for i := range columns {
				if columns[i].Name == "AGE" {
					cells[i] = nil // not ours to say
				}
			}
			if diff := cmp.Diff(test.cells, cells); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

// renderedWeb is the component revision of the sound revision, with one value of the workload's spec changed, or all of it, and
// with the spec of the service under a name.
func renderedWeb(key string, value any, service string) list {
	spec := object{"replicas": int64(1), "template": object{"fromTheFuture": list{nil}}}
	if key == "spec" {
		spec = value.(object)
	} else {
		spec[key] = value
	}
	return list{object{"name": "web", "revision": "web-v1", "revisionHash": "abc",
		"workload":  object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "web"}, "spec": spec},
		"resources": list{object{"name": "service", "trait": "expose", "object": object{"apiVersion": "v1", "kind": "Service", service: object{"ports": list{object{"port": int64(80)}}}}}}}}
}

// TestARevisionIsNotChanged: in no part, also not where the server knows no fields.
func TestARevisionIsNotChanged(t *testing.T) {
	namespace := newNamespace(t)
	const rule = "must not be changed: a revision is what was deployed"
	cases := map[string]spoil{
		"its number":                             {"spec.revision", int64(3)},
		"a property":                             {"spec.application.spec.components", list{object{"name": "web", "type": "webservice", "properties": object{"image": "web:2", "note": nil}}}},
		"another member in the place of one":     {"spec.application.metadata.labels", object{"group": "shop"}},
		"a member goes":                          {"-spec.application.metadata.labels.team", nil},
		"a member comes":                         {"spec.application.metadata.labels.more", "a"},
		"a template":                             {"spec.componentDefinitions.webservice.spec.schematic.cue.template", "output: {a: 1}"},
		"another definition in the place of one": {"spec.traitDefinitions", object{"other": object{"metadata": object{"name": "scaler"}, "spec": object{"schematic": object{"cue": object{"template": "patch: {}"}}}}}},
		"another part of a definition":           {"spec.traitDefinitions.scaler", object{"metadata": object{"name": "scaler"}, "speck": object{}}},
		"another part of the application": {"spec.application", object{"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "speck": object{}, "status": object{},
			"metadata": object{"name": "shop", "namespace": "default", "labels": object{"team": "shop"}, "annotations": object{"a": "b"}}}},
		"definitions go":             {"-spec.traitDefinitions", nil},
		"component revisions go":     {"-spec.componentRevisions", nil},
		"a part of a workload":       {"spec.componentRevisions", renderedWeb("template", object{"fromTheFuture": list{int64(1)}}, "spec")},
		"another part of a workload": {"spec.componentRevisions", renderedWeb("spec", object{"replicas": int64(1), "pods": object{"fromTheFuture": list{nil}}}, "spec")},
		"another part of a resource": {"spec.componentRevisions", renderedWeb("replicas", int64(1), "stringData")},
	}
	for i, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			revision := named(t, soundApplicationRevision, namespace, fmt.Sprint("kept-", i))
			if err := untyped.Create(t.Context(), revision); err != nil {
				t.Fatalf("creating: %v", err)
			}
			cases[sentence].apply(t, revision)
			err := untyped.Update(t.Context(), revision)
			checkCauses(t, err, "spec", rule)
		})
	}
	t.Run("but for its labels, and to the same", func(t *testing.T) {
		revision := named(t, soundApplicationRevision, namespace, "kept")
		if err := untyped.Create(t.Context(), revision); err != nil {
			t.Fatalf("creating: %v", err)
		}
		spoil{"spec.componentRevisions", renderedWeb("replicas", int64(1), "spec")}.apply(t, revision)
		revision.SetLabels(map[string]string{"a": "b"})
		if err := untyped.Update(t.Context(), revision); err != nil {
			t.Errorf("updating: %v", err)
		}
	})
}
