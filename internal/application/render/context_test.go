// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/application/render"
)

func TestTheContextIsWhatTemplatesRead(t *testing.T) {
	const says = `
	name: context.name, app: context.appName, namespace: context.namespace
	appRevision: context.appRevision, number: context.appRevisionNum + 1, revision: context.revision
`
	request := render.Request{Context: context, Component: render.Component{
		Name: "web", Type: "mine", APIVersion: "v1", Kind: "Thing", Template: `output: {apiVersion: "v1", kind: "Thing", spec: {` + says + `}}` + "\n" + `outputs: side: {apiVersion: "v1", kind: "Side", spec: 1}`,
		Traits: []render.Trait{{Type: "seeing", Template: `outputs: seen: {apiVersion: "v1", kind: "Seen", spec: {` + says + `
	output: context.output.spec.name, outputs: context.outputs.side.spec}}`}},
	}}
	result, err := render.Evaluate(request, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "web", "app": "shop", "namespace": "default", "appRevision": "shop-v3", "number": int64(4), "revision": "web-v2"}
	if diff := cmp.Diff(any(want), result.Workload["spec"]); diff != "" {
		t.Errorf("a component (-want +got):\n%s", diff)
	}
	want["output"], want["outputs"] = "web", int64(1)
	if diff := cmp.Diff(any(want), result.Extras[1].Object["spec"]); diff != "" {
		t.Errorf("a trait (-want +got):\n%s", diff)
	}
}

// What users write and what templates say are blamed apart: conditions are told by it.
func TestWhoIsToMendAProblem(t *testing.T) {
	for field, want := range map[string]bool{
		"name": true, "type": true, "properties": true, "properties.ports[0]": true, "properties[\"a.b\"]": true, "traits": true, "traits[0].type": true,
		"template": false, "template:3": false, "output.metadata.name": false, "outputs.a": false, "patch.spec": false, "status.healthPolicy": false,
	} {
		if got := (render.Problems{{Field: "template"}, {Field: field}}).OfTheUser(); got != want {
			t.Errorf("%s: the user is to mend it: %v", field, got)
		}
	}
}
