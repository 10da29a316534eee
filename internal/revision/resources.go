// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// defaultResources rounds amounts and derives the ones that were left out. The server derives before it rounds,
// which differs only for pod-level sums of amounts below a thousandth; rounding first makes the result the same for
// a template that already went through a server once.
func defaultResources(spec *corev1.PodSpec) {
	forEachContainer(spec, func(c *corev1.Container) {
		roundUp(c.Resources.Limits)
		roundUp(c.Resources.Requests)
	})
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			amounts := &containers[i].Resources
			for name, limit := range amounts.Limits {
				setAmount(&amounts.Requests, name, limit)
			}
		}
	}
	defaultPodResources(spec)
}

// roundUp raises amounts to whole thousandths, the finest that the API server keeps.
func roundUp(amounts corev1.ResourceList) {
	for name, amount := range amounts {
		amount.RoundUp(resource.Milli)
		amounts[name] = amount
	}
}

// defaultPodResources completes resources of the pod as a whole that are given in part.
func defaultPodResources(spec *corev1.PodSpec) {
	pod := spec.Resources
	if pod == nil || len(pod.Limits)+len(pod.Requests) == 0 {
		return
	}
	limits := needed(spec, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits })
	for name, limit := range limits {
		if _, requested := pod.Requests[name]; isHugePages(name) && !requested {
			setAmount(&pod.Limits, name, limit)
		}
	}
	if len(pod.Limits) == 0 {
		return
	}
	requests := needed(spec, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests })
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if request, ok := requests[name]; ok {
			setAmount(&pod.Requests, name, request)
		}
	}
	for name, limit := range pod.Limits {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name) {
			setAmount(&pod.Requests, name, limit)
		}
	}
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// needed is what the pod's containers need together: the normal ones and the sidecars at once, or an init container
// with the sidecars started before it, whichever is more.
func needed(spec *corev1.PodSpec, of func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	running, sidecars, starting := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.Containers {
		add(running, of(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(running, of(c))
			add(sidecars, of(c))
			continue
		}
		step := corev1.ResourceList{}
		add(step, of(c))
		add(step, sidecars)
		raise(starting, step)
	}
	raise(running, starting)
	return running
}

func add(sum, more corev1.ResourceList) {
	for name, amount := range more {
		total := sum[name].DeepCopy()
		if total.IsZero() {
			total = amount.DeepCopy() // keeps the spelling
		} else {
			total.Add(amount)
		}
		sum[name] = total
	}
}

func raise(highest, other corev1.ResourceList) {
	for name, amount := range other {
		if known, ok := highest[name]; !ok || amount.Cmp(known) > 0 {
			highest[name] = amount.DeepCopy()
		}
	}
}

// setAmount gives a resource an amount unless it has one.
func setAmount(amounts *corev1.ResourceList, name corev1.ResourceName, amount resource.Quantity) {
	if _, ok := (*amounts)[name]; ok {
		return
	}
	if *amounts == nil {
		*amounts = corev1.ResourceList{}
	}
	(*amounts)[name] = amount.DeepCopy()
}
