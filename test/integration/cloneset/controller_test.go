// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/integration/plane"
)

func create(t *testing.T, ns string, b *builders.CloneSetBuilder) *kruisev1alpha1.CloneSet {
	t.Helper()
	set := b.With(func(s *kruisev1alpha1.CloneSet) {
		s.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: s.Name, Labels: s.Labels}
		s.Status = kruisev1alpha1.CloneSetStatus{}
	}).Build()
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatalf("creating the CloneSet: %v", err)
	}
	return set
}

func waitForPods(t *testing.T, ns string, n int) {
	t.Helper()
	plane.Until(t, fmt.Sprintf("%d pods in service", n), func() (bool, any) {
		greet(t, ns)
		pods, open := podsOf(t, ns), 0
		for i := range pods {
			if c := pod.Condition(&pods[i], kruisev1alpha1.ConditionInPlaceUpdateReady); c != nil && c.Status == corev1.ConditionTrue {
				open++
			}
		}
		return open == n && len(pods) == n, fmt.Sprintf("%d pods, %d with an open gate", len(pods), open)
	})
}

func waitForAvailable(t *testing.T, ns string, n int32) {
	t.Helper()
	plane.Until(t, fmt.Sprintf("%d available pods in the status", n), func() (bool, any) {
		status := get(t, ns, "web").Status
		return status.AvailableReplicas == n && status.Replicas == n, status
	})
}

func TestASetFromAClientThatSetsNoDefaultsWorks(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.CloneSet("web").With(func(s *kruisev1alpha1.CloneSet) { s.Spec.Replicas = nil }))
	waitForPods(t, ns, 1)
	serve(t, ns)
	waitForAvailable(t, ns, 1)

	p := podsOf(t, ns)[0]
	set := get(t, ns, "web")
	want := map[string]string{
		"app": "web", kruisev1alpha1.LabelRevision: set.Status.UpdateRevision, kruisev1alpha1.LabelPodTemplateHash: revision.HashOf(set.Status.UpdateRevision),
		kruisev1alpha1.LabelInstanceID: strings.TrimPrefix(p.Name, "web-"), kruisev1alpha1.LabelLifecycleState: string(kruisev1alpha1.LifecycleNormal),
	}
	if diff := cmp.Diff(want, p.Labels); diff != "" {
		t.Errorf("labels of the pod (-want +got):\n%s", diff)
	}
	owner := metav1.GetControllerOf(&p)
	if owner == nil || owner.UID != set.UID || owner.APIVersion != "apps.kruise.io/v1alpha1" || !ptr.Deref(owner.BlockOwnerDeletion, false) {
		t.Errorf("owner of the pod is %+v", owner)
	}
	if ready := condition(set, kruisev1alpha1.CloneSetConditionReady); ready.Status != corev1.ConditionTrue || ready.ObservedGeneration != set.Generation {
		t.Errorf("condition Ready is %+v", ready)
	}
}

