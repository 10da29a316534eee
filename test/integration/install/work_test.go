// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/builders"
)

const place = "work" // the namespace of the sets below

// TestTheRoleIsExactlyTheWork has two managers do everything that they can do, and compares what the API server wrote down of
// it with the role: nothing was denied, and nothing that the role gives was left unused.
func TestTheRoleIsExactlyTheWork(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	given := rights(t)
	before, err := os.Stat(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			seen := readRecord(t, before.Size(), given)
			t.Logf("used are\n%v\nunused are\n%s\ndenied are\n%s", seen.used, strings.Join(seen.unused(given), "\n"), strings.Join(seen.denied, "\n"))
		}
	})
	w := prepareWork(t, c)
	// Neither is to lose its lease because the machine is busy.
	patient := []string{"--leader-election-lease-duration=90s", "--leader-election-renew-deadline=80s", "--application-revision-limit=0"}

	// The first manager finds a server of before watch-lists, creates the lease and steps down; the second takes the lease over.
	first := startManagerOf(t, startFront(t, true).url, patient...)
	eventually(t, "the manager leads", func() error { return first.leads(t, c, true) })
	w.cloneSet(t)
	w.statefulSet(t)
	w.inPlaceSet(t)
	w.cafeDeployments(t, "units", cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType,
		cafev1alpha1.CloneSetPodSetType, cafev1alpha1.AdvancedStatefulSetPodSetType)
	w.rollouts(t)
	w.applications(t)
	first.stop(t)
	if err := first.leads(t, c, false); err != nil {
		t.Errorf("the manager ended in order, but its lease was not given back: %v", err)
	}
	broken := startFront(t, false)
	second := startManagerOf(t, broken.url, patient...)
	eventually(t, "the manager leads", func() error { return second.leads(t, c, true) })

	uses := func(wanted right) error {
		if seen := readRecord(t, before.Size(), given); !seen.used[wanted] {
			return fmt.Errorf("there was no %s", wanted)
		}
		return nil
	}
	// What became of a creation without an answer is looked up.
	broken.failNext("inplacesets", "replicasets", "statefulsets", "clonesets")
	w.cafeDeployments(t, "unsure", cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType, cafev1alpha1.CloneSetPodSetType)
	// The first patch of a deployment that fails is overtaken by that of its status.
	broken.failNext("statefulsets", "patch of cafedeployments", "patch of cafedeployments")
	w.cafeDeployments(t, "doubtful", cafev1alpha1.AdvancedStatefulSetPodSetType)
	broken.failNext("patch of rollouttraits") // the finalizer
	w.doubtful(t)
	broken.failNext("controllerrevisions", "persistentvolumeclaims", "pods")
	w.create(t, builders.StatefulSet("late").Replicas(1).Parallel().Claim("data", "1Gi").With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.Template.Spec.NodeName = playedHere
	}).Build())
	eventually(t, "the late set is ready", func() error { return w.play(t, "late", 1) })
	// Each time that a pod is refused, the event of the first time is counted up.
	w.create(t, builders.StatefulSet("refused").Replicas(1).With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 99999}}
	}).Build())
	eventually(t, "the event is counted up", func() error { return uses(right{"", "patch", "events.k8s.io", "events", ""}) })
	second.stop(t)

	seen := readRecord(t, before.Size(), given)
	for _, denied := range seen.denied {
		t.Errorf("denied: %s", denied)
	}
	for _, each := range seen.unused(given) {
		t.Errorf("the role gives a right that nothing uses: %s", each)
	}
	if len(given) < 30 || len(seen.used) < 30 {
		t.Errorf("%d rights are given and %d used: that cannot be all", len(given), len(seen.used))
	}
}

