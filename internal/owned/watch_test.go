// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

var sets = By{Group: "apps.kruise.io", Kind: "CloneSet"}

func controlledBy(apiVersion, kind string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-a", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: apiVersion, Kind: kind, Name: "web", UID: "1", Controller: ptr.To(true)},
	}}}
}

func TestEventsReachTheSetByGroupAndKind(t *testing.T) {
	reference := controlledBy("apps.kruise.io/v1alpha1", "CloneSet")
	reference.OwnerReferences[0].Controller = nil
	for sentence, c := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"our own version of the API":                {controlledBy("apps.kruise.io/v1alpha1", "CloneSet"), true},
		"a version that others serve":               {controlledBy("apps.kruise.io/v1beta1", "CloneSet"), true},
		"another kind of the group":                 {controlledBy("apps.kruise.io/v1beta1", "StatefulSet"), false},
		"another group with a kind of this name":    {controlledBy("example.com/v1alpha1", "CloneSet"), false},
		"a version that nobody can read":            {controlledBy("a/b/c", "CloneSet"), false},
		"a reference that does not control the pod": {reference, false},
		"no owner at all":                           {&corev1.Pod{}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			requests := sets.Requests(t.Context(), c.pod)
			if (len(requests) == 1) != c.want || c.want && requests[0].String() != "shop/web" {
				t.Errorf("requests are %v", requests)
			}
			if passes := sets.Changes().Create(event.CreateEvent{Object: c.pod}); passes != c.want {
				t.Errorf("the event passes: %v", passes)
			}
		})
	}
}

func TestOnlyChangesWakeASet(t *testing.T) {
	at := func(p *corev1.Pod, version string) *corev1.Pod {
		p.ResourceVersion = version
		return p
	}
	ours := func(version string) *corev1.Pod {
		return at(controlledBy("apps.kruise.io/v1alpha1", "CloneSet"), version)
	}
	for sentence, c := range map[string]struct {
		before, after client.Object
		want          bool
	}{
		"a change":                       {ours("1"), ours("2"), true},
		"a resync":                       {ours("1"), ours("1"), false},
		"a pod that was given up":        {ours("1"), at(&corev1.Pod{}, "2"), true},
		"a pod that was given to us":     {at(&corev1.Pod{}, "1"), ours("2"), true},
		"a change of somebody else's":    {at(&corev1.Pod{}, "1"), at(&corev1.Pod{}, "2"), false},
		"a revision that nobody has yet": {&appsv1.ControllerRevision{}, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := sets.Changes().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
				t.Errorf("the event passes: %v", got)
			}
		})
	}
}
