// SPDX-License-Identifier: Apache-2.0

package clonesets

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/test/builders"
)

func TestChanges(t *testing.T) {
	view := func(w *world) *sets.View {
		v := NewView(w.counted().Snapshot, now())
		return &v
	}
	released := func() *world { return newWorld(t, 2).pods("one", 2) }
	for sentence, test := range map[string]struct {
		before *sets.View
		now    *world
		want   []string
	}{
		"the first look tells how things stand, and which pods are not available": {
			nil, newWorld(t, 2).pods("one", 1).pods("one", 1, unready),
			[]string{"default/web 1 of 2 pods available, 1 does not get ready", "web-p001 NotReady (container app is not ready), revision one"},
		},
		"nothing new is no line": {view(released()), released(), nil},
		"a pod that is updated in place changes state, revision and image": {
			view(newWorld(t, 2).release().pods("one", 2)), newWorld(t, 2).release().pods("two", 1, updating).pods("one", 1),
			[]string{"web-p000 Available -> Updating (its in-place update is not complete), revision one -> two, app:2"},
		},
		"a pod that only got another revision label says so": {
			view(newWorld(t, 2).release().pods("one", 2)), newWorld(t, 2).release().pods("two", 1).pods("one", 1),
			[]string{"web-p000 Available, revision one -> two, app:2"},
		},
		"a pod that went and one that came": {
			view(newWorld(t, 2).pods("one", 2)), func() *world {
				w := newWorld(t, 2).pods("one", 3, fresh)
				w.Pods = w.Pods[1:]
				return w
			}(),
			[]string{"default/web 0 of 2 pods available", "web-p000 is gone",
				"web-p001 Available -> Pending (not scheduled)", "web-p002 is new: Pending (not scheduled), revision one"},
		},
		"a pod of the same name that is another pod": {
			view(released()), newWorld(t, 2).pods("one", 1).pods("one", 1, func(b *builders.PodBuilder) {
				b.With(func(p *corev1.Pod) { p.UID = "another" })
			}),
			[]string{"web-p001 was recreated: Available, revision one"},
		},
		"a reason that changes within a state": {
			view(newWorld(t, 2).pods("one", 1).pods("one", 1, broken)),
			newWorld(t, 2).pods("one", 1).pods("one", 1, func(b *builders.PodBuilder) { b.Waiting("CrashLoopBackOff") }),
			[]string{"web-p001 Failing (container app: CrashLoopBackOff)"},
		},
		"a condition that came, but not one that stayed": {
			view(cond(released(), kruisev1alpha1.CloneSetConditionFailedScale, corev1.ConditionTrue, "", "as before")),
			cond(cond(released(), kruisev1alpha1.CloneSetConditionFailedScale, corev1.ConditionTrue, "", "as before"), kruisev1alpha1.CloneSetConditionFailedUpdate,
				corev1.ConditionTrue, "", "patching pod web-p000: denied"),
			[]string{"default/web condition FailedUpdate is True: patching pod web-p000: denied"},
		},
		"a reason that only follows what goes on is no line": {
			view(newWorld(t, 1).pods("one", 1, updating)),
			newWorld(t, 1).pods("one", 1, updating, func(b *builders.PodBuilder) {
				b.With(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = false })
			}), nil,
		},
		"seconds that pass are no change": {
			view(newWorld(t, 1, func(b *builders.CloneSetBuilder) { b.MinReadySeconds(400) }).pods("one", 1)),
			newWorld(t, 1, func(b *builders.CloneSetBuilder) { b.MinReadySeconds(300) }).pods("one", 1), nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, sets.Changes(test.before, *view(test.now))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPhase(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*world)
		want   sets.Phase
	}{
		"all there, updated and available is complete": {func(*world) {}, sets.Complete},
		"a newer spec than the controller has seen is not": {
			func(w *world) { w.Set.Generation = 2 }, sets.Unseen},
		"a status that lags behind the pods is not": {
			func(w *world) { w.Set.Status.AvailableReplicas = 1 }, sets.Recovering},
		"a deleted set is being deleted whatever else holds": {
			func(w *world) { w.Set.DeletionTimestamp = &w.Set.CreationTimestamp }, sets.Deleting},
		"a pod that is missing means scaling": {func(w *world) { w.Pods = w.Pods[:1] }, sets.Scaling},
		"a strategy that cannot be read is a failure": {
			func(w *world) { w.Set.Spec.UpdateStrategy.MaxUnavailable.StrVal = "many" }, sets.Failed},
		"pods on an older revision mean releasing": {
			func(w *world) { w.Set.Status.UpdateRevision = "web-two" }, sets.Releasing},
		"a controller that has given up means a failure, even if all pods are there": {
			func(w *world) {
				cond(w, kruisev1alpha1.CloneSetConditionStalled, corev1.ConditionTrue, "UpdateRefused", "no")
			}, sets.Failed},
		"or paused": {func(w *world) {
			w.Set.Status.UpdateRevision = "web-two"
			w.Set.Spec.UpdateStrategy.Paused = true
		}, sets.Paused},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 2).pods("one", 2).counted()
			test.change(w)
			v := NewView(w.Snapshot, now())
			if v.Phase != test.want || v.Settled() != (test.want == sets.Complete) {
				t.Errorf("phase %s (settled %t), want %s: %s", v.Phase, v.Settled(), test.want, v.Headline)
			}
		})
	}
}
