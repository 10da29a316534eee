// SPDX-License-Identifier: Apache-2.0

package cafes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

func now() time.Time { return builders.Epoch().Add(3 * time.Minute) }

// world is a deployment over cells, on revision web-one and, when released, on its way to web-two.
type world struct{ Snapshot }

func newWorld(replicas int32, cells ...string) *world {
	w := &world{Snapshot{Deployment: &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web-uid", Generation: 1, CreationTimestamp: metav1.NewTime(builders.Epoch())},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}},
			Topology: cafev1alpha1.Topology{Values: cells},
			Strategy: cafev1alpha1.CafeDeploymentStrategy{UpgradeType: cafev1alpha1.BetaUpgradeType, BatchSize: ptr.To[int32](4)},
		},
		Status: cafev1alpha1.CafeDeploymentStatus{
			ObservedGeneration: 1, UpdateRevision: "web-one", CurrentRevision: "web-one", Phase: cafev1alpha1.StablePhase,
		},
	}}}
	for _, cell := range cells {
		name := "web-" + strings.ToLower(cell)
		set := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "default", "uid": name + "-uid", "generation": int64(1)},
			"status":   map[string]any{"observedGeneration": int64(1), "updateRevision": name + "-1"},
		}}
		set.SetGroupVersionKind(cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind))
		set.SetLabels(map[string]string{cafev1alpha1.LabelUnit: cell})
		set.SetAnnotations(map[string]string{cafev1alpha1.AnnotationRevision: "web-one"})
		set.SetOwnerReferences([]metav1.OwnerReference{{UID: "web-uid", Controller: ptr.To(true)}})
		w.Sets = append(w.Sets, set)
	}
	return w
}

// release gives every cell the new template; the groups are as the planner would cut them.
func (w *world) release(phase cafev1alpha1.CafeDeploymentPhase, groups ...cafev1alpha1.ReleaseGroup) *world {
	s := &w.Deployment.Status
	s.UpdateRevision, s.Phase, s.Groups = "web-two", phase, groups
	for i := range s.Groups {
		s.Groups[i].Index = int32(i + 1)
	}
	w.Deployment.Spec.Template.Spec.Containers[0].Image = "app:2"
	for _, set := range w.Sets {
		set.SetAnnotations(map[string]string{cafev1alpha1.AnnotationRevision: "web-two"})
		if err := unstructured.SetNestedField(set.Object, set.GetName()+"-2", "status", "updateRevision"); err != nil {
			panic(err)
		}
	}
	return w
}

// pods adds pods to a cell, on version 1 or 2.
func (w *world) pods(cell string, n, version int, change ...func(*builders.PodBuilder)) *world {
	set := "web-" + strings.ToLower(cell)
	for range n {
		i := len(w.Pods)
		b := builders.Pod(fmt.Sprintf("%s-p%02d", set, i)).With(image(version)).Label("app", "web").Label(kruisev1alpha1.LabelRevision, fmt.Sprintf("%s-%d", set, version)).
			With(func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(set + "-uid"), Controller: ptr.To(true)}}
			})
		for _, c := range change {
			c(b)
		}
		w.Pods = append(w.Pods, b.Build())
	}
	return w
}

// counted writes the numbers that the controller would.
func (w *world) counted() *world {
	v := NewView(w.Snapshot, now())
	s := &w.Deployment.Status
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas = int32(v.Total), int32(v.Ready), int32(v.Available), int32(v.Updated)
	if len(s.Units) == 0 {
		for _, cell := range w.Deployment.Spec.Topology.Values {
			s.Units = append(s.Units, cafev1alpha1.UnitStatus{Name: cell, Desired: int32(v.Desired / len(w.Deployment.Spec.Topology.Values))})
		}
	}
	return w
}

func (w *world) change(change func(*cafev1alpha1.CafeDeployment)) *world {
	change(w.Deployment)
	return w
}

func (w *world) condition(t cafev1alpha1.ConditionType, s corev1.ConditionStatus, reason, message string) *world {
	w.Deployment.Status.Conditions = append(w.Deployment.Status.Conditions, cafev1alpha1.Condition{Type: t, Status: s, Reason: reason, Message: message})
	return w
}

func group(kind cafev1alpha1.GroupKind, done bool, quotas ...int32) cafev1alpha1.ReleaseGroup {
	g := cafev1alpha1.ReleaseGroup{Kind: kind, Done: done}
	for i, n := range quotas {
		if n > 0 {
			g.Units = append(g.Units, cafev1alpha1.GroupQuota{Name: []string{"CellA", "CellB", "CellC"}[i], Pods: n})
		}
	}
	return g
}

