// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/integration/plane"
)

func claimsOf(t *testing.T, ns string) map[string]corev1.PersistentVolumeClaim {
	t.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := live.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatalf("listing claims: %v", err)
	}
	claims := map[string]corev1.PersistentVolumeClaim{}
	for _, c := range list.Items {
		claims[c.Name] = c
	}
	return claims
}

// remove deletes a pod for good, as a person and its node do together.
func remove(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if err := live.Delete(t.Context(), p, client.GracePeriodSeconds(0)); err != nil {
		t.Fatalf("deleting pod %s: %v", p.Name, err)
	}
}

func editSet(t *testing.T, ns string, change func(*kruisev1alpha1.CloneSet)) {
	t.Helper()
	set := get(t, ns, "web")
	before := set.DeepCopy()
	change(set)
	if err := live.Patch(t.Context(), set, client.MergeFrom(before)); err != nil {
		t.Fatalf("editing the set: %v", err)
	}
}

func claimed(replicas int32) *builders.CloneSetBuilder {
	return builders.CloneSet("web").Replicas(replicas).Claim("data").With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	})
}

func TestTheClaimOfAPodThatSomebodyDeletedIsUsedAgain(t *testing.T) {
	ns := namespace(t)
	set := create(t, ns, claimed(2))
	waitForPods(t, ns, 2)
	before := claimsOf(t, ns)
	doomed := podsOf(t, ns)[0]
	own := before["data-"+doomed.Name]
	if len(before) != 2 || !metav1.IsControlledBy(&own, set) || own.Labels["app"] != "web" || "web-"+own.Labels[kruisev1alpha1.LabelInstanceID] != doomed.Name {
		t.Fatalf("claims of %s: %+v", doomed.Name, before)
	}
	remove(t, &doomed)
	plane.Until(t, "a new pod under the old name", func() (bool, any) {
		for _, p := range podsOf(t, ns) {
			if p.Name == doomed.Name && p.UID != doomed.UID {
				return true, nil
			}
		}
		return false, podsOf(t, ns)
	})
	after := claimsOf(t, ns)
	if len(after) != 2 || after[own.Name].UID != own.UID {
		t.Errorf("claim %s (UID %s) was not used again: %+v", own.Name, own.UID, after)
	}
	var events eventsv1.EventList
	if err := live.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Type == corev1.EventTypeWarning {
			t.Errorf("event %s: %s", e.Reason, e.Note)
		}
	}
}

func TestClaimsGoWithPodsThatAreScaledIn(t *testing.T) {
	ns := namespace(t)
	create(t, ns, claimed(2))
	waitForPods(t, ns, 2)
	editSet(t, ns, func(s *kruisev1alpha1.CloneSet) { s.Spec.Replicas = ptr.To[int32](1) })
	waitForPods(t, ns, 1) // pods without a node go at once
	left := "data-" + podsOf(t, ns)[0].Name
	plane.Until(t, "the other claim to be on its way out", func() (bool, any) {
		claims := claimsOf(t, ns)
		for name, c := range claims { // nobody here takes the protection off
			if (name == left) != (c.DeletionTimestamp == nil) {
				return false, claims
			}
		}
		return len(claims) == 2, claims
	})
	editSet(t, ns, func(s *kruisev1alpha1.CloneSet) { s.Spec.Replicas = ptr.To[int32](3) })
	waitForPods(t, ns, 3) // the claim that stays terminating holds nothing up
	for _, p := range podsOf(t, ns) {
		if c := claimsOf(t, ns)["data-"+p.Name]; c.DeletionTimestamp != nil {
			t.Errorf("pod %s was created on a claim that is on its way out", p.Name)
		}
	}
}

