// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

func TestApplicationsHaveAClusterOfTheirOwn(t *testing.T) {
	o := defaultOptions()
	o.kind, o.applicationPods = kindApplication, 2
	all := rounds(o)
	if len(all) != 1 || all[0].room != 1000 || all[0].cells != nil {
		t.Errorf("got %+v", all)
	}
	if !o.wants(scenarioAppsStartup) || !o.wants(scenarioAppsRest) || o.wants(scenarioStartup) || o.wants(scenarioRolloutsRest) {
		t.Error("applications have their own scenarios")
	}
}

func TestAnApplicationIsScaledWhenItHasNotOnePod(t *testing.T) {
	for pods, want := range map[int]string{1: "", 3: `{"replicas":3}`} {
		component := application{}.fresh(client.ObjectKey{Namespace: "n", Name: "x"}, pods).(*oamv1beta1.Application).Spec.Components[0]
		got := ""
		if len(component.Traits) == 1 && component.Traits[0].Type == "scaler" {
			got = string(component.Traits[0].Properties.Raw)
		}
		if got != want || component.Name != "x" || component.Type != "cloneset" {
			t.Errorf("of %d pods it has component %s of type %s, scaled by %q, want %q", pods, component.Name, component.Type, got, want)
		}
	}
}

func TestANewImageChangesNothingElseOfAnApplication(t *testing.T) {
	key := client.ObjectKey{Namespace: "n", Name: "x"}
	app := application{}.fresh(key, 3).(*oamv1beta1.Application)
	application{}.release(app, "new:1", inPlace, intstr.FromString("100%"))
	if diff := cmp.Diff(`{"cpu":"1m","env":[{"name":"REGION","value":"eu"},{"name":"LOG_LEVEL","value":"info"}],"image":"new:1","memory":"1Mi"}`,
		string(app.Spec.Components[0].Properties.Raw)); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	was := application{}.fresh(key, 3).(*oamv1beta1.Application)
	app.Spec.Components[0].Properties = was.Spec.Components[0].Properties
	if diff := cmp.Diff(was, app); diff != "" {
		t.Errorf("all else (-want +got):\n%s", diff)
	}
}

func TestAnApplicationHasSettledWhenItIsReady(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*oamv1beta1.Application)
		want   bool
	}{
		"it is running and ready":         {func(*oamv1beta1.Application) {}, true},
		"the status is of an older spec":  {func(a *oamv1beta1.Application) { a.Status.ObservedGeneration = 1 }, false},
		"so is its condition":             {func(a *oamv1beta1.Application) { a.Status.Conditions[0].ObservedGeneration = 1 }, false},
		"it is not ready":                 {func(a *oamv1beta1.Application) { a.Status.Conditions[0].Status = metav1.ConditionFalse }, false},
		"nothing is known of it":          {func(a *oamv1beta1.Application) { a.Status.Conditions = nil }, false},
		"something of it is not deployed": {func(a *oamv1beta1.Application) { a.Status.Phase = oamv1beta1.ApplicationRendering }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			app := application{}.fresh(client.ObjectKey{Namespace: "n", Name: "x"}, 1).(*oamv1beta1.Application)
			app.Generation = 2
			app.Status = oamv1beta1.ApplicationStatus{ObservedGeneration: 2, Phase: oamv1beta1.ApplicationRunning, Conditions: []metav1.Condition{
				{Type: oamv1beta1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2},
			}}
			c.change(app)
			if got := (application{}).settled(app); got != c.want {
				t.Errorf("settled %t, want %t", got, c.want)
			}
		})
	}
}

func TestWhatOneApplicationCosts(t *testing.T) {
	r := &row{Figures: map[string]float64{cpuTime: 3, allWrites: 20, allReads: 8}, Requests: map[string]map[string]count{
		byManager: {
			"patch applications/status": {Requests: 6}, "create applicationrevisions": {Requests: 2}, "patch clonesets": {Requests: 3},
			"create clonesets": {Requests: 1}, "patch clonesets/status": {Requests: 99}, "get clonesets": {Requests: 99},
		},
		byBench: {"patch applications/status": {Requests: 99}},
	}}
	applications{size: 2}.perApplication(r)
	want := map[string]float64{
		cpuTime: 3, allWrites: 20, allReads: 8, cpuPerApplication: 1500, writesPerApplication: 10, readsPerApplication: 4,
		applicationStatuses: 3, applicationRevisions: 1, applicationWorkloads: 2,
	}
	if diff := cmp.Diff(want, r.Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	without := &row{}
	applications{size: 2}.perApplication(without)
	if len(without.Figures) > 0 {
		t.Errorf("without a log there are %v", without.Figures)
	}
}
