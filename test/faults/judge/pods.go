// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/test/audit"
)

const instanceID = "apps.kruise.io/cloneset-instance-id"

// judge judges one write of the controllers to a pod. Before is nil for a new one, and where the log has a gap.
func (c *court) judge(e *entry, before *corev1.Pod) {
	s := c.owner(before)
	if before == nil || s == nil && ownerOf(before) == "" {
		s = c.owner(e.pod)
	}
	switch {
	case s == nil && before == nil && e.pod.UID == "":
		return // a removal of what the log does not know
	case s == nil:
		c.find(e, Foreign, e.pod.Name, "%s, and its controller is none of the sets", does(e))
		return
	case s.gone:
		return
	}
	switch e.write.Verb {
	case "create":
		c.creates(e, s)
	case "delete", "deletecollection":
		c.deletes(e, s, before)
	default:
		if before != nil {
			c.changes(e, s, before)
		}
	}
}

func does(e *entry) string {
	return (audit.Kind{Verb: e.write.Verb, Subresource: e.write.Subresource}).String()
}

func (c *court) creates(e *entry, s *set) {
	pod, others := e.pod, c.members(s)
	if said := anySpec(s, func(of spec) string {
		if n := len(others) + 1; n > of.replicas+of.surge {
			return fmt.Sprintf("it is the %dth pod, %d are wanted and %d more allowed", n, of.replicas, of.surge)
		}
		return ""
	}); said != "" {
		c.find(e, Surge, pod.Name, "%s", said)
	}
	c.makesNew(e, s, nil)
	for _, other := range others {
		if id := pod.Labels[instanceID]; other.Name == pod.Name || id != "" && other.Labels[instanceID] == id {
			c.find(e, Ordinal, pod.Name, "pod %s is there already", other.Name)
		}
	}
	if !s.single {
		return
	}
	n := ordinal(s, pod.Name)
	if said := anySpec(s, func(of spec) string {
		if n >= of.replicas {
			return fmt.Sprintf("ordinals go up to %d", of.replicas-1)
		}
		return ""
	}); said != "" {
		c.find(e, Ordinal, pod.Name, "%s", said)
	}
	if said := anySpec(s, func(of spec) string {
		if !of.ordered {
			return ""
		}
		return c.waitsFor(e, s, of, n, true)
	}); said != "" {
		c.find(e, Order, pod.Name, "it is created, and %s", said)
	}
}

// waitsFor names a pod below an ordinal, or above it, that does not serve.
func (c *court) waitsFor(e *entry, s *set, of spec, n int, below bool) string {
	from, to := n+1, of.replicas
	if below {
		from, to = 0, n
	}
	for i := from; i < to; i++ {
		name := fmt.Sprintf("%s-%d", s.name, i)
		p := c.pods[name]
		if c.lately(name, e.write.Received) || p != nil && active(p) && c.serves(p, of.minReady, e.write.Received) {
			continue
		}
		return name + " is not available"
	}
	return ""
}

// makesNew: a pod gets the newest template; enough must stay on older ones.
func (c *court) makesNew(e *entry, s *set, before *corev1.Pod) {
	images := imagesOf(&e.pod.Spec)
	if before != nil && imagesOf(&before.Spec) == images || len(s.templates) < 2 {
		return
	}
	said := anySpec(s, func(of spec) string {
		if images != of.images {
			if slices.Index(s.templates, images) > slices.Index(s.templates, of.images) {
				return "it gets a template that this spec did not know"
			}
			return ""
		}
		if s.single {
			if n := ordinal(s, e.pod.Name); n < of.keeps {
				return fmt.Sprintf("it gets %s below the partition %d", images, of.keeps)
			}
			return ""
		}
		fresh := 1
		for _, p := range c.members(s) {
			if p.Name != e.pod.Name && imagesOf(&p.Spec) == images {
				fresh++
			}
		}
		if most := of.replicas - of.keeps; fresh > max(most, 0) {
			return fmt.Sprintf("it is the %dth pod with %s, the partition %d leaves %d of %d", fresh, images, of.keeps, most, of.replicas)
		}
		return ""
	})
	if said != "" {
		c.find(e, Partition, e.pod.Name, "%s", said)
	}
}

