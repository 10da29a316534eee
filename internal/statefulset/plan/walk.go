// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// walk goes over the positions, from the lowest up: it replaces what has finished, creates what is missing, and repairs
// what there is. Where pods are ordered, it ends at the first position that is not available.
func (p *pass) walk() (end bool) {
	allowed := p.allowedCreations()
	for i := range p.slots {
		s := &p.slots[i]
		switch {
		case s.member != nil:
			end = p.visit(s.member)
		case allowed == 0:
			p.plan.Throttled++
			end = true
		case p.create(s):
			allowed--
			end = true
		default:
			end = true
		}
		if end && p.ordered {
			return true
		}
	}
	if p.plan.Throttled > 0 {
		p.hold(fmt.Sprintf("%d pods more are missing than scaleStrategy.maxUnavailable lets be created now", p.plan.Throttled))
	}
	return false
}

// allowedCreations is how many pods may be created; -1 for any number. All live pods that do not serve count against it,
// wherever they are.
func (p *pass) allowedCreations() int {
	if p.plan.Limits.CreateUnavailable == nil {
		return -1
	}
	allowed := *p.plan.Limits.CreateUnavailable
	for i := range p.slots {
		if m := p.slots[i].member; m != nil && !m.serves() {
			allowed--
		}
	}
	return max(0, allowed)
}

// visit looks after one live pod. It returns true when those above it have to wait for it.
func (p *pass) visit(m *Member) (obstacle bool) {
	p.own(m.Pod.Name, m)
	switch {
	case pod.IsTerminating(m.Pod):
		p.wait(fmt.Sprintf("pod %s is being deleted, and those above it wait", m.Pod.Name))
		return true
	case pod.IsFinished(m.Pod):
		p.remove(m, step.CleanUp, "it has finished")
		return true
	}
	if m.Pod.Status.Phase == corev1.PodPending {
		p.restoreClaims(m)
	}
	if m.serves() {
		p.identify(m)
		return false
	}
	if !p.ordered {
		p.identify(m)
	} else if _, leaving := p.terminating(); m.Chosen && !leaving { // it is the one that all others wait for
		p.remove(m, step.Chosen, "it was chosen for deletion")
	}
	p.wait(m.waiting())
	return true
}

// wait is as hold, where pods wait for one another.
func (p *pass) wait(why string) {
	if p.ordered {
		p.hold(why)
	}
}

// identify repairs the labels by which others find a pod by its name and ordinal, when nothing else is to be done to it.
func (p *pass) identify(m *Member) {
	labels := map[string]*string{}
	for key, value := range identity(m.Pod.Name, m.Ordinal) {
		if m.Pod.Labels[key] != value {
			labels[key] = ptr.To(value)
		}
	}
	if len(labels) > 0 && p.pods[m.Pod.Name] == nil {
		p.do(m.Pod, step.PatchPod{Because: "its labels do not say which member it is", Target: step.On(m.Pod), Patch: step.Patch{Labels: labels}})
	}
}

// identity are the labels by which a member is found.
func identity(name string, n int) map[string]string {
	return map[string]string{kruisev1beta1.LabelPodName: name, kruisev1beta1.LabelPodIndex: strconv.Itoa(n)}
}
