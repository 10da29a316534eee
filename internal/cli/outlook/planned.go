// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cli/forecast"
	cloneset "slipway.dev/slipway/internal/cloneset/project"
	inplaceset "slipway.dev/slipway/internal/inplaceset/project"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	statefulset "slipway.dev/slipway/internal/statefulset/project"
	"slipway.dev/slipway/internal/story"
)

func followCloneSet(p *play, w *workload) ([]story.Moment, error) {
	return byPlanner(p, w, func(set *kruisev1alpha1.CloneSet, o story.Objects) (story.Story, story.Scene, int32) {
		told, end := cloneset.Play(set, o, p.now)
		return told, end, set.Spec.MinReadySeconds
	})
}

func followStatefulSet(p *play, w *workload) ([]story.Moment, error) {
	return byPlanner(p, w, func(set *kruisev1beta1.StatefulSet, o story.Objects) (story.Story, story.Scene, int32) {
		told, end := statefulset.Play(set, o, p.now)
		return told, end, ptr.Deref(set.Spec.UpdateStrategy.RollingUpdate.MinReadySeconds, 0)
	})
}

func followInPlaceSet(p *play, w *workload) ([]story.Moment, error) {
	return byPlanner(p, w, func(set *cafev1alpha1.InPlaceSet, o story.Objects) (story.Story, story.Scene, int32) {
		told, end := inplaceset.Play(set, o, p.now)
		return told, end, set.Spec.MinReadySeconds
	})
}

// byPlanner has a set follow by the planner of its own controller.
func byPlanner[T any](p *play, w *workload, tell func(*T, story.Objects) (story.Story, story.Scene, int32)) ([]story.Moment, error) {
	set, err := ofKind[T](w)
	if err != nil {
		return nil, err
	}
	defaulted(w.object.GroupVersionKind(), any(set).(client.Object))
	told, end, minReadySeconds := tell(set, story.Objects{Pods: p.pods, Revisions: p.revisions, Claims: p.claims, NodeLabels: p.NodeLabels, ResizeOff: p.ResizeOff})
	p.now = end.Now
	if len(p.story.Changes) == 0 {
		p.story.Changes = told.Changes // what was seen first, before anything moved
	}
	for _, text := range told.Assumed {
		p.assume(text)
	}
	if told.Invalid != "" {
		p.story.Left = []string{told.Invalid}
		return nil, nil // it is never seen
	}
	p.story.Left, p.claims = told.Left, end.Claims
	p.setPods(w.object, end.Pods)
	p.setRevisions(w, end.Revisions)
	c := countsOf(&member.Set{MinReadySeconds: minReadySeconds, Now: p.now}, end.Pods, told.ToRevision)
	return told.Moments, w.reportCounts(c, c.fields(), told.FromRevision, told.ToRevision, told.Replicas)
}

// defaulted fills in the defaults of the schema.
func defaulted(id schema.GroupVersionKind, o client.Object) {
	for _, k := range forecast.Kinds() {
		if k.GVK == id {
			k.Default(o)
		}
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

// reportCounts is the status that a controller would write whose set is to have size pods of the update revision in the end.
func (w *workload) reportCounts(c counts, fields map[string]any, current, update string, size int) error {
	if c.updated == size && c.pods == size {
		current = update
	}
	fields["observedGeneration"], fields["updateRevision"], fields["currentRevision"] = w.object.GetGeneration(), update, current
	return report(w.object, fields)
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
