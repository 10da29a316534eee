// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/subject"
	"slipway.dev/slipway/internal/step"
)

// AppRollouts are the kind AppRollout.
type AppRollouts struct {
	// Live reads from the API server: what is deployed is decided on, and seldom.
	Live client.Reader
	// Kinds are the kinds of workloads that can be rolled out.
	Kinds *adapter.Adapters
	Clock clock.PassiveClock
}

//+kubebuilder:rbac:groups=core.oam.dev,resources=approllouts,verbs=get;list;watch;patch
//+kubebuilder:rbac:groups=core.oam.dev,resources=approllouts/status,verbs=patch
//+kubebuilder:rbac:groups=core.oam.dev,resources=applicationrevisions,verbs=get
//
// These are the kinds that the shipped definitions make. Whoever writes a definition of another kind gives the right to it.
//
//+kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;create;patch;delete
//+kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets;statefulsets,verbs=get;list;create;patch;delete
//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=cafedeployments,verbs=get;list;create;patch;delete

// ID is AppRollout.
func (AppRollouts) ID() schema.GroupVersionKind {
	return oamv1beta1.GroupVersion.WithKind(oamv1beta1.AppRolloutKind)
}

// New is an empty AppRollout.
func (AppRollouts) New() client.Object { return &oamv1beta1.AppRollout{} }

// WithStatus is a copy of an AppRollout that has another status.
func (AppRollouts) WithStatus(object client.Object, status rolloutv1alpha1.RolloutStatus) client.Object {
	after := object.(*oamv1beta1.AppRollout).DeepCopy()
	after.Status.RolloutStatus = status
	after.Status.LastTargetAppRevision, after.Status.LastSourceAppRevision = after.Spec.TargetAppRevisionName, after.Spec.SourceAppRevisionName
	if running := status.Running; running != nil {
		after.Status.LastTargetAppRevision, after.Status.LastSourceAppRevision = running.TargetAppRevision, running.SourceAppRevision
		after.Status.Component = running.Component
	}
	return after
}

// Subject finds out which workloads the revisions stand for, and what has to be applied before and after their rollout.
func (k AppRollouts) Subject(ctx context.Context, object client.Object) (subject.Subject, error) {
	r := object.(*oamv1beta1.AppRollout)
	s := subject.Subject{Rollout: engine.RolloutOf(r, r.Spec.RolloutPlan, r.Status.RolloutStatus)}
	s.Rollout.RevertOnDelete = s.Rollout.RevertOnDelete || ptr.Deref(r.Spec.RevertOnDelete, false)
	s.Rollout.Revisions = asked(r)
	state := engine.StateOf(&r.Status.RolloutStatus)
	if running := r.Status.Running; running != nil && *s.Rollout.Revisions == revisionsOf(running) {
		s.Rollout.Target, s.Rollout.Source = running.TargetRef, running.SourceRef
		s.Rollout.Plan.TargetSize = sizeOf(r, running)
	}
	if ends(state, &s.Rollout) {
		s.Last = func(ctx context.Context) ([]step.Step, error) { return k.ending(ctx, r, state == engine.Finalising) }
		return s, nil
	}
	if s.Rollout.Deleting || !begins(state) {
		return s, nil
	}
	s, err := k.beginning(ctx, r, s, state != engine.Initializing) // as long as nothing is claimed, another target takes the place of the one before
	if apierrors.IsForbidden(err) {                                // only a person can help
		return wait(s, "%s: Slipway needs that right", err)
	}
	return s, err
}

// begins is for the states in which it is still open what is rolled out.
func begins(s engine.State) bool {
	return s == engine.None || s == engine.Locating || s == engine.Verifying || s == engine.Initializing
}

// ends is for the states in which a rollout has something to let go of, or to bring to an end. One that has ended before it is deleted
// has not; one that could never succeed has, as long as its finalizer says so.
func ends(s engine.State, r *engine.Rollout) bool {
	began := r.Status.Running != nil
	switch s {
	case engine.Finalising, engine.Failing, engine.Abandoning:
		return began || r.Finalizer
	case engine.Deleting:
		return began && r.Status.Ending != "" || !began && r.Finalizer
	case engine.Failed:
		return !began && r.Finalizer
	}
	return false
}

// asked is what the spec asks for. A component that it leaves open is the one that was found for the same revisions.
func asked(r *oamv1beta1.AppRollout) *engine.Revisions {
	asks := &engine.Revisions{Target: r.Spec.TargetAppRevisionName, Source: r.Spec.SourceAppRevisionName}
	if len(r.Spec.ComponentList) > 0 {
		asks.Component = r.Spec.ComponentList[0]
	} else if running := r.Status.Running; running != nil && running.TargetAppRevision == asks.Target && running.SourceAppRevision == asks.Source {
		asks.Component = running.Component
	}
	return asks
}

func revisionsOf(running *rolloutv1alpha1.RunningRollout) engine.Revisions {
	return engine.Revisions{Target: running.TargetAppRevision, Source: running.SourceAppRevision, Component: running.Component}
}

// sizeOf is the size that is asked for: that of the plan or, without one, what was found when the rollout began.
func sizeOf(r *oamv1beta1.AppRollout, running *rolloutv1alpha1.RunningRollout) *int32 {
	if size := r.Spec.RolloutPlan.TargetSize; size != nil {
		return size
	}
	return running.TargetSize
}

// wait has the engine wait, and say why.
func wait(s subject.Subject, format string, values ...any) (subject.Subject, error) {
	s.Missing = fmt.Sprintf(format, values...)
	return s, nil
}
