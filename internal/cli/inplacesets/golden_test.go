// SPDX-License-Identifier: Apache-2.0

package inplacesets

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func scene(change func(*cafev1alpha1.InPlaceSet), pods ...*builders.PodBuilder) Snapshot {
	set := &cafev1alpha1.InPlaceSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web-uid", Generation: 1, CreationTimestamp: metav1.NewTime(builders.Epoch())},
		Spec: cafev1alpha1.InPlaceSetSpec{
			Replicas: ptr.To(int32(len(pods))), DeployUnit: "CellA", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:2"}}}},
		},
		Status: cafev1alpha1.InPlaceSetStatus{ObservedGeneration: 1, UpdateRevision: "web-two", CurrentRevision: "web-one"},
	}
	s := Snapshot{Set: set}
	for i, b := range pods {
		s.Pods = append(s.Pods, b.With(func(p *corev1.Pod) {
			p.Name = fmt.Sprintf("web-p%d", i)
			p.UID = types.UID(p.Name + "-uid")
			p.OwnerReferences = []metav1.OwnerReference{{UID: set.UID, Controller: ptr.To(true)}}
		}).Build())
	}
	if change != nil {
		change(set)
	}
	v := NewView(s, now())
	st := &set.Status
	st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas = int32(v.Total), int32(v.Ready), int32(v.Available), int32(v.Updated)
	return s
}

// on is a pod of a revision that components route to.
func on(revision string, components ...string) *builders.PodBuilder {
	b := builders.Pod(revision).Label(kruisev1alpha1.LabelRevision, "web-"+revision).Label("app", "web").Lifecycle(kruisev1alpha1.LifecycleNormal)
	return b.With(func(p *corev1.Pod) {
		for _, c := range components {
			p.Finalizers = append(p.Finalizers, cafev1alpha1.FinalizerPrefixTraffic+c)
		}
	})
}

func scenes() map[string]Snapshot {
	traffic := func(set *cafev1alpha1.InPlaceSet) {
		set.Annotations = map[string]string{cafev1alpha1.AnnotationTrafficComponents: "lb,rpc"}
	}
	return map[string]Snapshot{
		"released":  scene(nil, on("two"), on("two")),
		"releasing": scene(nil, on("two"), on("two").Updating(), on("one"), on("one")),
		"waits-for-traffic": scene(traffic, on("two", "lb").Lifecycle(kruisev1alpha1.LifecyclePreparingNormal),
			on("one", "lb", "rpc").Lifecycle(kruisev1alpha1.LifecyclePreparingUpdate).NotReady(), on("one", "lb", "rpc")),
		"paused": scene(func(set *cafev1alpha1.InPlaceSet) {
			set.Spec.Strategy.Paused, set.Spec.Strategy.GracePeriodSeconds, set.Spec.MinReadySeconds = true, 5, 10
		}, on("two"), on("one")),
		"wrong-components": scene(func(set *cafev1alpha1.InPlaceSet) {
			set.Annotations = map[string]string{cafev1alpha1.AnnotationTrafficComponents: "a b"}
		}, on("two")),
	}
}

func TestDocumentGolden(t *testing.T) {
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			view := NewView(s, now())
			golden.Lines(t, name+".txt", tree.Render(view.Document(false), tree.Options{Fold: 20}))
		})
	}
}

func TestTableGolden(t *testing.T) {
	var views []sets.View
	for name, s := range scenes() {
		s.Set.Name = name
		views = append(views, NewSummary(s.Set, now()))
	}
	columns, rows := sets.Table(views, false, false)
	golden.Lines(t, "table.txt", tree.Table(columns, rows, tree.Options{}))
}
