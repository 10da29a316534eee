// SPDX-License-Identifier: Apache-2.0

package member

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// New is a pod made from a revision. The object meta gives namespace, name, owner and what else the kind puts
// on its pods; labels and annotations are added to those of the template and win over them.
//
// Its spec is the revision's, shared by all pods of it: thousands of copies would be alive at once. Whoever
// changes a part of it copies that part first.
func (s *Set) New(from revision.Revision, meta metav1.ObjectMeta) *corev1.Pod {
	template := from.Written
	created := &corev1.Pod{ObjectMeta: meta, Spec: template.Spec}
	created.Finalizers = slices.Concat(template.Finalizers, meta.Finalizers)
	created.Labels = overlay(template.Labels, meta.Labels)
	created.Labels[kruisev1alpha1.LabelRevision] = revision.LabelValue(from.Name)
	if s.RepeatsHash {
		created.Labels[kruisev1alpha1.LabelPodTemplateHash] = from.Hash
	}
	created.Labels[kruisev1alpha1.LabelLifecycleState] = string(s.Hooks.First(created))
	created.Annotations = overlay(template.Annotations, meta.Annotations)
	created.Annotations[kruisev1alpha1.AnnotationLifecycleTimestamp] = s.Now.UTC().Format(time.RFC3339)
	if s.GatesAll || s.Policy != Recreate {
		addGate(created, kruisev1alpha1.ConditionInPlaceUpdateReady)
	}
	if s.Hooks.MarksNotReady() {
		addGate(created, kruisev1alpha1.ConditionKruisePodReady)
	}
	created.Status.Conditions = s.firstConditions(created)
	return created
}

// firstConditions put a new pod into service as soon as its node has it ready. Set from the start, they save its node a
// report.
func (s *Set) firstConditions(created *corev1.Pod) []corev1.PodCondition {
	unmarked, _ := lifecycle.Unmark(created, pod.Lifecycle(created), s.Now) // it has no condition yet that could not be read
	return append(inplace.InService(created, s.Now), unmarked...)
}

func overlay(under, over map[string]string) map[string]string {
	both := make(map[string]string, len(under)+len(over)+3)
	maps.Copy(both, under)
	maps.Copy(both, over)
	return both
}

func addGate(p *corev1.Pod, kind corev1.PodConditionType) {
	if !pod.HasGate(p, kind) {
		p.Spec.ReadinessGates = append(slices.Clip(p.Spec.ReadinessGates), corev1.PodReadinessGate{ConditionType: kind})
	}
}
