// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

// Steps are the writes that an action means for a workload that was seen: none when it is as the action wants it already. What
// goes together is one patch, made to the version that was seen. Actions that are not about workloads are an error.
func Steps(s Seen, by Holder, a engine.Action) ([]step.Step, error) {
	if s.Object == nil || s.Kind == nil {
		return nil, fmt.Errorf("%T: there is no workload", a)
	}
	after, why := s.Object.DeepCopy(), step.Because(a.Why())
	var more []step.Step
	if s.Workload.Unmarked {
		by.claim(after)
	}
	switch a := a.(type) {
	case engine.Hold:
		s.hold(after, by, a)
	case engine.Unpause:
		s.unpause(after)
	case engine.Mark:
	case engine.Advance:
		if !s.Workload.Versions {
			return nil, fmt.Errorf("a %s does not hold two versions of its template", s.Kind.ID().Kind)
		}
		s.Kind.keep(&s, after, a.To, s.newest)
		more = s.Kind.take(&s, a.To, why)
	case engine.Resize:
		if len(s.Kind.places().replicas) == 0 {
			return nil, fmt.Errorf("a %s has no number to be scaled by", s.Kind.ID().Kind)
		}
		s.resize(after, a.To)
	case engine.BringBack:
		if s.former == nil {
			return nil, fmt.Errorf("the template of %s from before is not at hand: %s", s.Object.GetName(), s.Workload.Before.Why)
		}
		s.bringBack(after, a.Asked)
	case engine.Release:
		s.release(after, by, a)
	default:
		return nil, fmt.Errorf("%T is not about a workload", a)
	}
	if same(s.Object, after) {
		return more, nil
	}
	return append([]step.Step{step.ChangeSet{Because: why, Before: s.Object, After: after}}, more...), nil
}

// hold claims the object, and notes what stands in it before anything of that is changed.
func (s *Seen) hold(o *unstructured.Unstructured, by Holder, a engine.Hold) {
	where, w := s.Kind.places(), &s.Workload
	by.claim(o)
	record := recordOn(s.Object)
	if record == nil || record.Holder != by.UID {
		record = &Record{
			Holder: by.UID, Of: o.GetUID(), Replicas: w.Replicas, Asked: w.Replicas,
			Paused: where.paused.raw(o), Partition: where.partition.raw(o), Strategy: where.strategy.raw(o),
		}
		if controller := metav1.GetControllerOfNoCopy(s.Object); controller != nil && controller.UID != by.UID {
			record.Controller = controller.UID
		}
		if w.Versions && s.older != "" {
			record.Revision, record.Template = s.current, s.older
		}
	}
	record.write(o)
	if a.Mode == rolloutv1alpha1.InPlaceMode {
		s.Kind.keep(s, o, a.Asked, s.newest)
	}
}

// unpause ends a pause; what is absent stays so.
func (s *Seen) unpause(o *unstructured.Unstructured) {
	if paused := s.Kind.places().paused; paused.truth(o) {
		paused.set(o, false)
	}
}

// resize asks for n pods. What others have changed since is noted with it.
func (s *Seen) resize(o *unstructured.Unstructured, n int) {
	s.Kind.places().replicas.set(o, int64(n))
	if s.record == nil {
		return
	}
	record := *s.record
	record.Drift += s.Workload.Replicas - record.Asked
	record.Asked = n
	record.write(o)
}

// bringBack gives the object its template from before. Pods that may have left it count as having done so, whether or not they
// have been seen to: so none moves.
func (s *Seen) bringBack(o *unstructured.Unstructured, asked int) {
	s.Kind.places().template.set(o, s.former)
	s.Kind.keep(s, o, min(asked, max(s.Workload.Replicas-s.Workload.Asked, 0)), s.record.Revision)
	record := *s.record
	record.Back = true
	record.write(o)
}

// release lets go of the object.
func (s *Seen) release(o *unstructured.Unstructured, by Holder, a engine.Release) {
	where := s.Kind.places()
	switch a.Mode {
	case rolloutv1alpha1.InPlaceMode:
		if a.Opens {
			s.Kind.open(s, o)
		} else {
			s.Kind.keep(s, o, a.Asked, s.newest)
		}
		s.still(o)
	case rolloutv1alpha1.ScaleMode:
		if where.stopsAll && s.record != nil && string(s.record.Paused) == "true" {
			where.paused.set(o, true)
		}
	case rolloutv1alpha1.TwoObjectsMode:
	}
	by.release(o)
}

// still gives back a strategy by which nothing is updated: it was replaced for as long as the rollout went on.
func (s *Seen) still(o *unstructured.Unstructured) {
	before := struct {
		Type string `json:"type"`
	}{}
	if s.record == nil || len(s.record.Strategy) == 0 {
		return
	}
	if err := remarshal(s.record.Strategy, &before); err == nil && before.Type == onDelete {
		s.Kind.places().strategy.restore(o, s.record.Strategy)
	}
}
