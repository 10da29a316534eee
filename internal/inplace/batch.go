// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	envBarrier  = "KRUISE_CONTAINER_BARRIER"
	envPriority = "KRUISE_CONTAINER_PRIORITY"
)

// launchPriority is the place of a container in the order in which containers start; false when it has none.
func launchPriority(c *corev1.Container) (int, bool) {
	for _, name := range []string{envBarrier, envPriority} {
		for i := range c.Env {
			e := &c.Env[i]
			if e.Name != name {
				continue
			}
			text := e.Value
			if name == envBarrier {
				if e.ValueFrom == nil || e.ValueFrom.ConfigMapKeyRef == nil {
					continue
				}
				text, _ = strings.CutPrefix(e.ValueFrom.ConfigMapKeyRef.Key, "p_")
			}
			if n, err := strconv.Atoi(text); err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

// changing are the containers of the pod that d concerns, by name: another image, other resources, or an
// environment that reads what changes.
func (d Difference) changing(p *corev1.Pod) []string {
	readers := d.readers(p)
	var names []string
	for i := range p.Spec.Containers {
		name := p.Spec.Containers[i].Name
		_, image := d.Images[name]
		_, resources := d.Resources[name]
		if image || resources || slices.Contains(readers, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// firstBatch are those of the changing containers that go now: all without a priority, and all with the
// highest one. A label or annotation is written once for all who read it, so they go together.
func (d Difference) firstBatch(p *corev1.Pod) []string {
	changing := d.changing(p)
	highest, some := 0, false
	for _, name := range changing {
		if n, has := launchPriority(containerOf(p, name)); has && (!some || n > highest) {
			highest, some = n, true
		}
	}
	in := map[string]bool{}
	for _, name := range changing {
		n, has := launchPriority(containerOf(p, name))
		in[name] = !has || n == highest
	}
	for grown := true; grown; {
		grown = false
		for _, name := range changing {
			if !in[name] && slices.ContainsFunc(changing, func(member string) bool { return in[member] && d.shareNew(p, name, member) }) {
				in[name], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(changing, func(name string) bool { return !in[name] })
}

// shareNew tells whether two containers read the same label or annotation that d changes.
func (d Difference) shareNew(p *corev1.Pod, a, b string) bool {
	return slices.ContainsFunc(d.readingNew(containerOf(p, a)), func(x reference) bool {
		return slices.ContainsFunc(d.readingNew(containerOf(p, b)), func(y reference) bool { return x.key == y.key && x.label == y.label })
	})
}

// split divides d into what goes now, with the containers that are concerned, and what is left for later
// batches. Metadata that no container reads goes now.
func (d Difference) split(p *corev1.Pod) (now Difference, batch []string, later left) {
	batch = d.firstBatch(p)
	now = d
	now.Images, now.Resources = map[string]string{}, map[string]corev1.ResourceRequirements{}
	now.Labels, now.Annotations = maps.Clone(d.Labels), maps.Clone(d.Annotations)
	later = left{images: map[string]string{}, metadata: map[string]metav1.ObjectMeta{}, resources: map[string]corev1.ResourceRequirements{}}
	for _, name := range d.changing(p) {
		goesNow := slices.Contains(batch, name)
		images, resources := later.images, later.resources
		if goesNow {
			images, resources = now.Images, now.Resources
		}
		if image, changed := d.Images[name]; changed {
			images[name] = image
		}
		if amounts, changed := d.Resources[name]; changed {
			resources[name] = amounts
		}
		if read := d.metadataFor(containerOf(p, name)); !goesNow && len(read.Labels)+len(read.Annotations) > 0 {
			later.metadata[name] = read
			deleteKeys(now.Labels, read.Labels)
			deleteKeys(now.Annotations, read.Annotations)
		}
	}
	return now, batch, later
}

// left is what later batches bring, by container.
type left struct {
	images    map[string]string
	metadata  map[string]metav1.ObjectMeta
	resources map[string]corev1.ResourceRequirements
}

func (l left) empty() bool { return len(l.images)+len(l.metadata)+len(l.resources) == 0 }

func (l left) difference() Difference {
	d := Difference{Images: l.images, Resources: l.resources}
	for _, name := range slices.Sorted(maps.Keys(l.metadata)) {
		d.Labels = overlay(d.Labels, pointers(l.metadata[name].Labels))
		d.Annotations = overlay(d.Annotations, pointers(l.metadata[name].Annotations))
	}
	return d
}

// metadataFor is what d changes of the labels and annotations that the container reads.
func (d Difference) metadataFor(c *corev1.Container) metav1.ObjectMeta {
	read := metav1.ObjectMeta{}
	for _, r := range d.readingNew(c) {
		if r.label {
			read.Labels = overlay(read.Labels, map[string]string{r.key: *d.Labels[r.key]})
		} else {
			read.Annotations = overlay(read.Annotations, map[string]string{r.key: *d.Annotations[r.key]})
		}
	}
	return read
}

func deleteKeys[A, B any](from map[string]A, keys map[string]B) {
	for key := range keys {
		delete(from, key)
	}
}

func pointers(values map[string]string) map[string]*string {
	var pointed map[string]*string
	for key, value := range values {
		pointed = overlay(pointed, map[string]*string{key: &value})
	}
	return pointed
}
