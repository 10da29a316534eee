// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

func podOf(uid, image string, ready bool) corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-" + uid, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: image}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}},
	}
}

func TestCheck(t *testing.T) {
	leaving := podOf("a", "old", true)
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	both := []corev1.Pod{podOf("a", "old", true), podOf("b", "old", true)}
	gone := change{scenario: scenarioScaleDown}
	kept := change{scenario: scenarioInPlace10, way: inPlace, unavailable: "10%"}
	replaced := change{scenario: scenarioRecreate10, way: recreate, unavailable: "10%"}
	tests := map[string]struct {
		change        change
		before, after []corev1.Pod
		want          int
		says          string // part of the error; empty: none
	}{
		"a release in place keeps every pod":            {kept, both, []corev1.Pod{podOf("a", "new", true), podOf("b", "new", true)}, 2, ""},
		"a release in place that replaced one is none":  {kept, both, []corev1.Pod{podOf("a", "new", true), podOf("c", "new", true)}, 2, "only 1 of 2 pods"},
		"a recreation keeps none":                       {replaced, both, []corev1.Pod{podOf("c", "new", true), podOf("d", "new", true)}, 2, ""},
		"a recreation that kept one is none":            {replaced, both, []corev1.Pod{podOf("a", "new", true), podOf("d", "new", true)}, 2, "1 of 2 pods were not recreated"},
		"pods on their way out are nobody's any more":   {replaced, both, []corev1.Pod{leaving, podOf("c", "new", true), podOf("d", "new", true)}, 2, ""},
		"a pod with the old image is not released":      {kept, both, []corev1.Pod{podOf("a", "new", true), podOf("b", "old", true)}, 2, "has image old"},
		"a pod that is not ready is not released":       {kept, both, []corev1.Pod{podOf("a", "new", true), podOf("b", "new", false)}, 2, "not ready"},
		"a pod that is missing is not released":         {kept, both, []corev1.Pod{podOf("a", "new", true)}, 2, "there are 1 pods, want 2"},
		"after a scale to zero there is no pod":         {gone, both, nil, 0, ""},
		"after a scale to zero no pod may be left over": {gone, both, []corev1.Pod{podOf("a", "new", true)}, 0, "there are 1 pods, want 0"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			err := check(&row{}, test.change, test.before, test.after, test.want, "new")
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got error %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	tests := map[string]struct {
		clone    kruisev1alpha1.CloneSetStatus
		built    appsv1.DeploymentStatus
		replicas int32
		want     bool
	}{
		"all pods are new and available": {
			clone: kruisev1alpha1.CloneSetStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, UpdatedReadyReplicas: 2, AvailableReplicas: 2},
			built: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}, replicas: 2, want: true,
		},
		"the status is of an older spec": {
			clone: kruisev1alpha1.CloneSetStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, UpdatedReadyReplicas: 2, AvailableReplicas: 2},
			built: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}, replicas: 2,
		},
		"one pod is still old": {
			clone: kruisev1alpha1.CloneSetStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 2, UpdatedReadyReplicas: 1, AvailableReplicas: 2},
			built: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2}, replicas: 2,
		},
		"one pod is not available": {
			clone: kruisev1alpha1.CloneSetStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, UpdatedReadyReplicas: 2, AvailableReplicas: 1},
			built: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 1}, replicas: 2,
		},
		"a pod too many is left": {
			clone: kruisev1alpha1.CloneSetStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 0},
			built: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1}, replicas: 0,
		},
		"none is wanted and none is there": {
			clone: kruisev1alpha1.CloneSetStatus{ObservedGeneration: 3}, built: appsv1.DeploymentStatus{ObservedGeneration: 3}, replicas: 0, want: true,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			key := client.ObjectKey{Namespace: "n", Name: "x"}
			set := cloneSet{}.fresh(key, int(test.replicas)).(*kruisev1alpha1.CloneSet)
			set.Generation, set.Status = 3, test.clone
			if got := (cloneSet{}).settled(set); got != test.want {
				t.Errorf("CloneSet: settled %t, want %t", got, test.want)
			}
			ordinals := statefulSet{}.fresh(key, int(test.replicas)).(*kruisev1beta1.StatefulSet)
			ordinals.Generation = 3
			ordinals.Status = kruisev1beta1.StatefulSetStatus{
				ObservedGeneration: test.clone.ObservedGeneration, Replicas: test.clone.Replicas, UpdatedReplicas: test.clone.UpdatedReplicas,
				ReadyReplicas: test.clone.ReadyReplicas, UpdatedReadyReplicas: test.clone.UpdatedReadyReplicas, AvailableReplicas: test.clone.AvailableReplicas,
			}
			if got := (statefulSet{}).settled(ordinals); got != test.want {
				t.Errorf("StatefulSet: settled %t, want %t", got, test.want)
			}
			d := deployment{}.fresh(key, int(test.replicas)).(*appsv1.Deployment)
			d.Generation, d.Status = 3, test.built
			if got := (deployment{}).settled(d); got != test.want {
				t.Errorf("Deployment: settled %t, want %t", got, test.want)
			}
		})
	}
}

