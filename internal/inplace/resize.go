// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
)

// resizable are the resources that a node can change under a living container.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// resized returns the amounts of want that differ from those of have, and makes have equal in them. Only an
// amount that both name can change in a living pod.
func resized(have *corev1.ResourceRequirements, want corev1.ResourceRequirements) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: resizedList(have.Limits, want.Limits), Requests: resizedList(have.Requests, want.Requests)}
}

func resizedList(have, want corev1.ResourceList) corev1.ResourceList {
	var changed corev1.ResourceList
	for _, name := range resizable {
		from, had := have[name]
		to, has := want[name]
		if !had || !has || from.Cmp(to) == 0 {
			continue
		}
		if changed == nil {
			changed = corev1.ResourceList{}
		}
		changed[name], have[name] = to, to
	}
	return changed
}

// unresizable refuses resizes that the API server would refuse, whatever the pod.
func (d Difference) unresizable(from, to *corev1.PodSpec) []string {
	if before, after := qosClass(from), qosClass(to); before != after {
		return d.refuseResize(fmt.Sprintf("would change the QoS class of the pod from %s to %s, so it", before, after))
	}
	if from.Resources != nil {
		return d.refuseResize("(beside spec.resources of the whole pod)")
	}
	return nil
}

// refuseResize names the resources of each container that d would resize.
func (d Difference) refuseResize(why string) []string {
	var refusals []string
	for _, name := range slices.Sorted(maps.Keys(d.Resources)) {
		refusals = append(refusals, fmt.Sprintf("spec.containers[%s].resources %s", name, why))
	}
	return refusals
}

// WithoutResize is d where resources of living pods are not to be touched: each resize is refused.
func (d Difference) WithoutResize() Difference {
	d.Refusals = append(slices.Clone(d.Refusals), d.refuseResize("(the server does not resize living pods)")...)
	return d
}

// qosClass is the quality of service that a pod with these containers gets.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, some := true, false
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, name := range resizable {
			limit, request := c.Resources.Limits[name], c.Resources.Requests[name]
			some = some || limit.Sign() > 0 || request.Sign() > 0
			guaranteed = guaranteed && limit.Sign() > 0 && (request.IsZero() || request.Cmp(limit) == 0)
		}
	}
	switch {
	case !some:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// unresizablePod refuses resizes that the API server would refuse for this very pod: others may have given
// it containers and amounts that are in no template.
func (d Difference) unresizablePod(p *corev1.Pod) []string {
	if len(d.Resources) == 0 {
		return nil
	}
	for name := range d.Resources {
		if status := statusOf(p, name); status != nil && status.State.Running != nil && status.Resources == nil {
			return d.refuseResize("(its node does not resize containers)")
		}
	}
	after := corev1.PodSpec{InitContainers: p.Spec.InitContainers, Containers: slices.Clone(p.Spec.Containers)}
	for i := range after.Containers {
		c := &after.Containers[i]
		c.Resources = overlayAmounts(c.Resources, d.Resources[c.Name])
	}
	before := p.Status.QOSClass
	if before == "" {
		before = qosClass(&p.Spec)
	}
	if class := qosClass(&after); class != before {
		return d.refuseResize(fmt.Sprintf("would change the QoS class of the pod from %s to %s, so it", before, class))
	}
	return nil
}

// restartsFor tells whether the container restarts when its amounts change like that.
func restartsFor(c *corev1.Container, amounts corev1.ResourceRequirements) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		_, limit := amounts.Limits[policy.ResourceName]
		_, request := amounts.Requests[policy.ResourceName]
		return policy.RestartPolicy == corev1.RestartContainer && (limit || request)
	})
}

// resizesLeft are the amounts that the spec of the pod does not have yet.
func resizesLeft(p *corev1.Pod, resources map[string]corev1.ResourceRequirements) map[string]corev1.ResourceRequirements {
	left := map[string]corev1.ResourceRequirements{}
	for name, want := range resources {
		c := containerOf(p, name)
		if c == nil {
			continue
		}
		have := corev1.ResourceRequirements{Limits: maps.Clone(c.Resources.Limits), Requests: maps.Clone(c.Resources.Requests)}
		if changed := resized(&have, want); !isEmpty(changed) {
			left[name] = changed
		}
	}
	return left
}

// Strayed is what it takes to give a pod the resources of its own template where it has those of another one.
// Amounts that are in none of the templates are the work of somebody else and stay.
func Strayed(p *corev1.Pod, own *corev1.PodTemplateSpec, others []*corev1.PodTemplateSpec) Difference {
	var back Difference
	for i := range own.Spec.Containers {
		want := &own.Spec.Containers[i]
		live := containerOf(p, want.Name)
		if live == nil {
			continue
		}
		var changed corev1.ResourceRequirements
		for _, other := range others {
			for j := range other.Spec.Containers {
				if from := &other.Spec.Containers[j]; from.Name == want.Name {
					changed.Limits = strayedList(changed.Limits, live.Resources.Limits, want.Resources.Limits, from.Resources.Limits)
					changed.Requests = strayedList(changed.Requests, live.Resources.Requests, want.Resources.Requests, from.Resources.Requests)
				}
			}
		}
		if !isEmpty(changed) {
			back.Resources = overlay(back.Resources, map[string]corev1.ResourceRequirements{want.Name: changed})
		}
	}
	return back
}

