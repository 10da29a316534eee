// SPDX-License-Identifier: Apache-2.0

package clonesets

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
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

func newWorld(t *testing.T, replicas int32, change ...func(*builders.CloneSetBuilder)) *world {
	t.Helper()
	b := builders.CloneSet("web").Replicas(replicas).InPlace().MaxUnavailable("25%").Image("app:1")
	for _, c := range change {
		c(b)
	}
	w := &world{t: t, Snapshot: Snapshot{Set: b.Build()}}
	w.revision("one", 1)
	w.Set.Status = kruisev1alpha1.CloneSetStatus{ObservedGeneration: 1, UpdateRevision: "web-one", CurrentRevision: "web-one"}
	return w
}

func (w *world) revision(hash string, number int64) {
	w.t.Helper()
	data, err := revision.Data(&w.Set.Spec.Template)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Revisions = append(w.Revisions, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "web-" + hash, Namespace: w.Set.Namespace, Labels: w.Set.Spec.Template.Labels,
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

func (w *world) pods(hash string, n int, change ...func(*builders.PodBuilder)) *world {
	set := w.Set.DeepCopy()
	set.Spec.Template.Spec.Containers[0].Image = map[string]string{"one": "app:1", "two": "app:2"}[hash]
	for range n {
		i := len(w.Pods)
		b := builders.OwnedPod(set, fmt.Sprintf("p%03d", i), hash).Node(fmt.Sprintf("node-%d", i%3+1)).
			With(func(p *corev1.Pod) { p.Status.PodIP = fmt.Sprintf("10.1.0.%d", i) })
		for _, c := range change {
			c(b)
		}
		w.Pods = append(w.Pods, b.Build())
	}
	return w
}

// counted writes the counters that the controller would.
func (w *world) counted() *world {
	v := NewView(w.Snapshot, now())
	s := &w.Set.Status
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas = int32(v.Total), int32(v.Ready), int32(v.Available)
	s.UpdatedReplicas, s.UpdatedAvailableReplicas = int32(v.Updated), int32(v.UpdatedAvailable)
	return w
}

func updating(b *builders.PodBuilder)    { b.Updating() }
func broken(b *builders.PodBuilder)      { b.Waiting("ImagePullBackOff") }
func unready(b *builders.PodBuilder)     { b.NotReady() }
func fresh(b *builders.PodBuilder)       { b.Fresh() }
func terminating(b *builders.PodBuilder) { b.Terminating(now()) }

func cond(w *world, t kruisev1alpha1.CloneSetConditionType, s corev1.ConditionStatus, reason, message string) *world {
	w.Set.Status.Conditions = append(w.Set.Status.Conditions, kruisev1alpha1.CloneSetCondition{Type: t, Status: s, Reason: reason, Message: message})
	return w
}

func scenes(t *testing.T) map[string]*world {
	progressing := kruisev1alpha1.CloneSetConditionProgressing
	return map[string]*world{
		"released": newWorld(t, 3).pods("one", 3),
		"releasing": cond(newWorld(t, 6).release().pods("one", 3).pods("two", 1).pods("two", 2, updating), progressing, corev1.ConditionTrue,
			"CloneSetUpdated", "CloneSet is progressing"),
		"held-up": cond(newWorld(t, 4).release().pods("one", 3).pods("two", 1, broken), progressing, corev1.ConditionFalse,
			"ProgressDeadlineExceeded", "CloneSet revision web-two has timed out progressing"),
		"paused": newWorld(t, 3, func(b *builders.CloneSetBuilder) { b.Paused() }).release().pods("one", 2).pods("two", 1),
		"partition": newWorld(t, 3, func(b *builders.CloneSetBuilder) { b.Partition("50%").MinReadySeconds(10) }).release().
			pods("one", 2).pods("two", 1),
		"scaling": cond(newWorld(t, 4).pods("one", 1).pods("one", 1, fresh).pods("one", 1, terminating),
			kruisev1alpha1.CloneSetConditionFailedScale, corev1.ConditionTrue, "", "creating pod web-p004: exceeded quota"),
		"recovering": cond(cond(newWorld(t, 2).pods("one", 1).pods("one", 1, unready), kruisev1alpha1.CloneSetConditionReady, corev1.ConditionFalse,
			"WaitingForPods", "1 of 2 pods available, 2 of 2 updated; waiting for pod web-p001 (container app is not ready)"),
			kruisev1alpha1.CloneSetConditionStalled, corev1.ConditionFalse, "", ""),
		"waits-for-min-ready": newWorld(t, 2, func(b *builders.CloneSetBuilder) { b.MinReadySeconds(300) }).pods("one", 2),
		"empty":               newWorld(t, 0),
		"unknown-revision":    newWorld(t, 2).pods("one", 1).pods("one", 1, func(b *builders.PodBuilder) { b.Revision("web-lost") }),
		"hundreds":            newWorld(t, 300).release().pods("one", 180).pods("two", 50).pods("two", 70, updating),
	}
}

func TestDocumentGolden(t *testing.T) {
	for name, w := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			view := NewView(w.counted().Snapshot, now())
			golden.Lines(t, name+".txt", tree.Render(view.Document(false), tree.Options{Fold: 20}))
		})
	}
	t.Run("wide", func(t *testing.T) {
		view := NewView(scenes(t)["releasing"].counted().Snapshot, now())
		golden.Lines(t, "wide.txt", tree.Render(view.Document(true), tree.Options{ASCII: true}))
	})
	t.Run("terminal", func(t *testing.T) {
		view := NewView(scenes(t)["hundreds"].counted().Snapshot, now())
		golden.Lines(t, "terminal.txt", tree.Render(view.Document(false), tree.Options{Width: 80, Height: 24, Color: true, Fold: 20}))
	})
}

func TestTableGolden(t *testing.T) {
	var views []sets.View
	for name, w := range scenes(t) {
		set := w.counted().Set
		set.Name = name
		views = append(views, NewSummary(set, now()))
	}
	columns, rows := sets.Table(views, false, false)
	golden.Lines(t, "table.txt", tree.Table(columns, rows, tree.Options{}))
	columns, rows = sets.Table(views, true, true)
	golden.Lines(t, "table-wide.txt", tree.Table(columns, rows, tree.Options{}))
}
