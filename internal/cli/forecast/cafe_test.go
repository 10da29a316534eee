// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

// cells are a deployment over two cells, in a Beta group and groups of four.
func cells(changes ...func(*cafev1alpha1.CafeDeployment)) *cafev1alpha1.CafeDeployment {
	d := &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid", Generation: 1},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To[int32](10), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: builders.Image}}},
			},
			Topology: cafev1alpha1.Topology{Values: []string{"CellA", "CellB"}},
			Strategy: cafev1alpha1.CafeDeploymentStrategy{UpgradeType: cafev1alpha1.BetaUpgradeType, BatchSize: ptr.To[int32](4)},
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// livingCells is a deployment whose units have all their pods on its one revision.
func livingCells(t *testing.T, d *cafev1alpha1.CafeDeployment) Live {
	t.Helper()
	d.SetResourceVersion("1")
	stored := recorded(t, cafeDeployments(), d)
	status := &d.Status
	status.CurrentRevision, status.UpdateRevision = stored.Name, stored.Name
	live := Live{Object: d, Objects: story.Objects{Revisions: []*appsv1.ControllerRevision{stored}}}
	units := d.Spec.Topology.Values
	for i, name := range units {
		n := *d.Spec.Replicas / int32(len(units))
		if i < int(*d.Spec.Replicas)%len(units) {
			n++
		}
		meta := metav1.ObjectMeta{
			Namespace: d.Namespace, Name: "web-" + strings.ToLower(name), UID: types.UID(name), ResourceVersion: "1",
			Labels: map[string]string{cafev1alpha1.LabelUnit: name}, Annotations: map[string]string{cafev1alpha1.AnnotationRevision: stored.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, cafeDeployments().GVK)},
		}
		status.Units = append(status.Units, cafev1alpha1.UnitStatus{Name: name, Desired: n})
		if d.Spec.PodSetType == cafev1alpha1.ReplicaSetPodSetType {
			meta.Annotations[cafev1alpha1.AnnotationUnitReplicas] = "5"
			live.Beside = append(live.Beside, &appsv1.ReplicaSet{
				ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &n}, Status: appsv1.ReplicaSetStatus{Replicas: n, ReadyReplicas: n, AvailableReplicas: n},
			})
			continue
		}
		live.Beside = append(live.Beside, &cafev1alpha1.InPlaceSet{
			ObjectMeta: meta, Spec: cafev1alpha1.InPlaceSetSpec{Replicas: &n, Strategy: cafev1alpha1.InPlaceSetStrategy{Partition: ptr.To(intstr.FromInt32(0))}},
			Status: cafev1alpha1.InPlaceSetStatus{Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n, UpdatedReadyReplicas: n, UpdatedAvailableReplicas: n},
		})
	}
	return live
}

func TestCafeDeployments(t *testing.T) {
	type change = func(*cafev1alpha1.CafeDeployment)
	image := func(d *cafev1alpha1.CafeDeployment) { newImage(&d.Spec.Template) }
	confirmed := func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.NeedWaitingForConfirm = true }
	for name, test := range map[string]struct {
		live  []change
		isNew bool
		edit  change
	}{
		"nothing":     {},
		"new":         {isNew: true},
		"in-place":    {edit: image},
		"recreate":    {edit: func(d *cafev1alpha1.CafeDeployment) { newVariable(&d.Spec.Template) }},
		"confirmed":   {live: []change{confirmed}, edit: image},
		"partition":   {edit: func(d *cafev1alpha1.CafeDeployment) { image(d); d.Spec.Strategy.Partition = ptr.To[int32](6) }},
		"paused":      {edit: func(d *cafev1alpha1.CafeDeployment) { image(d); d.Spec.Strategy.Pause = true }},
		"scale-up":    {edit: func(d *cafev1alpha1.CafeDeployment) { d.Spec.Replicas = ptr.To[int32](14) }},
		"scale-down":  {edit: func(d *cafev1alpha1.CafeDeployment) { d.Spec.Replicas = ptr.To[int32](5) }},
		"a-new-cell":  {edit: func(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.Values = []string{"CellA", "CellB", "CellC"} }},
		"replicasets": {live: []change{func(d *cafev1alpha1.CafeDeployment) { d.Spec.PodSetType = cafev1alpha1.ReplicaSetPodSetType }}, edit: image},
		"invalid": {edit: func(d *cafev1alpha1.CafeDeployment) {
			d.Spec.Topology.UnitReplicas = cafev1alpha1.UnitReplicas{"CellA": intstr.FromInt32(12)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := cells(test.live...)
			var live Live
			if !test.isNew {
				live = livingCells(t, d)
			}
			wanted := d.DeepCopy()
			if test.edit != nil {
				test.edit(wanted)
				wanted.Generation++
			}
			f, err := New("web.yaml", cafeDeployments(), live, client.Object(wanted), builders.Epoch().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			golden.Lines(t, "cafe-"+name+".txt", f.Lines(false))
			if quiet := name == "nothing"; f.Invalid == "" && quiet == f.ChangesAnything() {
				t.Errorf("changes anything: %v", f.ChangesAnything())
			}
		})
	}
}
