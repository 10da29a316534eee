// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

func (c *Controllers) replicaSet(set *appsv1.ReplicaSet) func() {
	pods := c.active(set)
	want := int(ptr.Deref(set.Spec.Replicas, 1))
	switch {
	case len(pods) < want:
		return func() {
			c.create(set, &set.Spec.Template, fmt.Sprintf("%s-%03d", set.Name, c.number()), "ReplicaSet", nil)
		}
	case len(pods) > want:
		victim := slices.MinFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(cmp.Compare(worth(a), worth(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
		})
		return func() { c.remove(victim) }
	}
	status := appsv1.ReplicaSetStatus{ObservedGeneration: set.Generation, Replicas: int32(len(pods)), FullyLabeledReplicas: int32(len(pods))}
	status.ReadyReplicas, status.AvailableReplicas = c.serving(pods, set.Spec.MinReadySeconds)
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	return func() { c.report(set, func(o client.Object) { o.(*appsv1.ReplicaSet).Status = status }) }
}

// worth is how little a pod is missed: those with the least go first.
func worth(pod *corev1.Pod) int {
	switch {
	case pod.Spec.NodeName == "":
		return 0
	case !world.Ready(pod):
		return 1
	}
	return 2
}

func (c *Controllers) serving(pods []*corev1.Pod, minReadySeconds int32) (ready, available int32) {
	for _, pod := range pods {
		if world.Ready(pod) {
			ready++
		}
		if world.Available(pod, minReadySeconds, c.Clock.Now()) {
			available++
		}
	}
	return ready, available
}

// deployment brings up the ReplicaSet of its template at its full size, and takes the older ones down once all pods of that are
// available. A rolling update in small steps is not what the simulation is about.
func (c *Controllers) deployment(d *appsv1.Deployment) func() {
	var newest *appsv1.ReplicaSet
	var older []*appsv1.ReplicaSet
	name, hash, _ := revisionOf(d, &d.Spec.Template)
	for _, o := range c.Server.List(api.ReplicaSets) {
		set := o.(*appsv1.ReplicaSet)
		switch {
		case !metav1.IsControlledBy(set, d) || set.DeletionTimestamp != nil:
		case set.Name == name:
			newest = set
		default:
			older = append(older, set)
		}
	}
	want := ptr.Deref(d.Spec.Replicas, 1)
	switch {
	case newest == nil && c.Server.Get(api.ReplicaSets, client.ObjectKey{Namespace: d.Namespace, Name: name}) != nil:
		return nil // that of a namesake, which is about to go
	case newest == nil && !d.Spec.Paused:
		return func() { c.createReplicaSet(d, name, hash, want) }
	case newest != nil && *newest.Spec.Replicas != want && !(d.Spec.Paused && len(older) > 0):
		return func() { c.resize(newest, want) }
	}
	for _, set := range older {
		if *set.Spec.Replicas > 0 && newest != nil && newest.Status.AvailableReplicas >= want && !d.Spec.Paused {
			return func() { c.resize(set, 0) }
		}
	}
	status := appsv1.DeploymentStatus{ObservedGeneration: d.Generation}
	for _, set := range append(older, newest) {
		if set == nil {
			continue
		}
		status.Replicas += set.Status.Replicas
		status.ReadyReplicas += set.Status.ReadyReplicas
		status.AvailableReplicas += set.Status.AvailableReplicas
		if set == newest {
			status.UpdatedReplicas = set.Status.Replicas
		}
	}
	status.UnavailableReplicas = max(0, want-status.AvailableReplicas)
	if equality.Semantic.DeepEqual(d.Status, status) {
		return nil
	}
	return func() { c.report(d, func(o client.Object) { o.(*appsv1.Deployment).Status = status }) }
}

func (c *Controllers) createReplicaSet(d *appsv1.Deployment, name, hash string, replicas int32) {
	template := d.Spec.Template.DeepCopy()
	template.Labels = maps.Clone(template.Labels)
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	c.Must(c.Server.Create(actor, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: name, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, MinReadySeconds: d.Spec.MinReadySeconds, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: *template,
		},
	}))
	c.Tell("kubernetes: creates ReplicaSet %s of %d", name, replicas)
}

func (c *Controllers) resize(set *appsv1.ReplicaSet, replicas int32) {
	c.Must(c.Server.Modify(actor, api.ReplicaSets, client.ObjectKeyFromObject(set), api.Main, func(o client.Object) {
		o.(*appsv1.ReplicaSet).Spec.Replicas = &replicas
	}))
	c.Tell("kubernetes: asks ReplicaSet %s for %d pods", set.Name, replicas)
}
