// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/story"
)

// follower has a workload and its pods become what it asks for, as its own controller and healthy nodes would, and reports
// the status. Its moments count the pods of this workload alone.
type follower func(p *play, w *workload) ([]story.Moment, error)

// followers are the kinds whose pods are foreseen one by one.
func followers() map[schema.GroupVersionKind]follower {
	return map[schema.GroupVersionKind]follower{
		kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind):  followCloneSet,
		kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind): followStatefulSet,
		cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind):    followInPlaceSet,
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"):                  followStatefulSetOfApps,
		appsv1.SchemeGroupVersion.WithKind("DaemonSet"):                    followDaemonSet,
	}
}

// follow lets each workload that has changed follow. It returns whether any has.
func (p *play) follow(ctx context.Context) (bool, error) {
	moved := false
	for _, side := range []engine.Side{engine.Source, engine.Target} {
		seen, looked := p.seen[side]
		if !looked || !seen.Workload.Found {
			continue
		}
		w, err := p.workload(ctx, seen.Kind.ID(), p.at(p.ref(side)).key)
		if err != nil {
			return false, err
		}
		if w.version == w.followed {
			continue
		}
		moments, err := p.followOne(ctx, side, w)
		if err != nil {
			return false, fmt.Errorf("foretelling what %s %s does: %w", seen.Kind.ID().Kind, w.object.GetName(), err)
		}
		w.followed, moved = w.version, true
		if len(moments) > 0 && w.tally == nil {
			w.version++ // there may be more: a long story is cut
		}
		p.happen(moments, p.beside(side))
		if err := p.observe(ctx, side, p.ref(side)); err != nil {
			return false, err
		}
	}
	return moved, nil
}

func (p *play) followOne(ctx context.Context, side engine.Side, w *workload) ([]story.Moment, error) {
	seen := p.seen[side]
	known := followers()[seen.Kind.ID()]
	if known != nil && w.tally == nil && len(p.podsOf(w.object)) == 0 && statusCount(w.object) > 0 && len(w.recreated) == 0 {
		known = nil
		p.story.Warn(fmt.Sprintf("no pods of %s %s are known: only their numbers are foretold", seen.Kind.ID().Kind, w.object.GetName()))
	}
	if known != nil && w.tally == nil {
		moments, err := known(p, w)
		w.recreated = nil
		return moments, err
	}
	if err := p.observe(ctx, side, p.ref(side)); err != nil { // as it is asked for now
		return nil, err
	}
	seen = p.seen[side]
	return p.followByNumbers(w, &seen), nil
}

// beside are the pods of the other workload.
func (p *play) beside(side engine.Side) story.Count {
	other := engine.Target
	if side == engine.Target {
		other = engine.Source
	}
	var c story.Count
	if s, looked := p.seen[other]; looked {
		c.Available, c.Total = s.Workload.Available, s.Workload.Pods
	}
	return c
}

// nameOf names a workload as people do.
func nameOf(s *adapter.Seen) string { return s.Kind.ID().Kind + " " + s.Object.GetName() }
