// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/faults/judge"
	"slipway.dev/slipway/test/receiver"
)

// deploymentOf is a Deployment whose pods carry its name.
func deploymentOf(name, namespace string, replicas int32, version int) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image(version)}}},
			},
		},
	}
	lean(&d.Spec.Template.Spec)
	return d
}

// hold keeps all pods of a set on the version that they have, until a rollout lets them go.
func hold(object client.Object) {
	switch set := object.(type) {
	case *kruisev1alpha1.CloneSet:
		set.Spec.UpdateStrategy.Partition = ptr.To(intstr.FromInt32(ptr.Deref(set.Spec.Replicas, 1)))
	case *kruisev1beta1.StatefulSet:
		set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(ptr.Deref(set.Spec.Replicas, 1))
	}
}

// hooks are the phases in which a rollout calls its webhook, and how many different calls there are in each.
var hooks = map[string]int{
	string(rolloutv1alpha1.InitializingState): 1, string(rolloutv1alpha1.BatchInitializingState): 3, string(rolloutv1alpha1.BatchFinalizingState): 3,
	string(rolloutv1alpha1.RolloutSucceedState): 1,
}

// rollout is one of three batches: a pod, two pods and the rest. It calls a webhook whenever it can, which is busy at first.
func (s *story) rollout(t *tale, of *subject) *rolloutv1alpha1.RolloutTrait {
	name := of.object.GetName()
	r := &rolloutv1alpha1.RolloutTrait{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.namespace}}
	r.Spec.TargetRef.Name = name
	switch t.kind {
	case CloneSet:
		r.Spec.TargetRef.APIVersion, r.Spec.TargetRef.Kind = kruisev1alpha1.GroupVersion.String(), kruisev1alpha1.CloneSetKind
	case StatefulSet:
		r.Spec.TargetRef.APIVersion, r.Spec.TargetRef.Kind = kruisev1beta1.GroupVersion.String(), kruisev1beta1.StatefulSetKind
	case Deployment:
		r.Spec.TargetRef.APIVersion, r.Spec.TargetRef.Kind = appsv1.SchemeGroupVersion.String(), "Deployment"
		older := r.Spec.TargetRef
		older.Name = of.older.GetName()
		r.Spec.SourceRef = []rolloutv1alpha1.WorkloadReference{older}
	}
	r.Spec.RolloutPlan.RolloutBatches = []rolloutv1alpha1.RolloutBatch{{Replicas: ptr.To(intstr.FromInt32(1))}, {Replicas: ptr.To(intstr.FromInt32(2))}, {}}
	for _, kind := range []rolloutv1alpha1.HookType{
		rolloutv1alpha1.InitializeRolloutHook, rolloutv1alpha1.PreBatchRolloutHook, rolloutv1alpha1.PostBatchRolloutHook, rolloutv1alpha1.FinalizeRolloutHook,
	} {
		r.Spec.RolloutPlan.RolloutWebhooks = append(r.Spec.RolloutPlan.RolloutWebhooks, rolloutv1alpha1.RolloutWebhook{
			Type: kind, Name: "gate", URL: s.hooks.URL(hookPath(r)),
		})
	}
	s.hooks.On(hookPath(r), receiver.Answer(503, "busy"), receiver.Lose(), receiver.Answer(200, ""))
	return r
}

func hookPath(r *rolloutv1alpha1.RolloutTrait) string { return "/" + r.Namespace + "/" + r.Name }

// beginRollout releases a new version, held back, and creates its rollout.
func (s *story) beginRollout(ctx context.Context, t *tale, of *subject) error {
	if of.rollout == nil {
		if t.kind == Deployment {
			of.older = of.object
			of.object = deploymentOf(of.older.GetName()+"-newer", t.namespace, 0, t.version)
			if err := client.IgnoreAlreadyExists(s.api.Create(ctx, of.object)); err != nil {
				return err
			}
		}
		of.rollout = s.rollout(t, of)
	}
	return client.IgnoreAlreadyExists(s.api.Create(ctx, of.rollout))
}

// lacksRollout says what a rollout still lacks.
func (s *story) lacksRollout(ctx context.Context, of *subject) string {
	if of.rollout == nil {
		return ""
	}
	now := &rolloutv1alpha1.RolloutTrait{}
	if err := s.api.Get(ctx, client.ObjectKeyFromObject(of.rollout), now); err != nil {
		return err.Error()
	}
	if now.Status.RollingState != rolloutv1alpha1.RolloutSucceedState || len(now.Finalizers) > 0 {
		return fmt.Sprintf("rollout %s: %s %s of batch %d: %s", now.Name, now.Status.RollingState, now.Status.BatchRollingState, now.Status.CurrentBatch, now.Status.Message)
	}
	if of.older != nil {
		older := &appsv1.Deployment{}
		if err := s.api.Get(ctx, client.ObjectKeyFromObject(of.older), older); err != nil {
			return err.Error()
		}
		if older.Status.Replicas > 0 {
			return fmt.Sprintf("%s: %d pods are left", older.Name, older.Status.Replicas)
		}
	}
	return ""
}

// called says which webhooks of the rollouts of a kind were not called, or under how many keys too many.
func (s *story) called(t *tale, at time.Time) []judge.Finding {
	var findings []judge.Finding
	for _, of := range t.sets {
		if of.rollout == nil {
			continue
		}
		keys := map[string]map[string]bool{}
		for _, d := range s.hooks.Deliveries("") {
			if d.Path != hookPath(of.rollout) {
				continue
			}
			body, err := d.Payload()
			if err != nil {
				findings = append(findings, judge.Finding{Invariant: judge.Webhook, At: at, Object: of.rollout.Name, Detail: err.Error()})
				continue
			}
			if keys[body.Phase] == nil {
				keys[body.Phase] = map[string]bool{}
			}
			keys[body.Phase][d.Key] = true
		}
		for _, phase := range slices.Sorted(maps.Keys(hooks)) {
			if n := len(keys[phase]); n != hooks[phase] {
				findings = append(findings, judge.Finding{
					Invariant: judge.Webhook, At: at, Object: of.rollout.Name, Detail: fmt.Sprintf("%d different calls of phase %s, want %d", n, phase, hooks[phase]),
				})
			}
		}
	}
	return findings
}

// judgeRollouts fills in what was broken by the rollouts of a kind.
func (s *story) judgeRollouts(t *tale, o judge.Options, at time.Time) ([]judge.Finding, error) {
	found, err := judge.CheckRollouts(s.events, s.seen(t), o)
	if err != nil {
		return nil, fmt.Errorf("judging rollouts: %w", err)
	}
	if !o.Finished {
		return found, nil
	}
	return append(found, s.called(t, at)...), nil
}

// endRollouts lets go of what a rollout may still hold.
func (s *story) endRollouts(ctx context.Context, t *tale) error {
	var errs []error
	for _, of := range t.sets {
		if of.rollout != nil {
			errs = append(errs, client.IgnoreNotFound(s.api.Delete(ctx, of.rollout)))
		}
	}
	return errors.Join(errs...)
}