func updating(b *builders.PodBuilder) { b.Updating() }
func broken(b *builders.PodBuilder)   { b.Waiting("ImagePullBackOff") }
func roomless(b *builders.PodBuilder) { b.Unscheduled("0/3 nodes are available: 3 Insufficient cpu.") }
func leavesTraffic(b *builders.PodBuilder) {
	b.NotReady().Lifecycle(kruisev1alpha1.LifecyclePreparingUpdate).With(func(p *corev1.Pod) {
		p.Finalizers = append(p.Finalizers, cafev1alpha1.FinalizerPrefixTraffic+"lb")
	})
}
func terminating(b *builders.PodBuilder) { b.Terminating(now()) }

func scenes() map[string]*world {
	const beta, batch = cafev1alpha1.BetaGroup, cafev1alpha1.BatchGroup
	two := func() *world { return newWorld(10, "CellA", "CellB") }
	return map[string]*world{
		"stable": two().pods("CellA", 5, 1).pods("CellB", 5, 1),
		"waits-for-confirm": two().change(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.NeedWaitingForConfirm = true }).
			release(cafev1alpha1.WaitingForConfirmPhase, group(beta, true, 1, 1), group(batch, false, 2, 2), group(batch, false, 2, 2)).
			pods("CellA", 1, 2).pods("CellA", 4, 1).pods("CellB", 1, 2).pods("CellB", 4, 1).
			condition(cafev1alpha1.ConditionWaitingForConfirm, corev1.ConditionTrue, "GroupDone", "Beta group 1 of 3 is done").
			condition(cafev1alpha1.ConditionReady, corev1.ConditionFalse, "WaitingForConfirm", "10 of 10 pods available, 2 updated; Beta group 1 of 3 is done"),
		"second-group": two().
			release(cafev1alpha1.ProgressingPhase, group(beta, true, 1, 1), group(batch, false, 2, 2), group(batch, false, 2, 2)).
			pods("CellA", 2, 2).pods("CellA", 1, 2, updating).pods("CellA", 2, 1).pods("CellB", 1, 2).pods("CellB", 1, 2, broken).pods("CellB", 3, 1).
			condition(cafev1alpha1.ConditionReady, corev1.ConditionFalse, "Progressing",
				"8 of 10 pods available, 5 updated; group 2 of 3: unit CellA has 2 of 3 pods available on revision web-two"),
		"waits-for-traffic": two().change(func(d *cafev1alpha1.CafeDeployment) {
			d.Annotations = map[string]string{cafev1alpha1.AnnotationTrafficComponents: "lb"}
		}).release(cafev1alpha1.ProgressingPhase, group(beta, false, 1, 1), group(batch, false, 4, 4)).
			pods("CellA", 4, 1).pods("CellA", 1, 1, leavesTraffic).pods("CellB", 5, 1),
		"paused": two().change(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = true }).
			release(cafev1alpha1.PausedPhase, group(batch, true, 2, 2), group(batch, false, 2, 2), group(batch, false, 1, 1)).
			pods("CellA", 2, 2).pods("CellA", 3, 1).pods("CellB", 2, 2).pods("CellB", 3, 1).
			condition(cafev1alpha1.ConditionReady, corev1.ConditionFalse, "Paused", "10 of 10 pods available, 4 updated; strategy.pause: group 2 of 3 does not begin"),
		"partition": two().change(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Partition = ptr.To[int32](6) }).
			release(cafev1alpha1.PausedPhase, group(batch, true, 2, 2), group(batch, false, 3, 3)).
			pods("CellA", 2, 2).pods("CellA", 3, 1).pods("CellB", 2, 2).pods("CellB", 3, 1),
		"creation": two().change(func(d *cafev1alpha1.CafeDeployment) {
			d.Status.Phase = cafev1alpha1.ProgressingPhase
			d.Status.Groups = []cafev1alpha1.ReleaseGroup{group(beta, false, 1, 1), group(batch, false, 2, 2), group(batch, false, 2, 2)}
			for i := range d.Status.Groups {
				d.Status.Groups[i].Index = int32(i + 1)
			}
		}).pods("CellA", 1, 1).pods("CellB", 1, 1, roomless),
		"quota-moves": newWorld(9, "CellA", "CellB", "CellC").change(func(d *cafev1alpha1.CafeDeployment) {
			until := metav1.NewTime(now().Add(time.Minute))
			d.Spec.Topology.AutoReschedule.Enable = true
			d.Status.Phase = cafev1alpha1.ProgressingPhase
			d.Status.Groups = []cafev1alpha1.ReleaseGroup{{Index: 1, Kind: batch, Units: group(batch, false, 0, 1, 1).Units}}
			d.Status.Units = []cafev1alpha1.UnitStatus{
				{Name: "CellA", Desired: 2, RescheduledOut: 1, Short: 1, ShortUntil: &until}, {Name: "CellB", Desired: 4, RescheduledIn: 1}, {Name: "CellC", Desired: 3},
			}
		}).pods("CellA", 2, 1).pods("CellA", 1, 1, terminating).pods("CellB", 3, 1).pods("CellC", 3, 1),
		"no-valid-split": two().change(func(d *cafev1alpha1.CafeDeployment) { d.Status.Phase = cafev1alpha1.BlockedPhase }).
			condition(cafev1alpha1.ConditionTopologyValid, corev1.ConditionFalse, "InvalidSplit", "unitReplicas ask for 12 of 10 pods").
			pods("CellA", 5, 1).pods("CellB", 5, 1),
		"no-units": func() *world {
			w := newWorld(2, "")
			w.Deployment.Spec.Topology = cafev1alpha1.Topology{UnitType: cafev1alpha1.NoneUnitType}
			w.Deployment.Status.Units = []cafev1alpha1.UnitStatus{{Desired: 2}}
			return w.pods("", 2, 1)
		}(),
		"hundreds": newWorld(200, "CellA", "CellB").
			release(cafev1alpha1.ProgressingPhase, group(batch, true, 50, 50), group(batch, false, 50, 50)).
			pods("CellA", 52, 2).pods("CellA", 48, 1).pods("CellB", 60, 2).pods("CellB", 1, 2, broken).pods("CellB", 39, 1),
		"unseen": two().change(func(d *cafev1alpha1.CafeDeployment) { d.Generation = 2 }).pods("CellA", 5, 1).pods("CellB", 5, 1),
		"empty":  newWorld(0, "CellA", "CellB"),
	}
}

