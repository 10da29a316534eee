// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/statefulset"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Hooks let a test put a fault into the manager.
type Hooks struct {
	// Plan replaces the planner; nil keeps it.
	Plan func(plan.World, time.Time) plan.Plan
	// Dependencies changes what a new manager process is made of; nil leaves it.
	Dependencies func(*statefulset.Dependencies)
}

// kind is StatefulSet, as the world meets it.
type kind struct{ hooks Hooks }

var _ world.SetKind = kind{}

func (kind) Stored() api.Kind { return api.StatefulSets }

func (kind) HasVolumes() bool { return true }

func (k kind) New(m *world.Manager) reconcile.Reconciler {
	next := plan.Next
	if k.hooks.Plan != nil {
		next = k.hooks.Plan
	}
	d := statefulset.Dependencies{
		Cache:  classes{m.Cache},
		Live:   m.Line(),
		Client: m.Line(),
		Events: world.Silence{},
		Clock:  m.World.Clock,
		Plan: func(w plan.World, now time.Time) plan.Plan {
			p := next(w, now)
			m.Planned(world.Plan{Steps: p.Steps, Held: p.Held, Throttled: p.Throttled > 0})
			return p
		},
		Apply: apply.Options{Concurrency: 1},
	}
	if k.hooks.Dependencies != nil {
		k.hooks.Dependencies(&d)
	}
	return statefulset.New(d)
}

// classes shows one storage class besides what the cache shows. Its volumes can grow.
type classes struct{ client.Reader }

func (c classes) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if found, is := list.(*storagev1.StorageClassList); is {
		found.Items = []storagev1.StorageClass{{
			ObjectMeta:           metav1.ObjectMeta{Name: "plain", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
			AllowVolumeExpansion: ptr.To(true),
		}}
		return nil
	}
	return c.Reader.List(ctx, list, opts...)
}

// Concerns: its own objects, pods that it could adopt, and claims by their names.
func (kind) Concerns(w api.Write) bool {
	if world.Concerns(w, api.StatefulSets, kruisev1beta1.StatefulSetKind) {
		return true
	}
	switch w.Kind {
	case api.Pods:
		return metav1.GetControllerOfNoCopy(w.After) == nil && strings.HasPrefix(w.After.GetName(), world.SetName+"-")
	case api.Claims:
		return true
	default:
		return false
	}
}

func (kind) Admit(o client.Object) { admit(typed(o)) }

func (kind) Describe(o client.Object) string { return describeSpec(typed(o)) }

func (kind) Asks(o client.Object) world.Spec {
	set := typed(o)
	r := rolling(set)
	return world.Spec{
		Template: &set.Spec.Template, Hooks: ptr.Deref(set.Spec.Lifecycle, kruisev1alpha1.Lifecycle{}),
		MinReadySeconds: ptr.Deref(r.MinReadySeconds, 0), Paused: r.Paused, Current: set.Status.CurrentRevision,
		GraceSeconds: int32(grace(r)),
	}
}

func (kind) Rules(s *world.Scene) world.Rules { return sceneOf(s) }

func (kind) Outcome(o client.Object) []string {
	set := typed(o)
	status := &set.Status
	text := fmt.Sprintf("%d replicas, %d ready, %d available, %d updated", status.Replicas, status.ReadyReplicas, status.AvailableReplicas, status.UpdatedReplicas)
	if status.CurrentRevision == status.UpdateRevision {
		text += ", the release is complete"
	}
	lines := []string{text}
	for _, c := range status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	for _, c := range status.VolumeClaims {
		lines = append(lines, fmt.Sprintf("claims of template %s: %d as it says, %d of them ready", c.VolumeClaimName, c.CompatibleReplicas, c.CompatibleReadyReplicas))
	}
	return lines
}

// typed is a stored set with its type; nil when there is none.
func typed(o client.Object) *kruisev1beta1.StatefulSet {
	set, _ := o.(*kruisev1beta1.StatefulSet)
	return set
}

// rolling is how updates are made; its absence means all its defaults.
func rolling(set *kruisev1beta1.StatefulSet) *kruisev1beta1.RollingUpdateStatefulSetStrategy {
	if set.Spec.UpdateStrategy.RollingUpdate == nil {
		return &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
	}
	return set.Spec.UpdateStrategy.RollingUpdate
}

func wanted(set *kruisev1beta1.StatefulSet) world.Release {
	return world.ReleaseOf(set.Spec.Template.Labels, &set.Spec.Template.Spec)
}

func gate(pod *corev1.Pod) *corev1.PodCondition {
	return world.Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
}
