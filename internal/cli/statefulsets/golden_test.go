// SPDX-License-Identifier: Apache-2.0

package statefulsets

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

func now() time.Time { return builders.Epoch().Add(3 * time.Minute) }

// world is a set of some pods on revision "one" (app:1), going to "two" (app:2).
type world struct {
	Snapshot
	t *testing.T
}

func newWorld(t *testing.T, replicas int32, change ...func(*builders.StatefulSetBuilder)) *world {
	t.Helper()
	b := builders.StatefulSet("web").Replicas(replicas).InPlace()
	for _, c := range change {
		c(b)
	}
	w := &world{t: t, Snapshot: Snapshot{Set: b.Build()}}
	w.Set.Spec.Template.Spec.Containers[0].Image = "app:1"
	w.revision("one", 1)
	w.Set.Status = kruisev1beta1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: "web-one", CurrentRevision: "web-one"}
	return w
}

func (w *world) revision(hash string, number int64) {
	w.t.Helper()
	data, err := revision.Data(&w.Set.Spec.Template)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Revisions = append(w.Revisions, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "web-" + hash, Namespace: w.Set.Namespace,
			OwnerReferences: []metav1.OwnerReference{{UID: w.Set.UID, Controller: ptr.To(true)}}},
		Revision: number, Data: runtime.RawExtension{Raw: data},
	})
}

func (w *world) release() *world {
	w.t.Helper()
	w.Set.Spec.Template.Spec.Containers[0].Image = "app:2"
	w.revision("two", 2)
	w.Set.Status.UpdateRevision = "web-two"
	return w
}

// pod adds the pod of an ordinal.
func (w *world) pod(n int, hash string, change ...func(*builders.PodBuilder)) *world {
	set := w.Set.DeepCopy()
	set.Spec.Template.Spec.Containers[0].Image = map[string]string{"one": "app:1", "two": "app:2"}[hash]
	b := builders.MemberPod(set, n, "web-"+hash).Node(fmt.Sprintf("node-%d", n%3+1)).
		With(func(p *corev1.Pod) { p.Status.PodIP = fmt.Sprintf("10.1.0.%d", n) })
	for _, c := range change {
		c(b)
	}
	w.Pods = append(w.Pods, b.Build())
	return w
}

func (w *world) pods(hash string, ordinals ...int) *world {
	for _, n := range ordinals {
		w.pod(n, hash)
	}
	return w
}

// claim adds a claim of template data, with a volume of that size.
func (w *world) claim(n int, size, volume string, change ...func(*corev1.PersistentVolumeClaim)) *world {
	c := w.Set.Spec.VolumeClaimTemplates[0].DeepCopy()
	c.Namespace, c.Name = w.Set.Namespace, fmt.Sprintf("data-web-%d", n)
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	c.Status.Phase = corev1.ClaimBound
	c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(volume)}
	for _, ch := range change {
		ch(c)
	}
	w.Claims = append(w.Claims, c)
	return w
}

// counted writes the counters that the controller would.
func (w *world) counted() *world {
	v := NewView(w.Snapshot, now())
	s := &w.Set.Status
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas = int32(len(w.Pods)), int32(v.Ready), int32(v.Available)
	s.UpdatedReplicas, s.UpdatedAvailableReplicas = int32(v.Updated), int32(v.UpdatedAvailable)
	return w
}

func updating(b *builders.PodBuilder)    { b.Updating() }
func broken(b *builders.PodBuilder)      { b.Waiting("ImagePullBackOff") }
func fresh(b *builders.PodBuilder)       { b.Fresh() }
func terminating(b *builders.PodBuilder) { b.Terminating(now()) }

func cond(w *world, t kruisev1beta1.StatefulSetConditionType, s corev1.ConditionStatus, reason, message string) *world {
	w.Set.Status.Conditions = append(w.Set.Status.Conditions, kruisev1beta1.StatefulSetCondition{Type: t, Status: s, Reason: reason, Message: message})
	return w
}

