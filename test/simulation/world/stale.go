// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// learn keeps what the kubelet has last found of the pod's readiness.
func (k *Kubelet) learn(status *corev1.PodStatus) {
	k.ready = nil
	for _, c := range status.Conditions {
		if c.Type == corev1.PodReady {
			k.ready = &c
		}
	}
}

// contradicts: somebody has taken the pod out of service, and its kubelet has not looked since, so it still knows better.
func (k *Kubelet) contradicts(pod *corev1.Pod) bool {
	return k.Busy && k.late == nil && k.ready != nil && k.ready.Status == corev1.ConditionTrue && Active(pod) &&
		Condition(pod, corev1.PodReady) != nil && !Holds(pod, corev1.PodReady)
}

// resend has a kubelet write its own view of the readiness of a pod over that of the server, as a real one does from time
// to time: with the time at which the pod became ready, and without a look at its gates.
func (w *World) resend(pod *corev1.Pod, k *Kubelet) {
	w.Noted["a node reports a pod ready that was drained"] = true
	w.Must(w.Server.Modify("node", api.Pods, client.ObjectKeyFromObject(pod), api.Status, func(o client.Object) {
		*Condition(o.(*corev1.Pod), corev1.PodReady) = *k.ready
	}))
	w.Tell("node: %s is ready, as far as its kubelet knows", pod.Name)
	w.Notice()
}

// leaves: the report takes a pod out of service that was drained before and reported ready again since.
func leaves(pod *corev1.Pod, status *corev1.PodStatus) bool {
	gate := Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
	after := &corev1.Pod{Status: *status}
	return gate != nil && gate.Status == corev1.ConditionFalse && Holds(pod, corev1.PodReady) && !Holds(after, corev1.PodReady)
}

// Blinded are the pods as a manager sees them that believes in gates: who is drained is not ready.
func Blinded(pods []*corev1.Pod) []*corev1.Pod {
	pods = slices.Clone(pods)
	for i, pod := range pods {
		gate, ready := Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady), Condition(pod, corev1.PodReady)
		if gate == nil || gate.Status != corev1.ConditionFalse || ready == nil {
			continue
		}
		pods[i] = pod.DeepCopy()
		Condition(pods[i], corev1.PodReady).Status = corev1.ConditionFalse
	}
	return pods
}

// Timeless are the pods as a manager sees them that counts a grace period from its first drain only.
func Timeless(pods []*corev1.Pod) []*corev1.Pod {
	pods = slices.Clone(pods)
	for i, pod := range pods {
		gate := Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
		if gate == nil || gate.Status != corev1.ConditionFalse || Holds(pod, corev1.PodReady) {
			continue
		}
		pods[i] = pod.DeepCopy()
		for j := range pods[i].Status.Conditions {
			pods[i].Status.Conditions[j].LastTransitionTime = metav1.Time{}
		}
	}
	return pods
}
