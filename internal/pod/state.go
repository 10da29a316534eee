// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// State is the one word for a pod in views and messages. Every pod is in
// exactly one state. Decisions are made by the functions beside it.
type State int

const (
	// Pending: not bound to a node.
	Pending State = iota + 1
	// Starting: bound, and some container has not started yet.
	Starting
	// NotReady: every container has started, but the pod does not serve.
	NotReady
	// Failing: a container cannot start or keeps ending.
	Failing
	// Draining: taken out of service, and its in-place update is about to start.
	Draining
	// Updating: its in-place update is not complete.
	Updating
	// Held: a lifecycle hook holds it.
	Held
	// Ready: serving, but not yet for long enough to be available.
	Ready
	// Available: in service.
	Available
	// Terminating: its deletion has been accepted.
	Terminating
	// Finished: it has ended by itself.
	Finished
)

// String returns the state as one word.
func (s State) String() string {
	switch s {
	case Pending:
		return "Pending"
	case Starting:
		return "Starting"
	case NotReady:
		return "NotReady"
	case Failing:
		return "Failing"
	case Draining:
		return "Draining"
	case Updating:
		return "Updating"
	case Held:
		return "Held"
	case Ready:
		return "Ready"
	case Available:
		return "Available"
	case Terminating:
		return "Terminating"
	case Finished:
		return "Finished"
	}
	return "Unknown"
}

// States returns all states, in the order of a pod's life.
func States() []State {
	return []State{Pending, Starting, NotReady, Failing, Draining, Updating, Held, Ready, Available, Terminating, Finished}
}

// StateOf names the pod's state. Of several that hold it takes the one that
// has to end first: a hook before an update, a failure before the update that
// it holds up.
func StateOf(p *corev1.Pod, minReadySeconds int32, now time.Time) State {
	switch {
	case IsTerminating(p):
		return Terminating
	case IsFinished(p):
		return Finished
	case p.Spec.NodeName == "":
		return Pending
	case inGrace(p):
		return Draining
	case held(p) != "":
		return Held
	case failingContainer(p) != "":
		return Failing
	case isUpdating(p):
		return Updating
	case IsAvailable(p, minReadySeconds, now):
		return Available
	case IsReady(p):
		return Ready
	case startingContainer(p) != "":
		return Starting
	}
	return NotReady
}

// inGrace reports whether the pod waits, drained, for its update to start.
func inGrace(p *corev1.Pod) bool {
	_, grace := p.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]
	_, legacy := p.Annotations[kruisev1alpha1.AnnotationInPlaceGraceLegacy]
	return grace || legacy
}

func isUpdating(p *corev1.Pod) bool {
	if Lifecycle(p) == kruisev1alpha1.LifecycleUpdating {
		return true
	}
	updated := Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady)
	return updated != nil && updated.Status == corev1.ConditionFalse
}

// held says which lifecycle hook the pod waits for, or "". It is not the
// preNormal hook for as long as the pod is not ready: until then that is what
// the pod waits for.
func held(p *corev1.Pod) string {
	switch state := Lifecycle(p); state {
	case kruisev1alpha1.LifecycleNormal, kruisev1alpha1.LifecycleUpdating:
		return ""
	case kruisev1alpha1.LifecyclePreparingDelete:
		return "hook preDelete holds it"
	case kruisev1alpha1.LifecyclePreparingUpdate, kruisev1alpha1.LifecycleUpdated:
		return "hook inPlaceUpdate holds it"
	case kruisev1alpha1.LifecyclePreparingNormal:
		if IsReady(p) {
			return "hook preNormal holds it"
		}
		return ""
	default:
		return fmt.Sprintf("its lifecycle state %q is not known", state)
	}
}
