// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
)

// Kind is one kind of pod sets.
type Kind interface {
	// New and List are an empty object and an empty list of the kind.
	New() client.Object
	List() client.ObjectList
	// Show reads what a set is asked for and how far it is. Pods are those of the set, for kinds that CountsPods.
	Show(set client.Object, pods []*corev1.Pod, now time.Time) plan.Set
	// CountsPods tells whether the status of the kind leaves out something about updated pods that has to be known.
	CountsPods() bool
	// Ask writes what a set is asked for into it.
	Ask(set client.Object, a Asked)
	// Differs names what the set has not been given of the deployment besides template and numbers; empty for nothing.
	Differs(set client.Object, d *cafev1alpha1.CafeDeployment) string
}

// Asked is what a pod set is asked for.
type Asked struct {
	Deployment *cafev1alpha1.CafeDeployment
	Unit       string
	// Template is that of the unit's pods; nil leaves the set's own.
	Template            *corev1.PodTemplateSpec
	Replicas, Partition int32
}

// Of returns the kind of a name, which the schema has checked.
func Of(kind cafev1alpha1.PodSetType) (Kind, error) {
	switch kind {
	case cafev1alpha1.InPlaceSetPodSetType, "":
		return inPlaceSets{}, nil
	case cafev1alpha1.ReplicaSetPodSetType:
		return replicaSets{}, nil
	case cafev1alpha1.StatefulSetPodSetType:
		return statefulSets{}, nil
	case cafev1alpha1.CloneSetPodSetType:
		return cloneSets{}, nil
	case cafev1alpha1.AdvancedStatefulSetPodSetType:
		return advancedStatefulSets{}, nil
	}
	return nil, fmt.Errorf("spec.podSetType: %q is not known", kind)
}

// All are all kinds.
func All() []Kind {
	return []Kind{inPlaceSets{}, replicaSets{}, statefulSets{}, cloneSets{}, advancedStatefulSets{}}
}

// Unschedulable is since when each of the set's pods finds no node. A set with ordinals loses its highest ones first, so of its pods
// those are told apart that are below one with a node: that would go in their place.
func Unschedulable(kind cafev1alpha1.PodSetType, set string, pods []*corev1.Pod) (next, below []time.Time) {
	if kind == cafev1alpha1.StatefulSetPodSetType || kind == cafev1alpha1.AdvancedStatefulSetPodSetType {
		pods = slices.Clone(pods)
		slices.SortFunc(pods, func(a, b *corev1.Pod) int {
			m, _ := ordinal.Of(set, a.Name)
			n, _ := ordinal.Of(set, b.Name)
			return cmp.Compare(n, m)
		})
		if at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return !FindsNoNode(p) }); at >= 0 {
			return waiting(pods[:at]), waiting(pods[at:])
		}
	}
	return waiting(pods), nil
}

// waiting is since when each of those pods finds no node that do not.
func waiting(pods []*corev1.Pod) (since []time.Time) {
	for _, p := range pods {
		if FindsNoNode(p) {
			since = append(since, pod.Condition(p, corev1.PodScheduled).LastTransitionTime.Time)
		}
	}
	return since
}

// older are the places of a set's pods that do not have its template. A place without a pod is one of them. A template is given to a set
// that keeps all of its pods. Until its controller has seen that, its status speaks of the template before, which old pods have: then all
// places are older.
func older(set *plan.Set, name, revision string, pods []*corev1.Pod) (places []int) {
	updated := map[int]bool{}
	for _, p := range pods {
		if of, is := ordinal.Of(name, p.Name); is && pod.IsActive(p) && pod.HasRevision(p, revision) {
			updated[of] = true
		}
	}
	unknown := !set.Seen && set.Partition >= set.Asked
	for n := range set.Asked {
		if unknown || !updated[n] {
			places = append(places, n)
		}
	}
	return places
}

// OfOrdinals tells whether a pod is one of a set whose partition counts places: which of them have the template is told by the pods alone.
func OfOrdinals(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == "StatefulSet" // of either group
}

// FindsNoNode tells whether the scheduler has found no node for a pod that is wanted.
func FindsNoNode(p *corev1.Pod) bool {
	c := pod.Condition(p, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && pod.IsActive(p)
}

const minReady = "strategy.minReadySeconds"

func minReadyDiffers(has int32, d *cafev1alpha1.CafeDeployment) string {
	if has != d.Spec.Strategy.MinReadySeconds {
		return minReady
	}
	return ""
}

func seen(observed int64, set metav1.Object) bool { return observed >= set.GetGeneration() }
