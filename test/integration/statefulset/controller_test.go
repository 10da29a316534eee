// SPDX-License-Identifier: Apache-2.0

package statefulset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/integration/plane"
)

var oneGi = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}

func create(t *testing.T, ns string, b *builders.StatefulSetBuilder) *kruisev1beta1.StatefulSet {
	t.Helper()
	set := b.With(func(s *kruisev1beta1.StatefulSet) {
		s.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: s.Name, Labels: s.Labels}
		s.Status = kruisev1beta1.StatefulSetStatus{}
	}).Build()
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatalf("creating the StatefulSet: %v", err)
	}
	return set
}

// patch changes the set "web" by a JSON patch.
func patch(t *testing.T, ns, operations string) {
	t.Helper()
	if err := live.Patch(t.Context(), get(t, ns, "web"), client.RawPatch("application/json-patch+json", []byte(operations))); err != nil {
		t.Fatalf("changing the set: %v", err)
	}
}

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

func waitForReady(t *testing.T, ns string) {
	t.Helper()
	plane.Until(t, "condition Ready", func() (bool, any) {
		set := get(t, ns, "web")
		c := condition(set, kruisev1beta1.StatefulSetConditionReady)
		return c.Status == corev1.ConditionTrue && set.Status.ObservedGeneration == set.Generation, c
	})
}

// bringUp plays the nodes until the set is ready.
func bringUp(t *testing.T, ns string) {
	t.Helper()
	plane.Until(t, "all pods in service", func() (bool, any) {
		greet(t, ns)
		serve(t, ns)
		set := get(t, ns, "web")
		c := condition(set, kruisev1beta1.StatefulSetConditionReady)
		return c.Status == corev1.ConditionTrue && set.Status.ObservedGeneration == set.Generation, c
	})
}

func names(t *testing.T, ns string) string {
	t.Helper()
	var all []string
	for _, p := range podsOf(t, ns) {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}

func TestASetFromAClientThatSetsNoDefaultsWorks(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.StatefulSet("web").With(func(s *kruisev1beta1.StatefulSet) { s.Spec.ServiceName = "web" }))
	bringUp(t, ns)
	p, set := podsOf(t, ns)[0], get(t, ns, "web")
	want := map[string]string{
		"app": "web", kruisev1alpha1.LabelRevision: set.Status.UpdateRevision, kruisev1beta1.LabelPodName: "web-0", kruisev1beta1.LabelPodIndex: "0",
		kruisev1alpha1.LabelLifecycleState: string(kruisev1alpha1.LifecycleNormal),
	}
	if diff := cmp.Diff(want, p.Labels); diff != "" {
		t.Errorf("labels of the pod (-want +got):\n%s", diff)
	}
	if p.Name != "web-0" || p.Spec.Hostname != "web-0" || p.Spec.Subdomain != "web" {
		t.Errorf("the pod is %s, %s.%s", p.Name, p.Spec.Hostname, p.Spec.Subdomain)
	}
	owner := metav1.GetControllerOf(&p)
	if owner == nil || owner.UID != set.UID || owner.APIVersion != "apps.kruise.io/v1beta1" || !ptr.Deref(owner.BlockOwnerDeletion, false) {
		t.Errorf("owner of the pod is %+v", owner)
	}
}

func TestASetThatIsOlderThanEveryDefaultWorks(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.StatefulSet("web").Replicas(2))
	bringUp(t, ns)
	err := server.Store.Rewrite(t.Context(), "apps.kruise.io/statefulsets", ns, "web", func(object map[string]any) {
		spec := object["spec"].(map[string]any) //nolint:forcetypeassert // stored by us
		for _, member := range []string{"replicas", "updateStrategy", "podManagementPolicy", "volumeClaimUpdateStrategy", "persistentVolumeClaimRetentionPolicy", "revisionHistoryLimit"} {
			delete(spec, member)
		}
		spec["replicas"] = nil
	})
	if err != nil {
		t.Fatal(err)
	}
	plane.Until(t, "the one pod that is wanted without replicas", func() (bool, any) {
		for _, p := range podsOf(t, ns) {
			if p.DeletionTimestamp != nil {
				remove(t, &p)
			}
		}
		return names(t, ns) == "web-0", names(t, ns)
	})
	waitForReady(t, ns)
}

// remove deletes a pod for good, as a person and its node do together.
func remove(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if err := client.IgnoreNotFound(live.Delete(t.Context(), p, client.GracePeriodSeconds(0))); err != nil {
		t.Fatalf("deleting pod %s: %v", p.Name, err)
	}
}

func TestAQuotaIsToldUntilAPodIsCreated(t *testing.T) {
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
	create(t, ns, builders.StatefulSet("web").Replicas(1))
	plane.Until(t, "condition FailedCreatePod to name the quota", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1beta1.StatefulSetConditionFailedCreatePod)
		return c.Status == corev1.ConditionTrue && strings.HasPrefix(c.Message, "StatefulPodControl failed to create Pod error: ") && strings.Contains(c.Message, "exceeded quota: few"), c
	})
	if err := live.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	bringUp(t, ns)
	if c := condition(get(t, ns, "web"), kruisev1beta1.StatefulSetConditionFailedCreatePod); c.Status != corev1.ConditionFalse || c.Message != "" {
		t.Errorf("in the end, FailedCreatePod is %+v", c)
	}
}

