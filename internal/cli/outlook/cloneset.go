// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli/forecast"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/cloneset/project"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// followCloneSet has a CloneSet follow by its own planner.
func followCloneSet(p *play, w *workload) ([]project.Moment, error) {
	set, err := ofKind[kruisev1alpha1.CloneSet](w)
	if err != nil {
		return nil, err
	}
	set = forecast.Defaulted(set)
	objects := project.Objects{Set: set, Pods: p.pods, Revisions: p.revisions, Claims: p.claims, NodeLabels: p.NodeLabels, ResizeOff: p.ResizeOff}
	told, end, now := project.Play(objects.World(), p.now, project.Options{})
	p.now = now
	p.changes(told.Changes)
	for _, text := range told.Assumed {
		p.assume(text)
	}
	if told.Invalid != "" {
		p.story.Left = appendOnce(nil, told.Invalid)
		return nil, nil
	}
	p.story.Left = told.Left
	p.setPods(w.object, end.Pods)
	p.setRevisions(w, end.Revisions)
	return told.Moments, reportCloneSet(p, w, &end)
}

// setRevisions keeps the revisions of a workload.
func (p *play) setRevisions(w *workload, own []revision.Revision) {
	var kept []*appsv1.ControllerRevision
	for _, r := range p.revisions {
		if !pod.IsControlledBy(r, w.object.GetUID()) {
			kept = append(kept, r)
		}
	}
	for _, r := range own {
		kept = append(kept, r.Object)
	}
	p.revisions = kept
}

func reportCloneSet(p *play, w *workload, end *plan.World) error {
	c := countsOf(&member.Set{MinReadySeconds: end.Set.Spec.MinReadySeconds, Now: p.now}, end.Pods, end.Set.Status.UpdateRevision)
	fields := c.fields()
	fields["observedGeneration"] = w.object.GetGeneration()
	fields["updateRevision"], fields["currentRevision"] = end.Set.Status.UpdateRevision, end.Set.Status.CurrentRevision
	return report(w.object, fields)
}

// changes notes what stands between the revisions of pods: what was seen first, before anything moved.
func (p *play) changes(found []project.Change) {
	if len(p.story.Changes) == 0 {
		p.story.Changes = found
	}
}

// ofKind reads a workload as its type.
func ofKind[T any](w *workload) (*T, error) {
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.object.Object, into); err != nil {
		return nil, fmt.Errorf("reading it: %w", err)
	}
	return into, nil
}