func strayedList(found, live, own, other corev1.ResourceList) corev1.ResourceList {
	for _, name := range resizable {
		has, want, from := live[name], own[name], other[name]
		if _, both := own[name]; both && has.Cmp(want) != 0 && has.Cmp(from) == 0 {
			found = overlay(found, corev1.ResourceList{name: want})
		}
	}
	return found
}

// SameSize tells whether two templates give their containers the same CPU and memory.
func SameSize(a, b *corev1.PodTemplateSpec) bool {
	return slices.EqualFunc(a.Spec.Containers, b.Spec.Containers, func(x, y corev1.Container) bool {
		return sameAmounts(x.Resources.Limits, y.Resources.Limits) && sameAmounts(x.Resources.Requests, y.Resources.Requests)
	})
}

// resizeWaits says what the node has yet to do for the containers that were resized; empty when it is done.
// Containers that were not resized are no matter: a sidecar without resources must not hold the others up.
func (r *Record) resizeWaits(p *corev1.Pod) string {
	if !r.UpdateResources {
		return ""
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodResizePending, corev1.PodResizeInProgress} {
		if c := pod.Condition(p, kind); c != nil && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf("the node has not resized the pod (%s %s)", kind, c.Reason)
		}
	}
	// Going back to amounts that the node still reports looks finished before the node has seen anything.
	if seen := p.Status.ObservedGeneration; seen > 0 && seen < r.PodGeneration {
		return "the node has not seen the resize"
	}
	for _, name := range r.resizedContainers(p) {
		c, status := containerOf(p, name), statusOf(p, name)
		switch {
		case c == nil:
			continue
		case status == nil || status.Resources == nil:
			return fmt.Sprintf("container %s: the node reports no resources of it", name)
		case !sameAmounts(c.Resources.Limits, status.Resources.Limits) || !sameAmounts(c.Resources.Requests, status.Resources.Requests):
			return fmt.Sprintf("container %s: the node has not resized it", name)
		}
	}
	return ""
}

// resizedContainers are those that the update has resized; records of other publishers do not name them.
func (r *Record) resizedContainers(p *corev1.Pod) []string {
	if len(r.ResizedContainers) > 0 || !r.UpdateResources {
		return r.ResizedContainers
	}
	var names []string
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if slices.ContainsFunc(resizable, func(name corev1.ResourceName) bool {
			_, limit := c.Resources.Limits[name]
			_, request := c.Resources.Requests[name]
			return limit || request
		}) {
			names = append(names, c.Name)
		}
	}
	return names
}

// unrecordedRestart names a container that is about to restart for its resources in a pod that is out of
// service, although the update that resized it was given up before the patch that would have recorded it.
func unrecordedRestart(p *corev1.Pod) string {
	gate := pod.Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady)
	pending := pod.Condition(p, corev1.PodResizePending)
	if gate == nil || gate.Status != corev1.ConditionFalse || pending != nil && pending.Status == corev1.ConditionTrue && pending.Reason == corev1.PodReasonInfeasible {
		return ""
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		status := statusOf(p, c.Name)
		if status == nil || status.Resources == nil {
			continue
		}
		has := corev1.ResourceRequirements{Limits: maps.Clone(status.Resources.Limits), Requests: maps.Clone(status.Resources.Requests)}
		if restartsFor(c, resized(&has, c.Resources)) {
			return fmt.Sprintf("container %s: the node has not resized it", c.Name)
		}
	}
	return ""
}

// infeasible says why the node will never be able to resize the pod; empty when it may be.
func (r *Record) infeasible(p *corev1.Pod) string {
	c := pod.Condition(p, corev1.PodResizePending)
	if !r.UpdateResources || c == nil || c.Status != corev1.ConditionTrue || c.Reason != corev1.PodReasonInfeasible {
		return ""
	}
	why := "spec.containers[*].resources: the node cannot give them"
	if c.Message != "" {
		why += ": " + c.Message
	}
	return why
}

func sameAmounts(a, b corev1.ResourceList) bool {
	return !slices.ContainsFunc(resizable, func(name corev1.ResourceName) bool {
		x, inA := a[name]
		y, inB := b[name]
		return inA != inB || x.Cmp(y) != 0
	})
}

func overlayAmounts(under, over corev1.ResourceRequirements) corev1.ResourceRequirements {
	both := under
	if len(over.Limits) > 0 {
		both.Limits = overlay(under.Limits, over.Limits)
	}
	if len(over.Requests) > 0 {
		both.Requests = overlay(under.Requests, over.Requests)
	}
	return both
}

func isEmpty(r corev1.ResourceRequirements) bool { return len(r.Limits)+len(r.Requests) == 0 }
