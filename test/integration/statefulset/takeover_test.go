// SPDX-License-Identifier: Apache-2.0

package statefulset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/integration/plane"
)

// takenOver is a namespace whose objects another publisher's controller has made, before ours was started.
const takenOver = "taken-over"

// stored is a set as such a publisher's clients write it.
const stored = `{
  "apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet",
  "metadata": {"name": "web", "namespace": "taken-over", "annotations": {"team": "shop"}},
  "spec": {
    "replicas": 2, "serviceName": "web", "podManagementPolicy": "Parallel", "revisionHistoryLimit": 10,
    "selector": {"matchLabels": {"app": "web"}},
    "template": {
      "metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
      "spec": {
        "containers": [{"name": "app", "image": "registry.test/app:v1", "resources": {}, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        "readinessGates": [{"conditionType": "InPlaceUpdateReady"}]
      }
    },
    "volumeClaimTemplates": [{
      "metadata": {"creationTimestamp": null, "name": "data"},
      "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
      "status": {}
    }],
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1, "podUpdatePolicy": "InPlaceIfPossible", "minReadySeconds": 0}}
  }
}`

// recorded is the data of its revision: with defaults that the API server has set since, and an empty creation time.
const recorded = `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{` +
	`"containers":[{"image":"registry.test/app:v1","imagePullPolicy":"IfNotPresent","name":"app","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","volumeMounts":[{"mountPath":"/data","name":"data"}]}],` +
	`"dnsPolicy":"ClusterFirst","readinessGates":[{"conditionType":"InPlaceUpdateReady"}],"restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}`

const oldRevision = "web-6d5f7c9b8"

// storeWhatOthersMade fills the namespace takenOver.
func storeWhatOthersMade() error {
	ctx := context.Background()
	if err := live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: takenOver}}); err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(stored), &object); err != nil {
		return err
	}
	if err := live.Create(ctx, &unstructured.Unstructured{Object: object}); err != nil {
		return fmt.Errorf("storing the set: %w", err)
	}
	set := &kruisev1beta1.StatefulSet{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: takenOver, Name: "web"}, set); err != nil {
		return err
	}
	owner := metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Name: "web", UID: set.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
	if err := storeRevision(ctx, takenOver, owner); err != nil {
		return err
	}
	for n := range 2 {
		if err := storePod(ctx, takenOver, n, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{owner}
			p.Labels["lifecycle.apps.kruise.io/state"] = "Normal"
			p.Annotations = map[string]string{"lifecycle.apps.kruise.io/timestamp": "2026-01-01T00:00:00Z"}
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}}
		}); err != nil {
			return err
		}
	}
	before := set.DeepCopy()
	set.Status = kruisev1beta1.StatefulSetStatus{
		ObservedGeneration: 1, Replicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, CurrentReplicas: 2, UpdatedReplicas: 2,
		CurrentRevision: oldRevision, UpdateRevision: oldRevision, CollisionCount: ptr.To[int32](0), LabelSelector: "app=web",
	}
	return live.Status().Patch(ctx, set, client.MergeFrom(before))
}

func storeRevision(ctx context.Context, ns string, owners ...metav1.OwnerReference) error {
	r := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: oldRevision, Labels: map[string]string{"app": "web", "controller.kubernetes.io/hash": "6d5f7c9b8"},
			Annotations: map[string]string{"team": "shop"}, OwnerReferences: owners,
		},
		Revision: 7,
	}
	r.Data.Raw = []byte(recorded)
	if err := live.Create(ctx, r); err != nil {
		return fmt.Errorf("storing the revision: %w", err)
	}
	return nil
}

// storePod stores a pod that runs, and its claim.
func storePod(ctx context.Context, ns string, n int, change func(*corev1.Pod)) error {
	name := fmt.Sprintf("web-%d", n)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + name, Labels: map[string]string{"app": "web"}}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = oneGi
	if err := live.Create(ctx, claim); err != nil {
		return fmt.Errorf("storing claim %s: %w", claim.Name, err)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{
		"app": "web", "controller-revision-hash": oldRevision, "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": fmt.Sprint(n),
	}}}
	p.Spec = corev1.PodSpec{
		Hostname: name, Subdomain: "web",
		Containers: []corev1.Container{{Name: "app", Image: "registry.test/app:v1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}}},
	}
	change(p)
	if err := live.Create(ctx, p); err != nil {
		return fmt.Errorf("storing pod %s: %w", name, err)
	}
	before := p.DeepCopy()
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, ptr.To(metav1.Now())
	kinds := []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady}
	for _, g := range p.Spec.ReadinessGates {
		kinds = append(kinds, g.ConditionType)
	}
	for _, kind := range kinds {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	return live.Status().Patch(ctx, p, client.StrategicMergeFrom(before))
}

// eachPart shows all pods, claims and revisions of a namespace, each with its kind.
func eachPart(t *testing.T, ns string, show func(kind string, o client.Object)) {
	t.Helper()
	for _, p := range podsOf(t, ns) {
		show("pod", &p)
	}
	for _, c := range claimsOf(t, ns) {
		show("claim", &c)
	}
	for _, r := range revisionsOf(t, ns) {
		show("revision", &r)
	}
}

// versions are the UIDs and versions of all pods, claims and revisions of a namespace.
func versions(t *testing.T, ns string) map[string]string {
	t.Helper()
	found := map[string]string{}
	note := func(kind string, o client.Object) {
		found[kind+" "+o.GetName()] = string(o.GetUID()) + "/" + o.GetResourceVersion()
	}
	eachPart(t, ns, note)
	return found
}

func revisionsOf(t *testing.T, ns string) []appsv1.ControllerRevision {
	t.Helper()
	var list appsv1.ControllerRevisionList
	if err := live.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatalf("listing revisions: %v", err)
	}
	return list.Items
}

