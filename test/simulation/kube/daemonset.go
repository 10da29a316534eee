// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// daemonSet keeps one pod on each node. A rolling update takes one after the other; with OnDelete none is taken.
func (c *Controllers) daemonSet(set *appsv1.DaemonSet) func() {
	_, hash, _ := revisionOf(set, &set.Spec.Template)
	if set.Status.ObservedGeneration != set.Generation {
		return func() {
			c.record(set, "DaemonSet", &set.Spec.Template)
			status := c.daemonSetStatus(set, hash)
			c.report(set, func(o client.Object) { o.(*appsv1.DaemonSet).Status = status })
		}
	}
	onNode := map[string]*corev1.Pod{}
	var old *corev1.Pod
	serving := 0
	for _, pod := range c.all(set) {
		onNode[pod.Spec.NodeName] = pod
		switch {
		case pod.DeletionTimestamp != nil:
			continue
		case !world.Active(pod) || c.Server.Get(api.Nodes, client.ObjectKey{Name: pod.Spec.NodeName}) == nil:
			return func() { c.remove(pod) }
		case pod.Labels[appsv1.ControllerRevisionHashLabelKey] != hash && (old == nil || world.Ready(old) && !world.Ready(pod)):
			old = pod
		}
		if world.Available(pod, set.Spec.MinReadySeconds, c.Clock.Now()) {
			serving++
		}
	}
	nodes := c.Server.List(api.Nodes)
	for _, node := range nodes {
		if onNode[node.GetName()] == nil {
			return func() { c.createOn(set, node.GetName(), hash) }
		}
	}
	rolls := set.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType
	if rolls && old != nil && (serving == len(nodes) || !world.Ready(old)) {
		return func() { c.remove(old) }
	}
	if status := c.daemonSetStatus(set, hash); !equality.Semantic.DeepEqual(set.Status, status) {
		return func() { c.report(set, func(o client.Object) { o.(*appsv1.DaemonSet).Status = status }) }
	}
	return nil
}

func (c *Controllers) createOn(set *appsv1.DaemonSet, node, hash string) {
	c.create(set, &set.Spec.Template, fmt.Sprintf("%s-%03d", set.Name, c.number()), "DaemonSet", func(pod *corev1.Pod) {
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = hash
		pod.Spec.NodeName = node
	})
}

func (c *Controllers) daemonSetStatus(set *appsv1.DaemonSet, hash string) appsv1.DaemonSetStatus {
	pods := c.active(set)
	status := appsv1.DaemonSetStatus{
		ObservedGeneration: set.Generation, DesiredNumberScheduled: int32(len(c.Server.List(api.Nodes))), CurrentNumberScheduled: int32(len(pods)),
	}
	status.NumberReady, status.NumberAvailable = c.serving(pods, set.Spec.MinReadySeconds)
	for _, pod := range pods {
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == hash {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}
