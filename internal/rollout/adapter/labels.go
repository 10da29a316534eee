// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// somePods is how many pods are looked at to find out what all of them carry.
const somePods = 100

// RevisionLabel is what the pods on the newest template of a workload carry as a label, so that others can select them: the
// pod-template-hash of a Deployment, and controller-revision-hash for kinds with revisions. Of a CafeDeployment each unit has its
// own, and they stand as a regular expression: a|b. It is empty for kinds that do not tell.
func (a *Adapters) RevisionLabel(ctx context.Context, s Seen) (string, error) {
	if s.Object == nil {
		return "", nil
	}
	switch s.Kind.(type) {
	case deployment:
		return a.templateHash(ctx, s)
	case cafeDeployment:
		return a.unitLabels(ctx, s)
	}
	if s.newest == "" {
		return "", nil
	}
	carried := []string{revision.LabelValue(s.newest), revision.HashOf(s.newest)} // some publishers write the one, some the other
	matches, ok := s.selector()
	one, err := labels.NewRequirement(appsv1.ControllerRevisionHashLabelKey, selection.In, carried)
	if !ok || err != nil {
		return carried[0], nil //nolint:nilerr // a name that is no label is carried by nobody
	}
	pods := &corev1.PodList{}
	within := []client.ListOption{client.InNamespace(s.Object.GetNamespace()), client.MatchingLabelsSelector{Selector: matches.Add(*one)}, client.Limit(somePods)}
	if err := a.Live.List(ctx, pods, within...); err != nil {
		return "", fmt.Errorf("listing new pods: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; pod.IsControlledBy(p, s.Object.GetUID()) {
			return p.Labels[appsv1.ControllerRevisionHashLabelKey], nil
		}
	}
	return carried[0], nil
}

// templateHash is what the pods of a Deployment carry. All are of one template, or the youngest counts.
func (a *Adapters) templateHash(ctx context.Context, s Seen) (string, error) {
	matches, ok := s.selector()
	if !ok {
		return "", nil
	}
	pods := &corev1.PodList{}
	if err := a.Live.List(ctx, pods, client.InNamespace(s.Object.GetNamespace()), client.MatchingLabelsSelector{Selector: matches}, client.Limit(somePods)); err != nil {
		return "", fmt.Errorf("listing new pods: %w", err)
	}
	var youngest *corev1.Pod
	for i := range pods.Items {
		p := &pods.Items[i]
		hash, owner := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey], metav1.GetControllerOfNoCopy(p)
		if hash == "" || owner == nil || owner.Kind != "ReplicaSet" || owner.Name != s.Object.GetName()+"-"+hash {
			continue
		}
		if youngest == nil || youngest.CreationTimestamp.Before(&p.CreationTimestamp) {
			youngest = p
		}
	}
	if youngest == nil {
		return "", nil
	}
	return youngest.Labels[appsv1.DefaultDeploymentUniqueLabelKey], nil
}

// podSets are the kinds of sets that a CafeDeployment can have for its units, but ReplicaSets.
var podSets = map[cafev1alpha1.PodSetType]schema.GroupVersionKind{
	"": inPlaceSet{}.ID(), cafev1alpha1.InPlaceSetPodSetType: inPlaceSet{}.ID(), cafev1alpha1.CloneSetPodSetType: cloneSet{}.ID(),
	cafev1alpha1.StatefulSetPodSetType: statefulSet{}.ID(), cafev1alpha1.AdvancedStatefulSetPodSetType: advancedStatefulSet{}.ID(),
}

// unitLabels are what the pods of the units of a CafeDeployment carry. Those of ReplicaSets carry the hash of its own revision.
func (a *Adapters) unitLabels(ctx context.Context, s Seen) (string, error) {
	of := cafev1alpha1.PodSetType(in("spec", "podSetType").text(s.Object))
	if of == cafev1alpha1.ReplicaSetPodSetType && s.newest != "" {
		return revision.HashOf(s.newest), nil
	}
	id, known := podSets[of]
	if !known {
		return "", nil
	}
	sets := &unstructured.UnstructuredList{}
	sets.SetGroupVersionKind(id.GroupVersion().WithKind(id.Kind + "List"))
	named := client.MatchingLabels{cafev1alpha1.LabelCafeDeployment: s.Object.GetName()}
	if err := a.Live.List(ctx, sets, client.InNamespace(s.Object.GetNamespace()), named); err != nil {
		return "", fmt.Errorf("listing %ss: %w", id.Kind, err)
	}
	var carried []string
	for i := range sets.Items {
		set := &sets.Items[i]
		update := in("status", "updateRevision").text(set)
		if update != "" && pod.IsControlledBy(set, s.Object.GetUID()) && set.GetAnnotations()[cafev1alpha1.AnnotationRevision] == s.newest {
			carried = append(carried, revision.LabelValue(update))
		}
	}
	slices.Sort(carried)
	return strings.Join(slices.Compact(carried), "|"), nil
}

// selector is what finds the pods of a workload; false when nobody can read it.
func (s *Seen) selector() (labels.Selector, bool) {
	selector := &metav1.LabelSelector{}
	if err := remarshal(in("spec", "selector").get(s.Object), selector); err != nil {
		return nil, false
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	return matches, err == nil && !matches.Empty()
}
