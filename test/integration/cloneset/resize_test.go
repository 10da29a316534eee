// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/integration/plane"
	"slipway.dev/slipway/test/node"
)

// unkept: the server keeps no generations in statuses of pods, as one before Kubernetes 1.34.
var unkept bool

// machineSize is what the node has that all pods are on.
func machineSize() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10")}
}

// work does what scheduler and node would do next with each pod.
func work(t *testing.T, ns string) {
	t.Helper()
	model := node.Model{NoGenerations: unkept, Allocatable: machineSize()}
	for _, p := range podsOf(t, ns) {
		if p.Spec.NodeName == "" {
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "any"}}
			if err := live.SubResource("binding").Create(t.Context(), &p, binding); err != nil {
				t.Fatalf("binding pod %s: %v", p.Name, err)
			}
			continue
		}
		out := model.Next(&p, time.Now())
		if out.Gone {
			if err := client.IgnoreNotFound(live.Delete(t.Context(), &p, client.GracePeriodSeconds(0))); err != nil {
				t.Fatalf("removing pod %s: %v", p.Name, err)
			}
		}
		if out.Status == nil {
			continue
		}
		patch, err := node.Patch(&p, out.Status)
		if err != nil {
			t.Fatal(err)
		}
		if err := live.Status().Patch(t.Context(), &p, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
			t.Fatalf("reporting pod %s: %v", p.Name, err)
		}
		unkept = unkept || out.Status.ObservedGeneration > 0 && p.Status.ObservedGeneration == 0
	}
}

// A real server checks what a resize may change, and that it is for the version of the pod that was judged.
func TestAPodIsResizedInPlace(t *testing.T) {
	ns := namespace(t)
	amounts := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	// A server from Kubernetes 1.36 on asks what the node has; before, the node itself says that it is too small.
	machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "any"}, Status: corev1.NodeStatus{Capacity: machineSize(), Allocatable: machineSize()}}
	if err := live.Create(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	set := &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	set.Spec.Template.Labels = map[string]string{"app": "web"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "app:v1", Resources: corev1.ResourceRequirements{Requests: amounts("100m", "64Mi"), Limits: amounts("1", "64Mi")},
		ResizePolicy: []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}},
	}}
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	settled := func() (bool, any) {
		work(t, ns)
		now := get(t, ns, "web")
		return now.Status.ObservedGeneration == now.Generation && now.Status.CurrentRevision == now.Status.UpdateRevision && now.Status.UpdatedAvailableReplicas == 1, now.Status
	}
	plane.Until(t, "the pod", settled)
	first := podsOf(t, ns)[0]

	edit := func(change func(*corev1.Container)) corev1.Pod {
		now := get(t, ns, "web")
		before := now.DeepCopy()
		change(&now.Spec.Template.Spec.Containers[0])
		if err := live.Patch(t.Context(), now, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		plane.Until(t, "the update", func() (bool, any) {
			done, state := settled()
			pods := podsOf(t, ns)
			waiting := len(pods) != 1 || len(pods[0].Status.ContainerStatuses) != 1 || pods[0].Status.ContainerStatuses[0].Resources == nil || pods[0].Labels[kruisev1alpha1.LabelRevision] != get(t, ns, "web").Status.UpdateRevision ||
				pods[0].Status.ContainerStatuses[0].Resources.Requests.Cpu().Cmp(*pods[0].Spec.Containers[0].Resources.Requests.Cpu()) != 0
			return done && !waiting, state
		})
		return podsOf(t, ns)[0]
	}

	more := edit(func(c *corev1.Container) {
		c.Resources.Requests, c.Resources.Limits = amounts("200m", "64Mi"), amounts("2", "64Mi")
	})
	if requests := more.Spec.Containers[0].Resources.Requests; more.UID != first.UID || requests.Cpu().String() != "200m" || more.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("more CPU: pod %s instead of %s requests %v, restarted %d times", more.UID, first.UID, requests, more.Status.ContainerStatuses[0].RestartCount)
	}
	both := edit(func(c *corev1.Container) {
		c.Image, c.Resources.Requests, c.Resources.Limits = "app:v2", amounts("200m", "128Mi"), amounts("2", "128Mi")
	})
	if c := both.Spec.Containers[0]; both.UID != first.UID || c.Image != "app:v2" || c.Resources.Limits.Memory().String() != "128Mi" {
		t.Errorf("more memory and a new image: pod %s instead of %s has %s with %v", both.UID, first.UID, c.Image, c.Resources)
	}

	huge := edit(func(c *corev1.Container) {
		c.Resources.Requests, c.Resources.Limits = amounts("64", "128Mi"), amounts("65", "128Mi")
	})
	if huge.UID == first.UID || huge.Spec.Containers[0].Resources.Requests.Cpu().String() != "64" {
		t.Errorf("more than the node has: pod %s has %v, want a new pod", huge.UID, huge.Spec.Containers[0].Resources)
	}
}
