// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Refused names each field that this very pod cannot take over, although the templates allow it: it has no
// such container, its node cannot resize it so, or a container reads a label or annotation into its
// environment and nothing would restart it. What an earlier update has left unfinished is judged with it,
// since Begin brings that along.
func (d Difference) Refused(p *corev1.Pod) []string {
	var refusals []string
	for _, name := range slices.Sorted(maps.Keys(overlay(named(d.Images), named(d.Resources)))) {
		if containerOf(p, name) == nil {
			refusals = append(refusals, fmt.Sprintf("spec.containers[%s]: the pod has no such container", name))
		}
	}
	before, _ := RecordOf(p) // what cannot be read is refused by Begin
	held, _ := HeldOf(p)
	if unfinished, err := unfinishedOf(before, held); err == nil {
		d = d.Onto(unfinished)
	}
	d = d.notYet(p)
	refusals = append(refusals, d.stuckEnvironment(p, before)...)
	return append(refusals, d.unresizablePod(p)...)
}

func named[V any](of map[string]V) map[string]bool {
	names := map[string]bool{}
	for name := range of {
		names[name] = true
	}
	return names
}

// Drains tells whether the pod has to leave service for d: a container restarts.
func (d Difference) Drains(p *corev1.Pod) bool {
	if len(d.Images) > 0 || len(d.readers(p)) > 0 {
		return true
	}
	for name, amounts := range d.Resources {
		if c := containerOf(p, name); c != nil && restartsFor(c, amounts) {
			return true
		}
	}
	return false
}

// stuckEnvironment refuses a changed label or annotation that a container reads into its environment when
// nothing would restart that container: neither a new image nor a node agent. It would run on with the old value.
func (d Difference) stuckEnvironment(p *corev1.Pod, before *Record) []string {
	if agentOf(p) != nil {
		return nil
	}
	var refusals []string
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if d.restarts(p, c.Name, before) {
			continue
		}
		for _, r := range d.readingNew(c) {
			refusals = append(refusals, fmt.Sprintf("%s: env %s of container %s reads it, and only a restart of the container would show the new value", r.path, r.env, c.Name))
		}
	}
	return refusals
}

// restarts tells whether d gives the container another image than the one that it runs. It does not where an
// earlier change is taken back that the node has not acted on.
func (d Difference) restarts(p *corev1.Pod, name string, before *Record) bool {
	image, changes := d.Images[name]
	last, onItsWay := pending(p, before, time.Time{})[name] // what time alone makes count has another container by then, or its old image back
	if !changes || !onItsWay {
		return changes
	}
	status := statusOf(p, name)
	untouched := status != nil && status.State.Running != nil && status.ContainerID == last.ContainerID
	return !untouched || !sameImage(last.Image, image)
}
