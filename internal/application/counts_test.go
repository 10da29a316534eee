// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Each pod of a release would cause several writes of the status: what only counts them comes once a second.
func TestCountsAreToldOnceASecond(t *testing.T) {
	said := func(message string) func(*rolloutv1alpha1.RolloutStatus) {
		return func(s *rolloutv1alpha1.RolloutStatus) { s.Message = message }
	}
	for sentence, test := range map[string]struct {
		rollout func(*rolloutv1alpha1.RolloutStatus)
		set     func(*kruisev1alpha1.CloneSet)
		app     func(*oamv1beta1.Application)
		waits   bool
	}{
		"pods on the new version": {rollout: func(s *rolloutv1alpha1.RolloutStatus) {
			s.UpgradedReplicas, s.Reached, s.Message, s.LastProgressTime = 1, 1, "1 of 2 pods are available", &metav1.Time{Time: time.Unix(1, 0)}
		}, waits: true},
		"what it says":                 {rollout: said("asks for 2 pods"), waits: true},
		"what a condition of it says":  {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.Conditions[0].Message = "2 of 2" }, waits: true},
		"what is said of pods":         {set: func(s *kruisev1alpha1.CloneSet) { s.Status.UpdatedReplicas = 0 }, waits: true},
		"a condition of it that turns": {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.Conditions[0].Status = metav1.ConditionTrue }},
		"one that begins": {rollout: func(s *rolloutv1alpha1.RolloutStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: "Paused", Status: metav1.ConditionTrue})
		}},
		"another reason of a condition": {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.Conditions[0].Reason = "WaitingForPerson" }},
		"a state":                       {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.RollingState = rolloutv1alpha1.FinalisingState }},
		"a state of a batch":            {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.BatchRollingState = rolloutv1alpha1.BatchReadyState }},
		"a batch":                       {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.CurrentBatch = 1 }},
		"what is waited for":            {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.WaitingFor = rolloutv1alpha1.WaitingForUnpause }},
		"a failure": {rollout: func(s *rolloutv1alpha1.RolloutStatus) {
			s.Failure = &rolloutv1alpha1.RolloutFailure{Reason: "DeadlineExceeded"}
		}},
		"a rollout that has failed": {rollout: func(s *rolloutv1alpha1.RolloutStatus) { s.RollingState = rolloutv1alpha1.RolloutFailedState }},
		"health": {set: func(s *kruisev1alpha1.CloneSet) {
			s.Labels[oamv1beta1.LabelAppRevision], s.Labels[oamv1beta1.LabelComponentRevision] = "shop-v2", "cart-v2"
			s.Spec.Template.Spec.Containers[0].Image = "a:2"
		}},
		"an edit": {app: image("a:3")},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 10, app("a:1", ""))
			w.settle()
			w.serves("cart")
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			w.edit(func(a *oamv1beta1.Application) {
				inBatches(a)
				image("a:2")(a)
			})
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			w.rollout(func(s *rolloutv1alpha1.RolloutStatus) {
				s.RollingState, s.BatchRollingState, s.WaitingFor = rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchVerifyingState, rolloutv1alpha1.WaitingForPods
				s.Conditions = []metav1.Condition{{Type: "BatchVerified", Status: metav1.ConditionUnknown, Reason: "WaitingForPods"}}
			})
			w.settle()
			before := w.app()
			if before.Status.Rollout == nil || before.Status.Rollout.WaitingFor != rolloutv1alpha1.WaitingForPods {
				t.Fatalf("its status has the rollout %+v", before.Status.Rollout)
			}
			if test.rollout != nil {
				w.rollout(test.rollout)
			}
			if test.set != nil {
				set := get(w, &kruisev1alpha1.CloneSet{}, "cart")
				test.set(set)
				status := set.Status
				if err := w.Update(t.Context(), set); err != nil {
					t.Fatal(err)
				}
				set.Status = status
				if err := w.Status().Update(t.Context(), set); err != nil {
					t.Fatal(err)
				}
			}
			if test.app != nil {
				w.edit(test.app)
			}
			w.settle()
			result, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(before)})
			if err != nil {
				t.Fatal(err)
			}
			if waits := w.app().ResourceVersion == before.ResourceVersion; waits != test.waits || waits != (result.RequeueAfter == time.Second) {
				t.Errorf("it waits: %t, want %t; it looks again in %s", waits, test.waits, result.RequeueAfter)
			}
			w.clock.SetTime(w.clock.Now().Add(time.Second))
			w.settle()
			if w.app().ResourceVersion == before.ResourceVersion {
				t.Error("it was never told")
			}
		})
	}
}

// A definition may count what it likes. Who rests until something changes must have told all before.
func TestWhatHasToWaitIsToldAtRest(t *testing.T) {
	w, _, _ := atRest(t)
	definition := &oamv1beta1.ComponentDefinition{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "set"}, definition); err != nil {
		t.Fatal(err)
	}
	definition.Spec.Status = &oamv1beta1.DefinitionStatus{CustomStatus: `message: "\(context.output.status.readyReplicas) pods"`}
	if err := w.Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	says := func(ready int32, after time.Duration, want string) {
		t.Helper()
		set := get(w, &kruisev1alpha1.CloneSet{}, "cart")
		if set.Status.ReadyReplicas != ready {
			set.Status.ReadyReplicas = ready
			if err := w.Status().Update(t.Context(), set); err != nil {
				t.Fatal(err)
			}
		}
		w.clock.SetTime(w.clock.Now().Add(after))
		w.settle()
		if services := w.app().Status.Services; len(services) != 1 || !services[0].Healthy || services[0].Message != want {
			t.Errorf("the services are %+v, want %s", services, want)
		}
	}
	says(2, 0, "2 pods")
	says(3, 0, "2 pods")
	says(3, time.Second, "3 pods")
}
