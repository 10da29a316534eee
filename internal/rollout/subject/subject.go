// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

// Kind is a kind of object that has a RolloutPlan.
type Kind interface {
	// ID is its group, version and kind.
	ID() schema.GroupVersionKind
	// New is an empty object of the kind.
	New() client.Object
	// Subject finds out what an object asks for. It reads only.
	Subject(ctx context.Context, object client.Object) (Subject, error)
	// WithStatus is a copy of an object that has another status.
	WithStatus(object client.Object, status rolloutv1alpha1.RolloutStatus) client.Object
}

// Subject is what an object with a RolloutPlan asks for.
type Subject struct {
	Rollout engine.Rollout
	// Missing says why its workloads are not there yet; empty when only the workloads themselves can tell.
	Missing string
	// Own are the UIDs of controllers that the workloads may have: who keeps them for the same application.
	Own []types.UID
	// First are the steps that bring the workloads to where a rollout can begin. Nothing else is done before they are taken.
	First []step.Step
	// Holds: the first steps hold something back that has to be let go again. The rollout has its finalizer before they are taken.
	Holds bool
	// Last finds out the steps that follow the end of a rollout. It is asked when the workloads are let go, so that nothing it reads is
	// in the way of that; nil for a rollout that is not at its end. It reads only.
	Last func(context.Context) ([]step.Step, error)
}

// Steps are those to take now, before anything is decided in the world that was observed: what comes first, and what comes last once
// the workloads are let go.
func (s *Subject) Steps(ctx context.Context, w *engine.World) ([]step.Step, error) {
	if s.Last == nil || w.Target.Held || w.Source != nil && w.Source.Held {
		return s.First, nil
	}
	last, err := s.Last(ctx)
	return append(slices.Clone(s.First), last...), err
}

// Traits are the kind RolloutTrait: its workloads are there, and other people's.
type Traits struct{}

// ID is RolloutTrait.
func (Traits) ID() schema.GroupVersionKind {
	return rolloutv1alpha1.GroupVersion.WithKind(rolloutv1alpha1.RolloutTraitKind)
}

// New is an empty RolloutTrait.
func (Traits) New() client.Object { return &rolloutv1alpha1.RolloutTrait{} }

// Subject reads the spec.
func (Traits) Subject(_ context.Context, object client.Object) (Subject, error) {
	return Subject{Rollout: adapter.RolloutOf(object.(*rolloutv1alpha1.RolloutTrait))}, nil
}

// WithStatus is a copy of a RolloutTrait that has another status.
func (Traits) WithStatus(object client.Object, status rolloutv1alpha1.RolloutStatus) client.Object {
	after := object.(*rolloutv1alpha1.RolloutTrait).DeepCopy()
	after.Status = status
	return after
}