func TestASetThatIsOlderThanEveryDefaultWorks(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.CloneSet("web").Replicas(2))
	waitForPods(t, ns, 2)
	err := server.Store.Rewrite(t.Context(), "apps.kruise.io/clonesets", ns, "web", func(object map[string]any) {
		spec := object["spec"].(map[string]any) //nolint:forcetypeassert // stored by us
		for _, member := range []string{"replicas", "updateStrategy", "scaleStrategy", "revisionHistoryLimit", "minReadySeconds"} {
			delete(spec, member)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	waitForPods(t, ns, 1) // without replicas, one is wanted
	serve(t, ns)
	waitForAvailable(t, ns, 1)
}

func TestAPodNameThatSomebodyElseHasIsLeftToThem(t *testing.T) {
	ns := namespace(t)
	set := create(t, ns, builders.CloneSet("web").Replicas(1))
	waitForPods(t, ns, 1)
	own := podsOf(t, ns)[0]

	// Its pod is released by a person, who keeps it: the name stays taken.
	if err := live.Patch(t.Context(), &own, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"app":"mine"}}}`))); err != nil {
		t.Fatal(err)
	}
	plane.Until(t, "a second pod beside the released one", func() (bool, any) {
		var kept, replaced bool
		for _, p := range podsOf(t, ns) {
			controlled := pod.IsControlledBy(&p, set.UID)
			kept = kept || p.UID == own.UID && !controlled
			replaced = replaced || p.UID != own.UID && controlled
		}
		return kept && replaced, podsOf(t, ns)
	})
}

func TestAQuotaIsToldAndThenOvercome(t *testing.T) {
	ns := namespace(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "few"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	if err := live.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	// No controller manager runs here to say how much of the quota is used.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
	if err := live.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	create(t, ns, builders.CloneSet("web").Replicas(3))
	plane.Until(t, "condition FailedScale to name the quota", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1alpha1.CloneSetConditionFailedScale)
		return c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "exceeded quota: few"), c
	})
	plane.Until(t, "an event FailedCreate", func() (bool, any) {
		var list eventsv1.EventList
		if err := live.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			return false, err
		}
		for _, e := range list.Items {
			if e.Reason == "FailedCreate" && e.Type == corev1.EventTypeWarning {
				return true, nil
			}
		}
		return false, list.Items
	})
	if err := live.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	waitForPods(t, ns, 3)
	plane.Until(t, "condition FailedScale to be taken back", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1alpha1.CloneSetConditionFailedScale)
		return c.Status == corev1.ConditionFalse && c.Message == "", c
	})
}

// The server lets images change and refuses containers that move.
func TestContainersOfAnyOrderAreUpdatedTogether(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.CloneSet("web").Replicas(1).InPlace().With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "proxy", Image: "proxy:1"}, {Name: "log", Image: "log:1"}}
	}))
	waitForPods(t, ns, 1)
	serve(t, ns)
	waitForAvailable(t, ns, 1)
	change := []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:2"},{"op":"replace","path":"/spec/template/spec/containers/2/image","value":"log:2"}]`)
	if err := live.Patch(t.Context(), get(t, ns, "web"), client.RawPatch("application/json-patch+json", change)); err != nil {
		t.Fatal(err)
	}
	plane.Until(t, "both images in the living pod", func() (bool, any) {
		containers := podsOf(t, ns)[0].Spec.Containers
		images := []string{containers[0].Image, containers[1].Image, containers[2].Image}
		return cmp.Equal(images, []string{"web:2", "proxy:1", "log:2"}), images
	})
}

func TestHistoryThatOthersWroteIsTakenOver(t *testing.T) {
	ns := namespace(t)
	old := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-6d5f7c9b8", Labels: map[string]string{"app": "web", kruisev1alpha1.LabelRevisionHash: "6d5f7c9b8"}},
		Revision:   7,
	}
	old.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},` +
		`"spec":{"containers":[{"image":"` + builders.Image + `","name":"` + builders.Container + `","imagePullPolicy":"IfNotPresent","terminationMessagePath":"/dev/termination-log","resources":{}}]}}}}`)
	if err := live.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	set := create(t, ns, builders.CloneSet("web").Replicas(1))
	plane.Until(t, "the orphan to be adopted and used", func() (bool, any) {
		var list appsv1.ControllerRevisionList
		if err := live.List(t.Context(), &list, client.InNamespace(ns)); err != nil || len(list.Items) != 1 {
			return false, list.Items
		}
		return pod.IsControlledBy(&list.Items[0], set.UID) && get(t, ns, "web").Status.UpdateRevision == old.Name, list.Items[0].OwnerReferences
	})
	waitForPods(t, ns, 1)
	if got := podsOf(t, ns)[0].Labels[kruisev1alpha1.LabelRevision]; got != old.Name {
		t.Errorf("the pod carries revision %s, want the adopted %s", got, old.Name)
	}
}

func TestATemplateWithANameThatIsTakenGetsAnotherRevision(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.CloneSet("web").Replicas(1))
	waitForPods(t, ns, 1)
	first := get(t, ns, "web").Status.UpdateRevision
	other := namespace(t)
	foreign := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: first}, Revision: 1}
	foreign.Data.Raw = []byte(`{}`)
	if err := live.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	create(t, other, builders.CloneSet("web").Replicas(1)) // the same template leads to the same name
	waitForPods(t, other, 1)
	status := get(t, other, "web").Status
	if status.UpdateRevision == first || ptr.Deref(status.CollisionCount, 0) != 1 {
		t.Errorf("revision is %s (taken: %s), collision count %d", status.UpdateRevision, first, ptr.Deref(status.CollisionCount, 0))
	}
}
