// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

func TestRolloutsHaveAClusterOfTheirOwn(t *testing.T) {
	o := defaultOptions()
	o.kind = kindRollout
	all := rounds(o)
	if len(all) != 1 || all[0].room != 5000 || all[0].cells != nil {
		t.Errorf("got %+v", all)
	}
	if !o.wants(scenarioRollouts) || !o.wants(scenarioRolloutsRest) || o.wants(scenarioCreate) || o.wants(scenarioFleetRest) {
		t.Error("rollouts have their own scenarios")
	}
}

func TestTheLargestBatch(t *testing.T) {
	for sentence, c := range map[string]struct{ pods, batches, want int }{
		"all equal":         {6, 3, 2},
		"some have a rest":  {5, 3, 2},
		"one pod each":      {5, 5, 1},
		"all in one":        {5, 1, 5},
		"a rest of one pod": {9, 4, 3},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := (rollouts{kind: rolloutTrait{c.batches}, pods: c.pods}).largest(); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestARolloutIsOfTheSetOfItsName(t *testing.T) {
	trait := rolloutTrait{batches: 3}.fresh(client.ObjectKey{Namespace: "n", Name: "x"}, 5).(*rolloutv1alpha1.RolloutTrait)
	want := rolloutv1alpha1.RolloutTraitSpec{TargetRef: rolloutv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "x"}}
	want.RolloutPlan.NumBatches = new(int32)
	*want.RolloutPlan.NumBatches = 3
	if diff := cmp.Diff(want, trait.Spec); diff != "" {
		t.Errorf("the rollout (-want +got):\n%s", diff)
	}
	for state, done := range map[rolloutv1alpha1.RollingState]bool{
		"": false, rolloutv1alpha1.FinalisingState: false, rolloutv1alpha1.RolloutFailedState: false, rolloutv1alpha1.RolloutSucceedState: true,
	} {
		if trait.Status.RollingState = state; (rolloutTrait{}).settled(trait) != done {
			t.Errorf("in state %q settled is %t, want %t", state, !done, done)
		}
	}
	if trait.Generation = 2; (rolloutTrait{}).settled(trait) {
		t.Error("a status of an older spec counts")
	}
}

func TestASetIsHeldWhileItsTemplateHasReachedNoPod(t *testing.T) {
	held := kruisev1alpha1.CloneSetStatus{ObservedGeneration: 2, UpdateRevision: "b", CurrentRevision: "a", AvailableReplicas: 5}
	for sentence, c := range map[string]struct {
		change func(*kruisev1alpha1.CloneSetStatus)
		want   bool
	}{
		"no pod has the new template":     {func(*kruisev1alpha1.CloneSetStatus) {}, true},
		"the template was not seen":       {func(s *kruisev1alpha1.CloneSetStatus) { s.ObservedGeneration = 1 }, false},
		"there is no new template":        {func(s *kruisev1alpha1.CloneSetStatus) { s.UpdateRevision = "a" }, false},
		"a pod has the new template":      {func(s *kruisev1alpha1.CloneSetStatus) { s.UpdatedReplicas = 1 }, false},
		"a pod of the old one is missing": {func(s *kruisev1alpha1.CloneSetStatus) { s.AvailableReplicas = 4 }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := cloneSet{}.fresh(client.ObjectKey{Namespace: "n", Name: "x"}, 5).(*kruisev1alpha1.CloneSet)
			set.Generation, set.Status = 2, held
			c.change(&set.Status)
			if got := (heldSet{}).settled(set); got != c.want {
				t.Errorf("held %t, want %t", got, c.want)
			}
		})
	}
}

func TestWhatOneRolloutCosts(t *testing.T) {
	r := &row{Figures: map[string]float64{cpuTime: 3}, Requests: map[string]map[string]count{
		byManager: {
			"patch rollouttraits": {Requests: 4}, "patch rollouttraits/status": {Requests: 20, Conflicts: 1}, "patch clonesets": {Requests: 8},
			"patch clonesets/status": {Requests: 99}, "patch pods": {Requests: 99}, "get clonesets": {Requests: 30}, "list controllerrevisions": {Requests: 2},
			"list pods": {Requests: 99},
		},
		byBench: {"patch clonesets": {Requests: 99}},
	}}
	rollouts{size: 2}.perRollout(r)
	want := map[string]float64{
		cpuTime: 3, cpuPerRollout: 1500, rolloutWrites: 16, rolloutStatuses: 10, workloadWrites: 4, rolloutReads: 16,
	}
	if diff := cmp.Diff(want, r.Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	without := &row{}
	rollouts{size: 2}.perRollout(without)
	if len(without.Figures) > 0 {
		t.Errorf("without a log there are %v", without.Figures)
	}
}
