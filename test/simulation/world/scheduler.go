// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
)

// Bind gives a pod a node, as the scheduler does, or says that there is none.
func (w *World) Bind(pod *corev1.Pod) {
	if w.Place == nil {
		w.bind(pod, fmt.Sprintf("node-%d", w.Random.IntN(3)))
		return
	}
	if name, found := w.Place(pod); found {
		w.bind(pod, name)
		return
	}
	w.Must(w.Server.Modify("scheduler", api.Pods, client.ObjectKeyFromObject(pod), api.Status, func(o client.Object) {
		w.scheduled(o.(*corev1.Pod), corev1.ConditionFalse, corev1.PodReasonUnschedulable)
	}))
	w.Tell("scheduler: no node for %s", pod.Name)
	w.Notice()
}

func (w *World) bind(pod *corev1.Pod, name string) {
	w.Must(w.Server.Modify("scheduler", api.Pods, client.ObjectKeyFromObject(pod), api.Binding, func(o client.Object) {
		bound := o.(*corev1.Pod)
		bound.Spec.NodeName = name
		if Condition(bound, corev1.PodScheduled) != nil {
			w.scheduled(bound, corev1.ConditionTrue, "")
		}
	}))
	w.Tell("scheduler: %s to %s", pod.Name, name)
	w.Notice()
}

// Waits tells whether a pod without a node has been told that there is none, and there still is none.
func (w *World) Waits(pod *corev1.Pod) bool {
	if w.Place == nil || !Unschedulable(pod) {
		return false
	}
	_, found := w.Place(pod)
	return !found
}

// Unschedulable tells whether the scheduler has found no node for a pod.
func Unschedulable(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

func (w *World) scheduled(pod *corev1.Pod, status corev1.ConditionStatus, reason string) {
	c := corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(w.Clock.Now())}
	if before := Condition(pod, c.Type); before != nil {
		*before = c
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}
