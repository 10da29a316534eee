// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/plan"
)

func TestHealthyComponentsAreCounted(t *testing.T) {
	component := func(name string, live, healthy bool) plan.Component {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
		c := plan.Component{Component: delivery.Component{Name: name, Workload: o}, Driven: true, Healthy: healthy}
		if live {
			c.Live = []*unstructured.Unstructured{o}
		}
		return c
	}
	for sentence, test := range map[string]struct {
		components []plan.Component
		want       string
	}{
		"all are":                      {[]plan.Component{component("a", true, true), component("b", true, true)}, "2/2"},
		"one has pods that are not":    {[]plan.Component{component("a", true, true), component("b", true, false)}, "1/2"},
		"one that is not there is not": {[]plan.Component{component("a", false, true)}, "0/1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			told := &telling{}
			(&Reconciler{}).services(t.Context(), &oamv1beta1.Application{}, &oamv1beta1.ApplicationRevision{}, &plan.World{Components: test.components}, told)
			if told.failed != nil || told.status.HealthyServices != test.want {
				t.Errorf("healthy services %q, error %v; want %q", told.status.HealthyServices, told.failed, test.want)
			}
		})
	}
}

// An object that a template gives in another version of its kind is the same object.
func TestWhatIsAppliedIsToldOnce(t *testing.T) {
	app := &oamv1beta1.Application{}
	app.UID = "app"
	scaler := func(version string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAPIVersion("autoscaling/" + version)
		o.SetKind("HorizontalPodAutoscaler")
		o.SetName("cart")
		delivery.Application{UID: "app", Name: "shop"}.Own(o)
		return o
	}
	c := plan.Component{LiveExtras: []*unstructured.Unstructured{scaler("v2")}}
	told := &telling{}
	told.resources(&plan.World{App: app, Components: []plan.Component{c}, Applied: []*unstructured.Unstructured{scaler("v1")}}, nil)
	if all := told.status.AppliedResources; len(all) != 1 || all[0].APIVersion != "autoscaling/v2" {
		t.Errorf("it tells of %+v", all)
	}
}