// The kinds are compared, so they must be asked for the same.
func TestKindsAreAskedForTheSame(t *testing.T) {
	key := client.ObjectKey{Namespace: "n", Name: "x"}
	ten := intstr.FromString("10%")
	set := cloneSet{}.fresh(key, 5).(*kruisev1alpha1.CloneSet)
	cloneSet{}.release(set, "new", recreate, ten)
	d := deployment{}.fresh(key, 5).(*appsv1.Deployment)
	deployment{}.release(d, "new", recreate, ten)
	if set.Spec.Template.Spec.Containers[0].Image != "new" || d.Spec.Template.Spec.Containers[0].Image != "new" {
		t.Error("a release does not change the image")
	}
	if got := *set.Spec.UpdateStrategy.MaxUnavailable; got != ten {
		t.Errorf("CloneSet: %s unavailable, want 10%%", got.String())
	}
	if rolling := d.Spec.Strategy.RollingUpdate; *rolling.MaxUnavailable != ten || *rolling.MaxSurge != intstr.FromInt32(0) {
		t.Errorf("Deployment: %s unavailable and %s more, want 10%% and 0", rolling.MaxUnavailable, rolling.MaxSurge)
	}
	cloneSet{}.scale(set, 0)
	deployment{}.scale(d, 0)
	if ptr.Deref(set.Spec.Replicas, -1) != 0 || ptr.Deref(d.Spec.Replicas, -1) != 0 {
		t.Error("a scale to 0 leaves replicas")
	}
}

// A release of a StatefulSet is that of a CloneSet in its own words, and keeps what the API server has filled in.
func TestStatefulSetsAreReleasedInParallel(t *testing.T) {
	set := statefulSet{}.fresh(client.ObjectKey{Namespace: "n", Name: "x"}, 5).(*kruisev1beta1.StatefulSet)
	set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](0)
	for w, want := range map[way]kruisev1beta1.PodUpdateStrategyType{
		inPlace: kruisev1beta1.InPlaceOnlyPodUpdateStrategyType, recreate: kruisev1beta1.RecreatePodUpdateStrategyType,
	} {
		statefulSet{}.release(set, "new", w, intstr.FromString("10%"))
		rolling := set.Spec.UpdateStrategy.RollingUpdate
		if rolling.PodUpdatePolicy != want || rolling.MaxUnavailable.String() != "10%" || rolling.Partition == nil {
			t.Errorf("released with %+v, want policy %s and 10%% unavailable", rolling, want)
		}
	}
	if set.Spec.Template.Spec.Containers[0].Image != "new" || set.Spec.PodManagementPolicy != kruisev1beta1.ParallelPodManagement {
		t.Errorf("the set has image %s and policy %s", set.Spec.Template.Spec.Containers[0].Image, set.Spec.PodManagementPolicy)
	}
	statefulSet{}.scale(set, 0)
	if ptr.Deref(set.Spec.Replicas, -1) != 0 {
		t.Error("a scale to 0 leaves replicas")
	}
}

func TestACrowdHasARoundOfItsOwn(t *testing.T) {
	for sentence, test := range map[string]struct {
		scenarios []string
		want      []string
		room      int
	}{
		"everything":           {scenarioNames, []string{"5-pods", "9-pods", "quiet", "crowded"}, 2*9 + 20000},
		"only the crowd":       {[]string{scenarioCrowded}, []string{"crowded"}, 2*9 + 20000},
		"only what has a size": {[]string{scenarioCreate}, []string{"5-pods", "9-pods"}, 2 * 9},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := defaultOptions()
			o.pods, o.scenarios = []int{5, 9}, test.scenarios
			all := rounds(o)
			var names []string
			for _, r := range all {
				names = append(names, r.name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Errorf("rounds (-want +got):\n%s", diff)
			}
			if got := all[len(all)-1].room; got != test.room {
				t.Errorf("room for %d pods, want %d", got, test.room)
			}
		})
	}
}

func TestTouched(t *testing.T) {
	before := map[string]string{"same": "1", "changed": "2", "gone": "3"}
	after := map[string]string{"same": "1", "changed": "9", "new": "4"}
	if got := touched(before, after); got != 3 {
		t.Errorf("%d pods were touched, want 3", got)
	}
	if got := touched(before, before); got != 0 {
		t.Errorf("%d pods were touched, want none", got)
	}
}

func TestShare(t *testing.T) {
	for _, test := range []struct{ things, hands int }{{10, 3}, {5000, 100}, {3, 5}, {1, 1}} {
		sum := 0
		for i := range test.hands {
			sum += share(test.things, test.hands, i)
		}
		if sum != test.things {
			t.Errorf("%d hands got %d of %d things", test.hands, sum, test.things)
		}
	}
}

func TestParallel(t *testing.T) {
	var calls atomic.Int64
	var each [100]atomic.Int64
	err := parallel(t.Context(), 7, len(each), func(_ context.Context, i int) error {
		calls.Add(1)
		each[i].Add(1)
		return nil
	})
	if err != nil || calls.Load() != int64(len(each)) {
		t.Errorf("%d calls, error %v; want %d", calls.Load(), err, len(each))
	}
	for i := range each {
		if n := each[i].Load(); n != 1 {
			t.Errorf("%d was called %d times, want once", i, n)
		}
	}
	broken := errors.New("broken")
	err = parallel(t.Context(), 3, 1_000_000, func(context.Context, int) error { calls.Add(1); return broken })
	if !errors.Is(err, broken) || calls.Load() > 1000 {
		t.Errorf("%d calls, error %v; want it to end with the first error", calls.Load(), err)
	}
}
