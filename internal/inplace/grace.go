// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
)

// patience is for how long, beyond a grace period, a pod is taken out of service again that somebody keeps reporting
// ready. It is more than a node takes that is merely late.
const patience = 5 * time.Minute

// inGrace judges a pod in a grace period, which runs from the moment at which the pod left service for good.
//
// Of a pod that is reported ready again nothing is over: it serves. A node that is late stops that by itself, but it may
// take its time, so the pod is taken out of service once more; at first at once, and then when as much time has passed as
// from the beginning to the time before. So two that write against each other do so ten times and not ten thousand times,
// and in the end the release goes on: a container that is broken must not wait for somebody who is broken, too.
func (r *Record) inGrace(p *corev1.Pod, held *Held, now time.Time) Progress {
	progress := Progress{Holding: true, Waiting: "the grace period before the containers change"}
	period := time.Duration(held.GraceSeconds) * time.Second
	began := r.UpdateTimestamp.Time
	drained := began
	if gate := pod.Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady); gate != nil && gate.Status == corev1.ConditionFalse {
		drained = later(began, gate.LastTransitionTime.Time)
	}
	if !serving(p) {
		progress.GraceLeft = max(outOfServiceSince(p, drained, now).Add(period).Sub(now), 0)
		return progress
	}
	progress.Serving, progress.Waiting = true, "its node to report that it has left service: the grace period begins then"
	if drained.Sub(began) >= period+patience {
		progress.GraceCut = true
		return progress
	}
	progress.DrainIn = max(drained.Add(drained.Sub(began)).Sub(now), 0)
	progress.GraceLeft = progress.DrainIn + max(period, time.Second)
	return progress
}

// outOfServiceSince is when a pod that is not ready left service, having been drained at that time: then, or when its
// node followed. Times on the wire are cut off to seconds, so the second of the node's counts as a whole. A time that is
// still to come is that of a clock which is wrong.
func outOfServiceSince(p *corev1.Pod, drained, now time.Time) time.Time {
	ready := pod.Condition(p, corev1.PodReady)
	if ready == nil || !pod.HasGate(p, kruisev1alpha1.ConditionInPlaceUpdateReady) {
		return drained
	}
	if followed := ready.LastTransitionTime.Time; followed.After(drained) && !followed.After(now) {
		return followed.Add(time.Second)
	}
	return drained
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// wholeSecond rounds up: what begins there must not be shorter than was asked for.
func wholeSecond(t time.Time) time.Time {
	return t.UTC().Add(time.Second - 1).Truncate(time.Second)
}
