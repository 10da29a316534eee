// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// Rollout is a rollout of any kind, as far as people see it.
type Rollout struct {
	metav1.ObjectMeta
	// Kind is RolloutTrait or AppRollout.
	Kind string
	Plan rolloutv1alpha1.RolloutPlan
	// RevertOnDelete of the object or of its plan.
	RevertOnDelete bool
	Status         rolloutv1alpha1.RolloutStatus
	// Target and Source are the workloads that a RolloutTrait asks for; those of an AppRollout stand in its status.
	Target rolloutv1alpha1.WorkloadReference
	Source *rolloutv1alpha1.WorkloadReference
	// Revisions are what an AppRollout asks for; nil for a RolloutTrait.
	Revisions *engine.Revisions
	// Application is the one that writes the spec; empty when people do.
	Application string
}

// OfTrait is a RolloutTrait.
func OfTrait(r *rolloutv1alpha1.RolloutTrait) *Rollout {
	shown := &Rollout{
		ObjectMeta: r.ObjectMeta, Kind: rolloutv1alpha1.RolloutTraitKind, Plan: r.Spec.RolloutPlan, RevertOnDelete: r.Spec.RolloutPlan.RevertOnDelete,
		Status: r.Status, Target: r.Spec.TargetRef,
	}
	if len(r.Spec.SourceRef) > 0 {
		shown.Source = &r.Spec.SourceRef[0]
	}
	return shown
}

// OfRevisions is an AppRollout.
func OfRevisions(r *oamv1beta1.AppRollout) *Rollout {
	asks := &engine.Revisions{Target: r.Spec.TargetAppRevisionName, Source: r.Spec.SourceAppRevisionName, Component: r.Status.Component}
	if len(r.Spec.ComponentList) > 0 {
		asks.Component = r.Spec.ComponentList[0]
	}
	shown := &Rollout{
		ObjectMeta: r.ObjectMeta, Kind: oamv1beta1.AppRolloutKind, Plan: r.Spec.RolloutPlan, Status: r.Status.RolloutStatus, Revisions: asks,
		RevertOnDelete: r.Spec.RolloutPlan.RevertOnDelete || ptr.Deref(r.Spec.RevertOnDelete, false),
	}
	if of := metav1.GetControllerOf(r); of != nil && of.Kind == oamv1beta1.ApplicationKind {
		shown.Application = of.Name
	}
	return shown
}

// Read reads a rollout out of an object of its kind.
func Read(o *unstructured.Unstructured) (*Rollout, error) {
	into := func(typed any) error {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
			return fmt.Errorf("reading %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
		return nil
	}
	if o.GetKind() == oamv1beta1.AppRolloutKind {
		r := &oamv1beta1.AppRollout{}
		if err := into(r); err != nil {
			return nil, err
		}
		return OfRevisions(r), nil
	}
	r := &rolloutv1alpha1.RolloutTrait{}
	if err := into(r); err != nil {
		return nil, err
	}
	return OfTrait(r), nil
}

// Typed is the name as people type it for commands of rollouts.
func (r *Rollout) Typed() string {
	if r.Revisions != nil {
		return AppRolloutWord + "/" + r.Name
	}
	return r.Name
}

// AppRolloutWord is what people type for the kind AppRollout.
const AppRolloutWord = "approllout"
