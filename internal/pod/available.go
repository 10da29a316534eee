// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// IsReady reports whether the pod serves: it runs, its Ready condition is
// True, and no in-place update is under way. The last is judged by our own
// condition, because the kubelet takes a moment to follow it.
func IsReady(p *corev1.Pod) bool {
	if p.Status.Phase != corev1.PodRunning || !isTrue(Condition(p, corev1.PodReady)) {
		return false
	}
	updated := Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady)
	return updated == nil || updated.Status == corev1.ConditionTrue
}

// ReadySince returns when the pod's Ready condition became True, and whether
// it is True. The time is zero if the condition does not say.
func ReadySince(p *corev1.Pod) (time.Time, bool) {
	ready := Condition(p, corev1.PodReady)
	if !isTrue(ready) {
		return time.Time{}, false
	}
	return ready.LastTransitionTime.Time, true
}

// IsAvailable reports whether the pod has been ready for at least
// minReadySeconds and is in its normal lifecycle state.
func IsAvailable(p *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	wait, ok := AvailableIn(p, minReadySeconds, now)
	return ok && wait <= 0
}

// AvailableIn returns how long it takes until the pod is available if nothing
// changes but the time; 0 means that it is available now. It returns false if
// time alone is not enough.
func AvailableIn(p *corev1.Pod, minReadySeconds int32, now time.Time) (wait time.Duration, ok bool) {
	if !IsReady(p) || Lifecycle(p) != kruisev1alpha1.LifecycleNormal {
		return 0, false
	}
	if minReadySeconds <= 0 {
		return 0, true
	}
	since, _ := ReadySince(p)
	if since.IsZero() {
		return 0, false
	}
	end := since.Add(time.Duration(minReadySeconds) * time.Second)
	return max(end.Sub(now), 0), true
}

func isTrue(c *corev1.PodCondition) bool { return c != nil && c.Status == corev1.ConditionTrue }
