// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// statefulSet makes, removes and updates pods by their ordinals. Unless they are managed in parallel it waits for each to be ready
// before it goes on to the next one, and before it updates any: also for one that never will be.
func (c *Controllers) statefulSet(set *appsv1.StatefulSet) func() {
	update, _, _ := revisionOf(set, &set.Spec.Template)
	if set.Status.UpdateRevision != update || set.Status.ObservedGeneration != set.Generation {
		return func() {
			c.record(set, "StatefulSet", &set.Spec.Template)
			status := c.statefulSetStatus(set, update)
			c.report(set, func(o client.Object) { o.(*appsv1.StatefulSet).Status = status })
		}
	}
	act, settled := c.placePods(set, update)
	if act == nil && settled {
		act = c.updatePods(set, update)
	}
	if act != nil {
		return act
	}
	if status := c.statefulSetStatus(set, update); !equality.Semantic.DeepEqual(set.Status, status) {
		return func() { c.report(set, func(o client.Object) { o.(*appsv1.StatefulSet).Status = status }) }
	}
	return nil
}

// placePods sees to the number of pods. Settled tells whether pods may be updated.
func (c *Controllers) placePods(set *appsv1.StatefulSet, update string) (act func(), settled bool) {
	ordered := set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	byOrdinal, want := map[int]*corev1.Pod{}, int(ptr.Deref(set.Spec.Replicas, 1))
	var beyond *corev1.Pod
	for _, pod := range c.all(set) {
		n := Ordinal(pod)
		byOrdinal[n] = pod
		switch {
		case pod.DeletionTimestamp != nil:
		case !world.Active(pod):
			return func() { c.remove(pod) }, false
		case n >= want && (!ordered || beyond == nil || n > Ordinal(beyond)):
			beyond = pod
		}
	}
	partition := partitionOf(set)
	for n := range want {
		pod := byOrdinal[n]
		if pod == nil {
			if c.Server.Get(api.Pods, types.NamespacedName{Namespace: set.Namespace, Name: podName(set, n)}) != nil {
				return nil, false // of a set that had its name before
			}
			revision := update
			if n < partition {
				revision = set.Status.CurrentRevision
			}
			return func() { c.createOrdinal(set, n, revision) }, false
		}
		if ordered && (!world.Ready(pod) || pod.DeletionTimestamp != nil) {
			return nil, false
		}
	}
	for n, pod := range byOrdinal {
		if ordered && n >= want && pod.DeletionTimestamp != nil {
			return nil, false
		}
	}
	if beyond != nil {
		return func() { c.remove(beyond) }, false
	}
	return nil, true
}

// updatePods takes one pod after the other to the revision of the template, from above.
func (c *Controllers) updatePods(set *appsv1.StatefulSet, update string) func() {
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	byOrdinal := map[int]*corev1.Pod{}
	for _, pod := range c.all(set) {
		byOrdinal[Ordinal(pod)] = pod
	}
	for n := int(ptr.Deref(set.Spec.Replicas, 1)) - 1; n >= partitionOf(set); n-- {
		pod := byOrdinal[n]
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] != update && pod.DeletionTimestamp == nil {
			return func() { c.remove(pod) }
		}
		if !world.Ready(pod) || pod.DeletionTimestamp != nil {
			return nil
		}
	}
	return nil
}

func partitionOf(set *appsv1.StatefulSet) int {
	if roll := set.Spec.UpdateStrategy.RollingUpdate; roll != nil {
		return int(ptr.Deref(roll.Partition, 0))
	}
	return 0
}

func (c *Controllers) statefulSetStatus(set *appsv1.StatefulSet, update string) appsv1.StatefulSetStatus {
	status := appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, CurrentRevision: set.Status.CurrentRevision, UpdateRevision: update}
	if status.CurrentRevision == "" {
		status.CurrentRevision = update
	}
	pods := c.active(set)
	status.Replicas = int32(len(pods))
	status.ReadyReplicas, status.AvailableReplicas = c.serving(pods, set.Spec.MinReadySeconds)
	for _, pod := range pods {
		switch pod.Labels[appsv1.ControllerRevisionHashLabelKey] {
		case update:
			status.UpdatedReplicas++
		case status.CurrentRevision:
			status.CurrentReplicas++
		}
	}
	if want := ptr.Deref(set.Spec.Replicas, 1); status.UpdatedReplicas == want && status.Replicas == want && status.ReadyReplicas == want {
		status.CurrentRevision, status.CurrentReplicas = update, status.UpdatedReplicas
	}
	if status.CurrentRevision == update {
		status.CurrentReplicas = status.UpdatedReplicas
	}
	return status
}

func (c *Controllers) createOrdinal(set *appsv1.StatefulSet, n int, revision string) {
	template := c.templateOf(set, revision)
	if template == nil {
		template = &set.Spec.Template
	}
	c.create(set, template, podName(set, n), "StatefulSet", func(pod *corev1.Pod) {
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	})
}

func podName(set *appsv1.StatefulSet, n int) string { return fmt.Sprintf("%s-%d", set.Name, n) }

// Ordinal is the number at the end of the name of a pod.
func Ordinal(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	if err != nil {
		panic(fmt.Sprintf("pod %s has no ordinal", pod.Name))
	}
	return n
}
