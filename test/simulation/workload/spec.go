// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/world"
)

// Spec is what a workload is asked for.
type Spec struct {
	// App is the version that its template runs.
	App      string
	Replicas int
	// Kept are pods that stay on older templates, by the Partition, if there is one.
	Kept             int
	Partition        bool
	Paused, OnDelete bool
	// Held: a rollout has it.
	Held bool
}

// SpecOf reads it. It panics for an object that is no workload.
func SpecOf(o client.Object) Spec {
	copied, _ := o.DeepCopyObject().(client.Object) // FieldsOf fills in what is absent
	f := FieldsOf(copied)
	s := Spec{App: world.ReleaseOf(f.Template.Labels, &f.Template.Spec).App, Held: len(Traces(o)) > 0}
	if f.Replicas != nil {
		s.Replicas = int(ptr.Deref(*f.Replicas, 1))
	}
	if f.Paused != nil {
		s.Paused = *f.Paused
	}
	if f.Still != nil {
		s.OnDelete = *f.Still == OnDelete
	}
	switch {
	case f.Number != nil && *f.Number != nil:
		s.Kept, s.Partition = int(**f.Number), true
	case f.Share != nil && *f.Share != nil:
		s.Kept, s.Partition = world.Share(*f.Share, s.Replicas, true, 0), true
	}
	return s
}

// Changes tell what differs from what it was asked for before, one by one. Besides are told after the template.
func (s Spec) Changes(was Spec, besides ...string) []string {
	var parts []string
	add := func(differs bool, format string, args ...any) {
		if differs {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(!was.Held && s.Held, "held")
	add(was.Held && !s.Held, "released")
	add(was.App != s.App, "template %s -> %s", was.App, s.App)
	parts = append(parts, besides...)
	add(was.Replicas != s.Replicas, "replicas %d -> %d", was.Replicas, s.Replicas)
	add(was.Kept != s.Kept || was.Partition != s.Partition, "partition %s -> %s", was.partition(), s.partition())
	add(was.Paused && !s.Paused, "unpaused")
	add(!was.Paused && s.Paused, "paused")
	add(was.OnDelete && !s.OnDelete, "no longer OnDelete")
	add(!was.OnDelete && s.OnDelete, "OnDelete")
	return parts
}

func (s Spec) partition() string {
	if !s.Partition {
		return "none"
	}
	return fmt.Sprint(s.Kept)
}

// Standing tells how a workload stands: its pods, and what holds some of them back.
func Standing(w *world.World, o client.Object) string {
	s := SpecOf(o)
	text := w.TallyOf(w.PodsOf(o)).String()
	if s.Partition {
		text += fmt.Sprintf("; partition %d", s.Kept)
	}
	if s.Paused {
		text += "; paused"
	}
	return text
}

// Traces are what a rollout has put on an object.
func Traces(o client.Object) []string {
	var found []string
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == rolloutv1alpha1.RolloutTraitKind || ref.Kind == oamv1beta1.AppRolloutKind {
			found = append(found, "an owner reference to "+ref.Name)
		}
	}
	if o.GetLabels()[rolloutv1alpha1.LabelHeld] != "" {
		found = append(found, "the label "+rolloutv1alpha1.LabelHeld)
	}
	if o.GetAnnotations()[rolloutv1alpha1.AnnotationHeld] != "" {
		found = append(found, "the annotation "+rolloutv1alpha1.AnnotationHeld)
	}
	for _, f := range o.GetFinalizers() {
		if strings.HasPrefix(f, "rollout.slipway.dev/") {
			found = append(found, "the finalizer "+f)
		}
	}
	return found
}