// A right that is no request: without it the API server refuses a pod that blocks the deletion of its set.
func TestBlockingTheDeletionOfASetNeedsItsFinalizers(t *testing.T) {
	c := newClient(t)
	install(t, c)
	weak := *cluster
	weak.Impersonate.UserName = "weak"
	asWeak, err := client.New(&weak, client.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := asWeak.Create(t.Context(), owning("x"), client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Fatalf("without any right: %v", err)
	}
	allow(t, c, "weak", "", "pods", "create")
	eventually(t, "only the right to finalizers is missing", func() error {
		if err := asWeak.Create(t.Context(), owning("x"), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "blockOwnerDeletion") {
			return errors.Join(errors.New("the answer is another one"), err)
		}
		return nil
	})
	allow(t, c, "weak", kruisev1alpha1.GroupVersion.Group, "clonesets/finalizers", "update")
	eventually(t, "the pod is allowed", func() error { return asWeak.Create(t.Context(), owning("x"), client.DryRunAll) })
}

// Nor is this one a request: an object that is there gets an owner only from who may delete it, since an owner that is gone has
// it deleted.
func TestGivingAnOwnerNeedsTheRightToDelete(t *testing.T) {
	c := newClient(t)
	install(t, c)
	weak := *cluster
	weak.Impersonate.UserName = "holder"
	asWeak, err := client.New(&weak, client.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "held-"}}
	if err := c.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	claim := func() error {
		after := held.DeepCopy()
		after.OwnerReferences = []metav1.OwnerReference{{APIVersion: "standard.oam.dev/v1alpha1", Kind: "RolloutTrait", Name: "x", UID: "some-uid"}}
		return asWeak.Patch(t.Context(), after, client.MergeFrom(held), client.DryRunAll)
	}
	allow(t, c, "holder", "", "configmaps", "patch")
	eventually(t, "only the right to delete is missing", func() error {
		if err := claim(); err == nil || !strings.Contains(err.Error(), "cannot set an ownerRef") {
			return errors.Join(errors.New("the answer is another one"), err)
		}
		return nil
	})
	allow(t, c, "holder", "", "configmaps", "delete")
	eventually(t, "the claim is allowed", claim)
}

// work are the sets that the managers work on.
type work struct {
	c client.Client
}

const playedHere = "played-here"