func reserve(entries ...intstr.IntOrString) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) {
		b.With(func(set *kruisev1beta1.StatefulSet) { set.Spec.ReserveOrdinals = entries })
	}
}

func withClaims(b *builders.StatefulSetBuilder) { b.Claim("data", "2Gi") }

func parallel(b *builders.StatefulSetBuilder) { b.Parallel().MaxUnavailable("50%").Partition(2) }

func paused(b *builders.StatefulSetBuilder) {
	b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.Paused = true })
}

func onDelete(b *builders.StatefulSetBuilder) {
	b.With(func(set *kruisev1beta1.StatefulSet) {
		set.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType
	})
}

func growing(b *builders.StatefulSetBuilder) {
	b.With(func(set *kruisev1beta1.StatefulSet) {
		set.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
	})
}

func scenes(t *testing.T) map[string]*world {
	ready := kruisev1beta1.StatefulSetConditionReady
	grown := newWorld(t, 3, withClaims, growing).pods("one", 0, 1, 2).claim(0, "1Gi", "1Gi").claim(1, "2Gi", "1Gi").claim(2, "2Gi", "2Gi")
	grown.Set.Status.VolumeClaims = []kruisev1beta1.VolumeClaimStatus{{VolumeClaimName: "data", CompatibleReplicas: 2, CompatibleReadyReplicas: 1}}
	return map[string]*world{
		"released": newWorld(t, 3).pods("one", 0, 1, 2),
		"releasing": cond(newWorld(t, 3).release().pods("one", 0, 1).pod(2, "two", updating), ready, corev1.ConditionFalse, "WaitingForPods",
			"2 of 3 pods available, 1 of 3 updated; waiting for pod web-2 (its in-place update is not complete)"),
		"held-up":          newWorld(t, 3).release().pods("one", 0, 1).pod(2, "two", broken),
		"paused":           newWorld(t, 3, paused).release().pods("one", 0, 1).pods("two", 2),
		"on-delete":        newWorld(t, 2, onDelete).release().pods("one", 0).pods("two", 1),
		"partition":        newWorld(t, 4, parallel, reserve(intstr.FromInt32(1), intstr.FromInt32(3))).release().pods("one", 0, 2).pods("two", 4, 5),
		"an-ordinal-moves": newWorld(t, 3, reserve(intstr.FromInt32(1), intstr.FromString("10-20"))).pods("one", 0, 1, 2),
		"scaling": cond(newWorld(t, 4).pods("one", 0).pod(1, "one", fresh), kruisev1beta1.StatefulSetConditionFailedCreatePod, corev1.ConditionTrue, "",
			"StatefulPodControl failed to create Pod error: creating pod web-2: exceeded quota"),
		"scaling-in": newWorld(t, 1, withClaims).pods("one", 0, 1).pod(2, "one", terminating).
			claim(0, "2Gi", "2Gi").claim(1, "2Gi", "2Gi").claim(2, "2Gi", "2Gi").claim(3, "2Gi", "2Gi"),
		"claims": newWorld(t, 4, withClaims).pods("one", 0, 1).pod(2, "one", fresh).claim(0, "2Gi", "2Gi").
			claim(1, "3Gi", "3Gi", func(c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
			}).
			claim(2, "2Gi", "0", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending }),
		"claims-grow": grown,
		"empty":       newWorld(t, 0),
	}
}

func TestDocumentGolden(t *testing.T) {
	for name, w := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			view := NewView(w.counted().Snapshot, now())
			golden.Lines(t, name+".txt", tree.Render(view.Document(false), tree.Options{Fold: 20}))
		})
	}
}

func TestTableGolden(t *testing.T) {
	var views []sets.View
	for name, w := range scenes(t) {
		set := w.counted().Set
		set.Name = name
		views = append(views, NewSummary(set, now()))
	}
	columns, rows := sets.Table(views, false, true)
	golden.Lines(t, "table-wide.txt", tree.Table(columns, rows, tree.Options{}))
}