func TestWithoutReuseTheClaimOfAPodThatIsGoneIsDeleted(t *testing.T) {
	ns := namespace(t)
	set := create(t, ns, claimed(0))
	left := builders.CloneSet("x").Claim("data").Build().Spec.VolumeClaimTemplates[0].DeepCopy()
	left.Namespace, left.Name, left.Labels = ns, "data-web-zzzzz", map[string]string{"app": "web", kruisev1alpha1.LabelInstanceID: "zzzzz"}
	left.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, kruisev1alpha1.GroupVersion.WithKind("CloneSet"))}
	if err := live.Create(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	editSet(t, ns, func(s *kruisev1alpha1.CloneSet) {
		s.Spec.ScaleStrategy.DisablePVCReuse, s.Spec.Replicas = true, ptr.To[int32](1)
	})
	waitForPods(t, ns, 1)
	plane.Until(t, "the claim to be on its way out", func() (bool, any) {
		claims := claimsOf(t, ns)
		return claims[left.Name].DeletionTimestamp != nil && len(claims) == 2, claims
	})
	if p := podsOf(t, ns)[0]; p.Name == "web-zzzzz" {
		t.Errorf("the id of the claim was used again")
	}
}

func TestWithoutReuseATerminatingPodTakesItsClaimAlong(t *testing.T) {
	ns := namespace(t)
	set := create(t, ns, claimed(1).With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.ScaleStrategy.DisablePVCReuse = true
		s.Spec.Template.Finalizers = []string{"example.com/hold"}
	}))
	waitForPods(t, ns, 1)
	doomed := podsOf(t, ns)[0]
	remove(t, &doomed) // its finalizer keeps it
	plane.Until(t, "the pod to own its claim, and a second pod", func() (bool, any) {
		claims, pods := claimsOf(t, ns), podsOf(t, ns)
		own := claims["data-"+doomed.Name]
		return pod.IsControlledBy(&own, doomed.UID) && !metav1.IsControlledBy(&own, set) && len(own.OwnerReferences) == 1 && len(pods) == 2, claims
	})
}

func TestAClaimQuotaKeepsThePodFromBeingCreated(t *testing.T) {
	ns := namespace(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "few"}}
	none := corev1.ResourceList{"persistentvolumeclaims": resource.MustParse("0")}
	quota.Spec.Hard = none
	if err := live.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if err := live.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	create(t, ns, claimed(1))
	plane.Until(t, "condition FailedScale to name claim and quota", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1alpha1.CloneSetConditionFailedScale)
		return c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "creating claim data-web-") && strings.Contains(c.Message, "exceeded quota: few"), c
	})
	if pods := podsOf(t, ns); len(pods) != 0 {
		t.Errorf("%d pods without their claim", len(pods))
	}
	if err := live.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	waitForPods(t, ns, 1)
}

func TestATemplateThatMountsAClaimThatIsNoMoreIsToldAndNotTried(t *testing.T) {
	ns := namespace(t)
	create(t, ns, claimed(1).With(func(s *kruisev1alpha1.CloneSet) { s.Spec.VolumeClaimTemplates = nil }))
	plane.Until(t, "condition FailedScale to name the volume", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1alpha1.CloneSetConditionFailedScale)
		return c.Status == corev1.ConditionTrue && strings.Contains(c.Message, `mounts volume "data"`), c
	})
	editSet(t, ns, func(s *kruisev1alpha1.CloneSet) {
		s.Spec.VolumeClaimTemplates = builders.CloneSet("x").Claim("data").Build().Spec.VolumeClaimTemplates
	})
	waitForPods(t, ns, 1)
	plane.Until(t, "condition FailedScale to be taken back", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1alpha1.CloneSetConditionFailedScale)
		return c.Status == corev1.ConditionFalse, c
	})
}

func TestNamesOfPodsThatAreGoneLeavePodsToDelete(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.CloneSet("web").Replicas(2))
	waitForPods(t, ns, 2)
	doomed := podsOf(t, ns)[0]
	editSet(t, ns, func(s *kruisev1alpha1.CloneSet) {
		s.Spec.ScaleStrategy.PodsToDelete = []string{"web-nobody", doomed.Name}
		s.Spec.Replicas = ptr.To[int32](1)
	})
	plane.Until(t, "the pod and both names to be gone", func() (bool, any) {
		set, pods := get(t, ns, "web"), podsOf(t, ns)
		return len(pods) == 1 && pods[0].Name != doomed.Name && len(set.Spec.ScaleStrategy.PodsToDelete) == 0 && *set.Spec.Replicas == 1,
			fmt.Sprintf("%d pods, podsToDelete %v", len(pods), set.Spec.ScaleStrategy.PodsToDelete)
	})
}
