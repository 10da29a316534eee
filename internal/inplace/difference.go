// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/step"
)

// Difference is what stands between two templates, split by whether it can reach a living pod.
type Difference struct {
	// Refusals name each field that a living pod cannot take over; empty when the pod can be kept.
	Refusals []string
	// Images maps containers to the image that they shall run.
	Images map[string]string
	// Resources maps containers to the amounts of CPU and memory that change, and to no others.
	Resources map[string]corev1.ResourceRequirements
	// Labels and Annotations hold what the template adds, changes or (nil) removes. Keys that others
	// put on a pod are not in here, so they survive.
	Labels, Annotations map[string]*string
	// AddFinalizers and RemoveFinalizers are the template's own finalizers that came and went.
	AddFinalizers, RemoveFinalizers []string
}

// Compare tells what it takes to bring a pod of template from to template to. Both must be normalised
// (package revision), so that fields spelled differently with the same meaning do not differ.
// The answer depends on nothing else: compute it once for each pair of revisions. What depends on the pod
// as well is judged by Refused.
func Compare(from, to *corev1.PodTemplateSpec) Difference {
	d := Difference{
		Images:      map[string]string{},
		Resources:   map[string]corev1.ResourceRequirements{},
		Labels:      changedKeys(from.Labels, to.Labels),
		Annotations: changedKeys(from.Annotations, to.Annotations),
	}
	d.AddFinalizers = without(to.Finalizers, from.Finalizers)
	d.RemoveFinalizers = without(from.Finalizers, to.Finalizers)

	// What may change is made equal on a copy; whatever still differs then is refused by name.
	rest := from.Spec.DeepCopy()
	if sameContainers(from.Spec.Containers, to.Spec.Containers) {
		for i := range rest.Containers {
			want := to.Spec.Containers[i]
			if changed := resized(&rest.Containers[i].Resources, want.Resources); !isEmpty(changed) {
				d.Resources[want.Name] = changed
			}
			if rest.Containers[i].Image == want.Image {
				continue
			}
			d.Images[want.Name] = want.Image
			rest.Containers[i].Image = want.Image
			// The pull policy of a living pod cannot change. One that only follows the tag (Always for
			// latest, else IfNotPresent) came from the API server's default, not from a person.
			if pullPolicyFollowsTag(from.Spec.Containers[i]) && pullPolicyFollowsTag(want) {
				rest.Containers[i].ImagePullPolicy = want.ImagePullPolicy
			}
		}
	}
	d.Refusals = differingFields("spec", rest, &to.Spec)
	if len(d.Resources) > 0 {
		d.Refusals = append(d.Refusals, d.unresizable(&from.Spec, &to.Spec)...)
	}
	return d
}

// Possible tells whether a living pod can take the difference over, as far as that depends on the templates.
func (d Difference) Possible() bool { return len(d.Refusals) == 0 }

// Onto returns d laid over unfinished, which is what an earlier update has not brought to the pod yet.
// Where both speak of the same thing, d is the newer word.
func (d Difference) Onto(unfinished Difference) Difference {
	both := d
	both.Images = overlay(unfinished.Images, d.Images)
	both.Resources = maps.Clone(unfinished.Resources)
	for name, amounts := range d.Resources {
		both.Resources = overlay(both.Resources, map[string]corev1.ResourceRequirements{name: overlayAmounts(both.Resources[name], amounts)})
	}
	both.Labels = overlay(unfinished.Labels, d.Labels)
	both.Annotations = overlay(unfinished.Annotations, d.Annotations)
	both.AddFinalizers = without(union(unfinished.AddFinalizers, d.AddFinalizers), d.RemoveFinalizers)
	both.RemoveFinalizers = without(union(unfinished.RemoveFinalizers, d.RemoveFinalizers), d.AddFinalizers)
	return both
}

func (d Difference) patch() step.Patch {
	return step.Patch{
		Labels: maps.Clone(d.Labels), Annotations: maps.Clone(d.Annotations), Images: maps.Clone(d.Images),
		AddFinalizers: d.AddFinalizers, RemoveFinalizers: d.RemoveFinalizers,
	}
}

func sameContainers(a, b []corev1.Container) bool {
	return slices.EqualFunc(a, b, func(x, y corev1.Container) bool { return x.Name == y.Name })
}

func changedKeys(from, to map[string]string) map[string]*string {
	changed := map[string]*string{}
	for key := range from {
		if _, kept := to[key]; !kept {
			changed[key] = nil
		}
	}
	for key, value := range to {
		if old, had := from[key]; !had || old != value {
			changed[key] = &value
		}
	}
	return changed
}

func overlay[K comparable, V any](under, over map[K]V) map[K]V {
	both := maps.Clone(under)
	if both == nil {
		both = map[K]V{}
	}
	maps.Copy(both, over)
	return both
}

func without(list, drop []string) []string {
	var kept []string
	for _, item := range list {
		if !slices.Contains(drop, item) {
			kept = append(kept, item)
		}
	}
	return kept
}

func union(a, b []string) []string { return append(without(a, b), b...) }

func containerOf(p *corev1.Pod, name string) *corev1.Container {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == name {
			return &p.Spec.Containers[i]
		}
	}
	return nil
}

func statusOf(p *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if p.Status.ContainerStatuses[i].Name == name {
			return &p.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// Empty tells whether the two templates make the same pod.
func (d Difference) Empty() bool {
	return len(d.Refusals)+len(d.Images)+len(d.Resources)+len(d.Labels)+len(d.Annotations)+len(d.AddFinalizers)+len(d.RemoveFinalizers) == 0
}

// String names what changes, for people.
func (d Difference) String() string {
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(d.Images)) {
		changes = append(changes, "image of "+name+" to "+d.Images[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.Resources)) {
		changes = append(changes, "resources of "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		changes = append(changes, "label "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Annotations)) {
		changes = append(changes, "annotation "+name)
	}
	if len(d.AddFinalizers)+len(d.RemoveFinalizers) > 0 {
		changes = append(changes, "finalizers")
	}
	return strings.Join(changes, ", ")
}