func TestDocumentGolden(t *testing.T) {
	for name, w := range scenes() {
		t.Run(name, func(t *testing.T) {
			view := NewView(w.counted().Snapshot, now())
			golden.Lines(t, name+".txt", tree.Render(view.Document(false), tree.Options{Fold: 20}))
		})
	}
	t.Run("terminal", func(t *testing.T) {
		view := NewView(scenes()["second-group"].counted().Snapshot, now())
		golden.Lines(t, "terminal.txt", tree.Render(view.Document(false), tree.Options{Width: 70, Height: 24, Color: true, ASCII: true}))
	})
}

func TestTableGolden(t *testing.T) {
	var views []sets.View
	for name, w := range scenes() {
		d := w.counted().Deployment
		d.Name = name
		views = append(views, NewSummary(d, now()))
	}
	columns, rows := sets.Table(views, false, false)
	golden.Lines(t, "table.txt", tree.Table(columns, rows, tree.Options{}))
}

func TestOnlySomeAreSettled(t *testing.T) {
	for name, w := range scenes() {
		want := name == "stable" || name == "no-units" || name == "empty"
		if got := NewView(w.counted().Snapshot, now()).Settled(); got != want {
			t.Errorf("%s: settled %t, want %t", name, got, want)
		}
	}
}

func TestWhatASetHasNotLookedAtYet(t *testing.T) {
	for sentence, test := range map[string]struct {
		version int
		want    int
	}{
		"other numbers leave its pods updated":         {2, 4},
		"another template makes its pods the old ones": {1, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(4, "CellA").release(cafev1alpha1.ProgressingPhase, group(cafev1alpha1.BatchGroup, false, 4)).pods("CellA", 4, test.version)
			for _, set := range w.Sets {
				set.SetGeneration(2)
				if err := unstructured.SetNestedField(set.Object, fmt.Sprintf("web-cella-%d", test.version), "status", "updateRevision"); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range w.Pods {
				p.Spec.Containers[0].Name = "app"
			}
			if got := NewView(w.Snapshot, now()).Updated; got != test.want {
				t.Errorf("%d pods are updated, want %d", got, test.want)
			}
		})
	}
}

func TestNewsOfARelease(t *testing.T) {
	const batch = cafev1alpha1.BatchGroup
	first := func(done bool) *world {
		return newWorld(4, "CellA", "CellB").release(cafev1alpha1.ProgressingPhase, group(batch, done, 1, 1), group(batch, false, 1, 1))
	}
	before := NewView(first(false).pods("CellA", 1, 2, updating).pods("CellA", 1, 1).pods("CellB", 2, 1).counted().Snapshot, now())
	after := NewView(first(true).pods("CellA", 1, 2).pods("CellA", 1, 1).pods("CellB", 1, 2).pods("CellB", 1, 1).counted().Snapshot, now())
	want := []string{
		"default/web releasing group 2 of 2: 1 pod in CellA, 1 pod in CellB; 2 of 4 pods updated",
		"web-cella-p00 Updating -> Available",
		"web-cellb-p02 Available, revision one -> two, app:2",
	}
	if diff := cmp.Diff(want, sets.Changes(&before, after)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func image(version int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Image = fmt.Sprintf("app:%d", version) }
}