func TestAClaimThatIsGoneComesBackAndItsPodWaitsForIt(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.StatefulSet("web").Replicas(1).Claim("data", "1Gi"))
	bringUp(t, ns)
	claim := claimsOf(t, ns)["data-web-0"]
	if err := live.Delete(t.Context(), &claim); err != nil { // it is protected as long as its pod uses it
		t.Fatal(err)
	}
	p := podsOf(t, ns)[0]
	remove(t, &p)
	plane.Until(t, "the set to wait for the claim", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1beta1.StatefulSetConditionReady)
		return strings.Contains(c.Message, "claim data-web-0 is being deleted"), c
	})
	unprotected := claim.DeepCopy()
	unprotected.Finalizers = nil
	if err := live.Patch(t.Context(), unprotected, client.MergeFrom(&claim)); err != nil {
		t.Fatal(err)
	}
	bringUp(t, ns)
	if again := claimsOf(t, ns)["data-web-0"]; again.UID == claim.UID {
		t.Error("the claim is still the same")
	}
}

func TestClaimsChangeHandsWithTheRetentionPolicy(t *testing.T) {
	ns := namespace(t)
	set := create(t, ns, builders.StatefulSet("web").Replicas(1).Claim("data", "1Gi"))
	bringUp(t, ns)
	owners := func(want string) func() (bool, any) {
		return func() (bool, any) {
			var kinds []string
			for _, o := range claimsOf(t, ns)["data-web-0"].OwnerReferences {
				kinds = append(kinds, fmt.Sprintf("%s %s %v", o.Kind, o.Name, ptr.Deref(o.Controller, false)))
			}
			got := strings.Join(kinds, ", ")
			return got == want, got
		}
	}
	patch(t, ns, `[{"op":"replace","path":"/spec/persistentVolumeClaimRetentionPolicy","value":{"whenDeleted":"Delete","whenScaled":"Delete"}}]`)
	plane.Until(t, "the claim to go with the set", owners("StatefulSet web false"))
	patch(t, ns, `[{"op":"replace","path":"/spec/replicas","value":0}]`)
	plane.Until(t, "the claim to go with its pod", owners("Pod web-0 false"))
	if c := claimsOf(t, ns)["data-web-0"]; c.OwnerReferences[0].UID == set.UID {
		t.Errorf("owners are %+v", c.OwnerReferences)
	}
}

func TestAClaimGrowsWithItsTemplateAndNoPodIsTouched(t *testing.T) {
	ns := namespace(t)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "growing-"}, Provisioner: "test.invalid/none", AllowVolumeExpansion: ptr.To(false)}
	if err := live.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	create(t, ns, builders.StatefulSet("web").Replicas(1).Claim("data", "1Gi").With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
		s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &class.Name
	}))
	bringUp(t, ns)
	bind := func(size string) {
		claim := claimsOf(t, ns)["data-web-0"]
		before := claim.DeepCopy()
		claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		if err := live.Status().Patch(t.Context(), &claim, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	bind("1Gi")
	pods := podsOf(t, ns)[0].ResourceVersion
	patch(t, ns, `[{"op":"replace","path":"/spec/volumeClaimTemplates/0/spec/resources/requests/storage","value":"2Gi"}]`)
	plane.Until(t, "the set to say that the class lets nothing grow", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1beta1.StatefulSetConditionStalled)
		return c.Status == corev1.ConditionTrue && c.Reason == "FailedUpdatePVC" && strings.HasPrefix(c.Message, "claim data-web-0 of pod web-0"), c
	})
	rigid := class.DeepCopy()
	class.AllowVolumeExpansion = ptr.To(true)
	if err := live.Patch(t.Context(), class, client.MergeFrom(rigid)); err != nil {
		t.Fatal(err)
	}
	plane.Until(t, "the claim to ask for more, now that it may", func() (bool, any) {
		claim := claimsOf(t, ns)["data-web-0"]
		return claim.Spec.Resources.Requests.Storage().String() == "2Gi" && claim.Annotations[kruisev1beta1.AnnotationOwnedByStatefulSet] == "web", claim.Spec.Resources
	})
	bind("2Gi")
	plane.Until(t, "the status to tell of the volume", func() (bool, any) {
		claims := get(t, ns, "web").Status.VolumeClaims
		return cmp.Equal(claims, []kruisev1beta1.VolumeClaimStatus{{VolumeClaimName: "data", CompatibleReplicas: 1, CompatibleReadyReplicas: 1}}), claims
	})
	if after := podsOf(t, ns)[0].ResourceVersion; after != pods || len(revisionsOf(t, ns)) != 1 {
		t.Errorf("the pod was at version %s and is at %s; there are %d revisions", pods, after, len(revisionsOf(t, ns)))
	}
}

func TestAPodOfAnotherControllerKeepsItsName(t *testing.T) {
	ns := namespace(t)
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-0", Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "other", Controller: ptr.To(true)},
	}}}
	foreign.Spec.Containers = []corev1.Container{{Name: "app", Image: builders.Image}}
	if err := live.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	create(t, ns, builders.StatefulSet("web").Replicas(1).With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType // else it would be replaced: it is of no revision
	}))
	plane.Until(t, "the set to wait for the name", func() (bool, any) {
		c := condition(get(t, ns, "web"), kruisev1beta1.StatefulSetConditionReady)
		return strings.Contains(c.Message, "its name is taken by a pod that is not the set's"), c
	})
	// Its owner lets go of it: then it is adopted.
	if err := live.Patch(t.Context(), foreign, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"ownerReferences":null}}`))); err != nil {
		t.Fatal(err)
	}
	plane.Until(t, "the pod to be adopted", func() (bool, any) {
		p := podsOf(t, ns)[0]
		owner := metav1.GetControllerOf(&p)
		return owner != nil && owner.UID == get(t, ns, "web").UID && p.UID == foreign.UID, p.OwnerReferences
	})
}
