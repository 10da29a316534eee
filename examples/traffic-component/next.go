// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// Decision is what to do about one pod.
type Decision struct {
	// Backend: the pod is among the backends from now on, or still.
	Backend bool
	// Finalizer: the pod carries the finalizer from now on, or still.
	Finalizer bool
	// Wait is when to look again; 0 when only a change of the pod can change the decision.
	Wait time.Duration
}

// Next decides about one pod. Declared says that its set declares the component; left is since when the pod has been out of the
// backends, and zero as long as it may be among them.
func Next(p *corev1.Pod, finalizer string, declared bool, left time.Time, delay time.Duration, now time.Time) Decision {
	carries := slices.Contains(p.Finalizers, finalizer)
	switch {
	case declared && p.DeletionTimestamp == nil && isTrue(p, cafev1alpha1.ConditionInPlaceUpdateReady):
		// One that is taken on stays a backend also when it is not ready for a while: who reads the backends sees that, too.
		on := p.Status.PodIP != "" && (carries || isTrue(p, corev1.PodReady))
		return Decision{Backend: on, Finalizer: on || carries}
	case !carries:
		return Decision{}
	case left.IsZero():
		return Decision{Finalizer: true, Wait: delay}
	}
	if wait := left.Add(delay).Sub(now); wait > 0 {
		return Decision{Finalizer: true, Wait: wait}
	}
	return Decision{}
}

func isTrue(p *corev1.Pod, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t && c.Status == corev1.ConditionTrue })
}