func (c *court) deletes(e *entry, s *set, before *corev1.Pod) {
	var asked metav1.DeleteOptions
	if err := json.Unmarshal(e.write.Asked, &asked); err == nil && asked.GracePeriodSeconds != nil && *asked.GracePeriodSeconds == 0 {
		c.find(e, Ordinal, e.pod.Name, "it is removed without waiting for its node")
	}
	if before == nil || !active(before) {
		return
	}
	c.takes(e, s, before)
	others := len(c.members(s)) - 1
	if said := anySpec(s, func(of spec) string {
		leaves := s.single && ordinal(s, before.Name) >= of.replicas || !s.single && others >= of.replicas
		_, chosen := c.asked[before.UID]
		if of.inPlaceOnly && !leaves && !chosen {
			return "it is deleted and its place is wanted, but pods may be updated in place only"
		}
		return ""
	}); said != "" {
		c.find(e, InPlace, e.pod.Name, "%s", said)
	}
	c.inTurn(e, s, before)
}

// takes: an available pod goes out of service by this write.
func (c *court) takes(e *entry, s *set, before *corev1.Pod) {
	if !audit.Available(before, s.latest().minReady, e.write.Received) {
		return
	}
	if said := anySpec(s, func(of spec) string {
		if s.single && ordinal(s, before.Name) >= of.replicas {
			return "" // it is not wanted any more
		}
		n := c.unavailable(s, of, before.Name, e.write.Received)
		if n > max(of.unavailable, 0) && n > 0 {
			return fmt.Sprintf("%s takes it out of service, %d of %d are unavailable then, %d may be", does(e), n, of.replicas, of.unavailable)
		}
		return ""
	}); said != "" {
		c.find(e, Budget, e.pod.Name, "%s", said)
	}
}

// inTurn: an available pod of an ordered set goes only when it is the next.
func (c *court) inTurn(e *entry, s *set, before *corev1.Pod) {
	if !s.single || !audit.Available(before, s.latest().minReady, e.write.Received) {
		return
	}
	if _, chosen := c.asked[before.UID]; chosen {
		return
	}
	n := ordinal(s, before.Name)
	if said := anySpec(s, func(of spec) string {
		switch {
		case !of.ordered:
			return ""
		case n >= of.replicas:
			for name, p := range c.pods {
				if ownerOf(p) == s.uid && ordinal(s, name) > n {
					return fmt.Sprintf("it is deleted before %s is gone", name)
				}
			}
			return ""
		case imagesOf(&before.Spec) == of.images:
			return "it is taken without any reason"
		}
		for _, p := range c.members(s) {
			if i := ordinal(s, p.Name); i > n && i < of.replicas && i >= of.keeps && imagesOf(&p.Spec) != of.images {
				return fmt.Sprintf("it is updated before %s", p.Name)
			}
		}
		return c.waitsFor(e, s, of, n, false)
	}); said != "" {
		c.find(e, Order, e.pod.Name, "%s", said)
	}
}

func (c *court) changes(e *entry, s *set, before *corev1.Pod) {
	for _, finalizer := range before.Finalizers {
		if !slices.Contains(e.pod.Finalizers, finalizer) {
			c.find(e, Deletion, e.pod.Name, "the finalizer %s of others is removed", finalizer)
		}
	}
	if !active(before) {
		return
	}
	if ip := before.Status.PodIP; ip != "" && e.pod.Status.PodIP != ip {
		c.find(e, InPlace, e.pod.Name, "its IP %s becomes %q", ip, e.pod.Status.PodIP)
	}
	received := e.write.Received
	if imagesOf(&before.Spec) != imagesOf(&e.pod.Spec) {
		// This write leaves the status alone, so its answer tells in which state the pod was. What was written down before may
		// lack a write whose answer was lost, as that of a manager that was killed.
		if hasGate(before) && audit.Available(e.pod, 0, received) {
			c.find(e, InPlace, e.pod.Name, "its containers change while it is in service")
		}
		c.makesNew(e, s, before)
	}
	if audit.Available(before, s.latest().minReady, received) && !audit.Available(e.pod, s.latest().minReady, received) {
		c.takes(e, s, before)
		c.inTurn(e, s, before)
	}
}

func hasGate(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == "InPlaceUpdateReady" })
}