func TestWhatAnotherPublisherStoredIsTakenOverUntouched(t *testing.T) {
	before := versions(t, takenOver)
	waitForReady(t, takenOver)
	if diff := cmp.Diff(before, versions(t, takenOver)); diff != "" || len(before) != 5 {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	status := get(t, takenOver, "web").Status
	if status.CurrentRevision != oldRevision || status.UpdateRevision != oldRevision || status.UpdatedAvailableReplicas != 2 {
		t.Errorf("status is %+v", status)
	}

	// What was taken over takes part in the next release as any other.
	patch(t, takenOver, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"registry.test/app:v2"}]`)
	plane.Until(t, "the highest pod to be updated in place", func() (bool, any) {
		p := podsOf(t, takenOver)[1]
		return p.Spec.Containers[0].Image == "registry.test/app:v2" && p.Name == "web-1", p.Spec.Containers[0]
	})
}

// When a set is deleted with its pods left behind, a new one of the same name takes them.
func TestChildrenThatLostTheirOwnerAreAdopted(t *testing.T) {
	ns := namespace(t)
	uids := storeOrphans(t, ns)
	set := storeSet(t, ns, nil)
	for _, p := range podsOf(t, ns) {
		if string(p.UID) != uids[p.Name] || !pod.IsControlledBy(&p, set.UID) {
			t.Errorf("pod %s was not adopted: %v", p.Name, p.OwnerReferences)
		}
		delete(uids, p.Name)
	}
	if len(uids) > 0 {
		t.Errorf("pods are gone: %v", uids)
	}
	revisions := revisionsOf(t, ns)
	if len(revisions) != 1 || !pod.IsControlledBy(&revisions[0], set.UID) || revisions[0].Revision != 7 {
		t.Errorf("revisions are %+v", revisions)
	}
}

// A backup, for one, may put its own object beside the controller of what it has restored.
func TestWhatIsAdoptedKeepsItsOtherOwners(t *testing.T) {
	ns := namespace(t)
	backup := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "backup"}}
	if err := live.Create(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	storeOrphans(t, ns, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: backup.Name, UID: backup.UID})
	set := storeSet(t, ns, map[string]any{"whenDeleted": "Delete"})
	both := []types.UID{backup.UID, set.UID}
	slices.Sort(both)
	want := map[string][]types.UID{"pod web-0": both, "pod web-1": both, "claim data-web-0": both, "claim data-web-1": both, "revision " + oldRevision: both}
	plane.Until(t, "all to have both owners", func() (bool, any) {
		diff := cmp.Diff(want, ownersIn(t, ns))
		return diff == "", diff
	})
}

// ownersIn are the owners of all pods, claims and revisions of a namespace, in order.
func ownersIn(t *testing.T, ns string) map[string][]types.UID {
	t.Helper()
	found := map[string][]types.UID{}
	note := func(kind string, o client.Object) {
		var owners []types.UID
		for _, ref := range o.GetOwnerReferences() {
			owners = append(owners, ref.UID)
		}
		slices.Sort(owners)
		found[kind+" "+o.GetName()] = owners
	}
	eachPart(t, ns, note)
	return found
}

// storeOrphans stores a revision, and pods as the built-in kind makes them: without gates and without a lifecycle state. It
// returns the UIDs of the pods. The owners are those of the pods, of their claims and of the revision.
func storeOrphans(t *testing.T, ns string, owners ...metav1.OwnerReference) map[string]string {
	t.Helper()
	if err := storeRevision(t.Context(), ns, owners...); err != nil {
		t.Fatal(err)
	}
	uids := map[string]string{}
	for n := range 2 {
		if err := storePod(t.Context(), ns, n, func(p *corev1.Pod) { p.OwnerReferences = owners }); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range podsOf(t, ns) {
		uids[p.Name] = string(p.UID)
	}
	for _, c := range claimsOf(t, ns) {
		before := c.DeepCopy()
		c.OwnerReferences = owners
		if err := live.Patch(t.Context(), &c, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	return uids
}

// storeSet stores the set that takes orphans, and waits for it to be ready. The retention of its claims may be nil.
func storeSet(t *testing.T, ns string, retention map[string]any) *kruisev1beta1.StatefulSet {
	t.Helper()
	set := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(stored), &set.Object); err != nil {
		t.Fatal(err)
	}
	set.Object["metadata"] = map[string]any{"name": "web", "namespace": ns}
	if retention != nil {
		if err := unstructured.SetNestedMap(set.Object, retention, "spec", "persistentVolumeClaimRetentionPolicy"); err != nil {
			t.Fatal(err)
		}
	}
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	waitForReady(t, ns)
	return get(t, ns, "web")
}
