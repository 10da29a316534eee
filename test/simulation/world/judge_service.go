// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// forbearance is how much longer than its grace period a pod may be held that somebody keeps reporting ready. After that
// its containers may change although it has served until then.
const forbearance = 5 * time.Minute

// serve notes until when endpoints had a pod: they go by its condition Ready, whoever writes it and whatever its gate says.
func (j *Judge) serve(w api.Write) {
	if before, was := w.Before.(*corev1.Pod); was && Holds(before, corev1.PodReady) {
		j.served[before.UID] = w.Time
	}
}

// restarts judges a change that restarts a container: of a pod that endpoints do not have, and that they have not had for
// the whole of its grace period, if it is in one.
func (s *Scene) restarts(before *corev1.Pod) error {
	if !HasGate(before) {
		return nil
	}
	if gate := Condition(before, kruisev1alpha1.ConditionInPlaceUpdateReady); gate == nil || gate.Status != corev1.ConditionFalse {
		return fmt.Errorf("a container changes while the pod is in service: its gate was not closed before")
	}
	if Holds(before, corev1.PodReady) {
		return fmt.Errorf("a container changes while endpoints have its pod: its gate is closed, and Ready is True")
	}
	began, period, held, err := graceOf(before)
	if err != nil || !held {
		return err
	}
	period = min(period, time.Duration(s.GraceSeconds)*time.Second) // a newer release may ask for less
	if left, some := s.Judge.served[before.UID]; some && s.Now.Before(left.Add(period)) && s.Now.Before(began.Add(period+forbearance)) {
		return fmt.Errorf("a container changes %s after its pod was last ready, in a grace period of %s", s.Now.Sub(left), period)
	}
	return nil
}

// graceOf reads from its annotations when a pod's update began, and for how long it is held back since.
func graceOf(pod *corev1.Pod) (began time.Time, period time.Duration, held bool, err error) {
	raw, held := pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]
	if !held {
		return began, 0, false, nil
	}
	var state struct{ UpdateTimestamp time.Time }
	var grace struct{ GraceSeconds int64 }
	if err := json.Unmarshal([]byte(pod.Annotations[kruisev1alpha1.AnnotationInPlaceState]), &state); err != nil {
		return began, 0, false, fmt.Errorf("the state of a pod in a grace period cannot be read: %w", err)
	}
	if err := json.Unmarshal([]byte(raw), &grace); err != nil {
		return began, 0, false, fmt.Errorf("a grace period cannot be read: %w", err)
	}
	return state.UpdateTimestamp, time.Duration(grace.GraceSeconds) * time.Second, true, nil
}