func prepareWork(t *testing.T, c client.Client) *work {
	t.Helper()
	w := &work{c: c}
	w.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: place}})
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("100")}
	w.create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: playedHere}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}})
	w.create(t, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "registry.test/none", AllowVolumeExpansion: ptr.To(true)})
	if err := client.IgnoreNotFound(c.Delete(t.Context(), managersLease())); err != nil {
		t.Fatalf("removing the lease of an earlier test: %v", err)
	}
	// A revision that nobody owns is adopted, so that the manager asks for the set itself.
	for _, app := range []string{"shop", "cell"} {
		w.create(t, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: app + "-orphan", Labels: map[string]string{"app": app}},
			Data:       runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"registry.test/app:v0"}]}}}}`)},
			Revision:   1,
		})
	}
	// So is a pod that is called like one of the StatefulSet.
	w.create(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "db-0", Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PodSpec{NodeName: playedHere, Containers: []corev1.Container{{Name: "app", Image: "registry.test/app:v0"}}},
	})
	return w
}

func (w *work) create(t *testing.T, object client.Object) {
	t.Helper()
	switch object.(type) {
	case *corev1.Namespace, *corev1.Node, *storagev1.StorageClass:
	default:
		object.SetNamespace(place)
	}
	object.SetUID("")
	object.SetGeneration(0)
	if err := w.c.Create(t.Context(), object); err != nil {
		t.Fatalf("creating %s: %v", object.GetName(), err)
	}
}

// edited changes a set, whatever version it has by then.
func edited[T client.Object](t *testing.T, c client.Client, object T, change func(T)) {
	t.Helper()
	eventually(t, "the edit is taken", func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return c.Update(t.Context(), object)
	})
}

// play does what nodes and volumes do for the pods of an app, once. It returns an error until there are want pods, all ready.
func (w *work) play(t *testing.T, app string, want int) error {
	t.Helper()
	claims := &corev1.PersistentVolumeClaimList{}
	if err := w.c.List(t.Context(), claims, client.InNamespace(place)); err != nil {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		asked := claim.Spec.Resources.Requests
		if got := claim.Status.Capacity; claim.Status.Phase == corev1.ClaimBound && got.Storage().Cmp(*asked.Storage()) >= 0 {
			continue
		}
		claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: *asked.Storage()}
		if err := w.c.Status().Update(t.Context(), claim); err != nil {
			return err
		}
	}
	return playNode(t, w.c, &kruisev1alpha1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: place},
		Spec:       kruisev1alpha1.CloneSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}, want)
}

// cloneSet brings a CloneSet through all that it can go through.
func (w *work) cloneSet(t *testing.T) {
	set := builders.CloneSet("shop").Replicas(3).Type(kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType).MaxUnavailable("100%").Claim("data").
		With(func(s *kruisev1alpha1.CloneSet) {
			s.Spec.RevisionHistoryLimit = ptr.To[int32](1)
			s.Spec.Template.Spec.NodeName = playedHere
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
			s.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: s.Spec.Selector,
			}}
		}).Build()
	w.create(t, set)
	settled := func(what string, want int32) {
		t.Helper()
		eventually(t, what, func() error { return errors.Join(w.play(t, "shop", int(want)), updated(t, w.c, set, want)) })
	}
	container := func(s *kruisev1alpha1.CloneSet) *corev1.Container { return &s.Spec.Template.Spec.Containers[0] }
	settled("three pods are ready", 3)
	for _, image := range []string{"registry.test/app:v2", builders.Image, "registry.test/app:v3"} { // the second is a rollback
		edited(t, w.c, set, func(s *kruisev1alpha1.CloneSet) { container(s).Image = image })
		settled("all have the image "+image, 3)
	}
	edited(t, w.c, set, func(s *kruisev1alpha1.CloneSet) {
		container(s).Resources.Requests[corev1.ResourceCPU] = resource.MustParse("200m")
	})
	settled("all are resized", 3)
	edited(t, w.c, set, func(s *kruisev1alpha1.CloneSet) { container(s).Env = []corev1.EnvVar{{Name: "NEW", Value: "1"}} })
	settled("all are made anew", 3)

	pods := &corev1.PodList{}
	if err := w.c.List(t.Context(), pods, client.InNamespace(place), client.MatchingLabels{"app": "shop"}); err != nil {
		t.Fatal(err)
	}
	edited(t, w.c, set, func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Replicas, s.Spec.ScaleStrategy.PodsToDelete = ptr.To[int32](2), []string{pods.Items[0].Name}
	})
	settled("one is deleted by name", 2)
	edited(t, w.c, set, func(s *kruisev1alpha1.CloneSet) { s.Spec.Replicas = ptr.To[int32](1) })
	settled("one is left", 1)
	eventually(t, "the list of pods to delete is empty", func() error {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil || len(set.Spec.ScaleStrategy.PodsToDelete) > 0 {
			return errors.Join(fmt.Errorf("it holds %v", set.Spec.ScaleStrategy.PodsToDelete), err)
		}
		return nil
	})
}

// statefulSet brings a StatefulSet through all that it can go through.
func (w *work) statefulSet(t *testing.T) {
	set := builders.StatefulSet("db").Replicas(2).Parallel().InPlace().Claim("data", "1Gi").With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.RevisionHistoryLimit = ptr.To[int32](0)
		s.Spec.Template.Spec.NodeName = playedHere
		s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = ptr.To("grows")
		s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
		s.Spec.PersistentVolumeClaimRetentionPolicy = &kruisev1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenScaled: kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
	}).Build()
	w.create(t, set)
	settled := func(what string, want int32) {
		t.Helper()
		eventually(t, what, func() error {
			if err := errors.Join(w.play(t, "db", int(want)), w.c.Get(t.Context(), client.ObjectKeyFromObject(set), set)); err != nil {
				return err
			}
			if s := set.Status; s.ObservedGeneration != set.Generation || s.UpdatedReadyReplicas != want {
				return fmt.Errorf("generation %d of %d is observed, %d pods are updated and ready", s.ObservedGeneration, set.Generation, s.UpdatedReadyReplicas)
			}
			return nil
		})
	}
	settled("two pods are ready", 2)
	edited(t, w.c, set, func(s *kruisev1beta1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
		s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	})
	settled("both are updated and their claims have grown", 2)
	edited(t, w.c, set, func(s *kruisev1beta1.StatefulSet) { s.Spec.Replicas = ptr.To[int32](1) })
	settled("one is left", 1)
}

// inPlaceSet brings an InPlaceSet through all that others do not go through.
func (w *work) inPlaceSet(t *testing.T) {
	set := builders.InPlaceSet("cell").Replicas(2).MaxUnavailable("100%").With(func(s *cafev1alpha1.InPlaceSet) {
		s.Spec.Template.Spec.NodeName = playedHere
	}).Build()
	w.create(t, set)
	settled := func(what string) {
		t.Helper()
		eventually(t, what, func() error {
			if err := errors.Join(w.play(t, "cell", 2), w.c.Get(t.Context(), client.ObjectKeyFromObject(set), set)); err != nil {
				return err
			}
			if s := set.Status; s.ObservedGeneration != set.Generation || s.UpdatedReadyReplicas != 2 {
				return fmt.Errorf("generation %d of %d is observed, %d pods are updated and ready", s.ObservedGeneration, set.Generation, s.UpdatedReadyReplicas)
			}
			return nil
		})
	}
	settled("two pods are ready")
	edited(t, w.c, set, func(s *cafev1alpha1.InPlaceSet) { s.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2" })
	settled("both are updated")
}

func managersLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "slipway-manager"}}
}

// owning is a pod that blocks the deletion of a CloneSet.
func owning(set string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owned", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: kruisev1alpha1.CloneSetKind, Name: set, UID: "some-uid",
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.test/app:v1"}}},
	}
}

// allow gives a user a right in every namespace.
func allow(t *testing.T, c client.Client, user, group, resource, verb string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}},
	}
	if err := c.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if err := c.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}
