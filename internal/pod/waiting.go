// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// WaitingFor says in a few words why the pod is not in service, or "" if
// nothing but time keeps it from being available. The words name the first
// cause found and stay the same for as long as it does: no times, no counts.
func WaitingFor(p *corev1.Pod) string {
	switch {
	case IsTerminating(p):
		return "it is being deleted"
	case IsFinished(p):
		return finished(p)
	case p.Spec.NodeName == "":
		return notScheduled(p)
	case inGrace(p) && isTrue(Condition(p, corev1.PodReady)) && HasGate(p, kruisev1alpha1.ConditionInPlaceUpdateReady):
		return "it was drained before its in-place update, and is reported ready all the same"
	case inGrace(p):
		return "it is drained before its in-place update"
	}
	if why := held(p); why != "" {
		return why
	}
	if IsReady(p) && !isUpdating(p) {
		return ""
	}
	for _, cause := range []func(*corev1.Pod) string{
		failingContainer, startingContainer, unreadyContainer, unfinishedUpdate, missingGate,
	} {
		if why := cause(p); why != "" {
			return why
		}
	}
	return notReported(p)
}

func finished(p *corev1.Pod) string {
	if p.Status.Phase == corev1.PodSucceeded {
		return "it has ended"
	}
	if p.Status.Reason == "" {
		return "it has failed"
	}
	return "it has failed: " + p.Status.Reason
}

func notScheduled(p *corev1.Pod) string {
	if c := Condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Message != "" {
		return "not scheduled: " + c.Message
	}
	return "not scheduled"
}

// container joins what the spec and the status say about one container.
type container struct {
	kind   string
	spec   *corev1.Container
	status *corev1.ContainerStatus // nil if not reported
	once   bool                    // it runs to its end before the others start
}

// containers lists them in the order in which they start. The status lists
// its containers in no particular order.
func containers(p *corev1.Pod) []container {
	all := make([]container, 0, len(p.Spec.InitContainers)+len(p.Spec.Containers))
	for i := range p.Spec.InitContainers {
		spec := &p.Spec.InitContainers[i]
		sidecar := spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
		all = append(all, container{
			kind: "init container", spec: spec, once: !sidecar, status: statusOf(p.Status.InitContainerStatuses, spec.Name),
		})
	}
	for i := range p.Spec.Containers {
		spec := &p.Spec.Containers[i]
		all = append(all, container{kind: "container", spec: spec, status: statusOf(p.Status.ContainerStatuses, spec.Name)})
	}
	return all
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

func (c container) name() string { return c.kind + " " + c.spec.Name }

// succeeded holds for an init container that has done its work.
func (c container) succeeded() bool {
	return c.once && c.status != nil && c.status.State.Terminated != nil && c.status.State.Terminated.ExitCode == 0
}

// failingContainer describes the first container that cannot start or has
// ended of itself.
func failingContainer(p *corev1.Pod) string {
	for _, c := range containers(p) {
		if c.status == nil || c.succeeded() {
			continue
		}
		switch state := c.status.State; {
		case state.Waiting != nil:
			if why := failure(state.Waiting.Reason, c.spec.Image); why != "" {
				return c.name() + ": " + why
			}
		case state.Terminated != nil && !isUpdating(p): // an update ends containers too
			// It will be started again, after a while. Named as during that
			// while, so that a container which keeps ending has one name.
			return c.name() + ": CrashLoopBackOff"
		}
	}
	return ""
}

// failure returns a waiting container's reason if it means trouble.
func failure(reason, image string) string {
	switch reason {
	case "", "ContainerCreating", "PodInitializing":
		return ""
	case "ErrImagePull", "ImagePullBackOff": // the kubelet goes back and forth between these two
		return fmt.Sprintf("ImagePullBackOff (image %q)", image)
	case "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return fmt.Sprintf("%s (image %q)", reason, image)
	}
	return reason
}

// startingContainer describes the first container that has not started.
func startingContainer(p *corev1.Pod) string {
	for _, c := range containers(p) {
		switch {
		case c.succeeded():
		case c.status == nil || c.status.State.Running == nil:
			return c.name() + " has not started"
		case c.once:
			return c.name() + " is not complete"
		}
	}
	return ""
}

func unreadyContainer(p *corev1.Pod) string {
	for _, c := range containers(p) {
		if !c.once && c.status != nil && !c.status.Ready {
			return c.name() + " is not ready"
		}
	}
	return ""
}

func unfinishedUpdate(p *corev1.Pod) string {
	if !isUpdating(p) {
		return ""
	}
	if resize := Condition(p, corev1.PodResizePending); isTrue(resize) && resize.Reason != "" {
		return "its in-place update is not complete: resize is " + resize.Reason
	}
	return "its in-place update is not complete"
}

func missingGate(p *corev1.Pod) string {
	for _, gate := range p.Spec.ReadinessGates {
		c := Condition(p, gate.ConditionType)
		switch {
		case c == nil:
			return fmt.Sprintf("readiness gate %s is not set", gate.ConditionType)
		case c.Status == corev1.ConditionTrue:
		case c.Reason != "" && gate.ConditionType != kruisev1alpha1.ConditionKruisePodReady:
			return fmt.Sprintf("readiness gate %s is %s: %s", gate.ConditionType, c.Status, c.Reason)
		default:
			return fmt.Sprintf("readiness gate %s is %s", gate.ConditionType, c.Status)
		}
	}
	return ""
}

// notReported is left when every cause we know of is ruled out: the node has
// yet to say that the pod is ready, or is cut off.
func notReported(p *corev1.Pod) string {
	if p.Status.Phase == corev1.PodUnknown {
		return "its node does not report"
	}
	if c := Condition(p, corev1.PodReady); c != nil && c.Status != corev1.ConditionTrue && c.Reason != "" {
		return "it is not ready: " + c.Reason
	}
	return "its node has not reported it ready"
}
