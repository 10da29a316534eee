// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// edit changes a manifest. pods are those that there are, by name.
type edit func(set *kruisev1alpha1.CloneSet, pods []*corev1.Pod)

func template(change func(*corev1.PodTemplateSpec)) edit {
	return func(set *kruisev1alpha1.CloneSet, _ []*corev1.Pod) { change(&set.Spec.Template) }
}

func scale(n int32) edit {
	return func(set *kruisev1alpha1.CloneSet, _ []*corev1.Pod) { set.Spec.Replicas = ptr.To(n) }
}

func both(one, two edit) edit {
	return func(set *kruisev1alpha1.CloneSet, pods []*corev1.Pod) { one(set, pods); two(set, pods) }
}

var (
	next     = template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = image("v2") })
	variable = template(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "new"}}
	})
)

// costs gives pods deletion costs, by their index.
func costs(all ...string) edit {
	return func(_ *kruisev1alpha1.CloneSet, pods []*corev1.Pod) {
		for i, cost := range all {
			if cost != "" {
				patchPod(pods[i], func(p *corev1.Pod) {
					p.Annotations = maps.Clone(p.Annotations)
					p.Annotations[kruisev1alpha1.AnnotationPodDeletionCost] = cost
				})
			}
		}
	}
}

// tiers gives pods a label that weights may be tied to, by their index.
func tiers(all ...string) edit {
	return func(_ *kruisev1alpha1.CloneSet, pods []*corev1.Pod) {
		for i, tier := range all {
			if tier != "" {
				patchPod(pods[i], func(p *corev1.Pod) { p.Labels["tier"] = tier })
			}
		}
	}
}

func weights(set *kruisev1alpha1.CloneSet) {
	term := func(tier string, weight int32) kruisev1alpha1.UpdatePriorityWeightTerm {
		return kruisev1alpha1.UpdatePriorityWeightTerm{
			Weight: weight, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}},
		}
	}
	set.Spec.UpdateStrategy.PriorityStrategy = &kruisev1alpha1.UpdatePriorityStrategy{
		WeightPriority: []kruisev1alpha1.UpdatePriorityWeightTerm{term("low", 10), term("high", 50)},
	}
}

func ordered(set *kruisev1alpha1.CloneSet) {
	set.Spec.UpdateStrategy.PriorityStrategy = &kruisev1alpha1.UpdatePriorityStrategy{
		OrderPriority: []kruisev1alpha1.UpdatePriorityOrderTerm{{OrderedKey: "tier"}},
	}
}

func scattered(set *kruisev1alpha1.CloneSet) {
	set.Spec.UpdateStrategy.ScatterStrategy = kruisev1alpha1.UpdateScatterStrategy{{Key: "tier", Value: "a"}}
}

func request(cpu string) func(*kruisev1alpha1.CloneSet) {
	return func(set *kruisev1alpha1.CloneSet) {
		set.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

// zoneLabel is where the nodes of a spec have their zone, which they do not have from the beginning.
const zoneLabel = "e2e.test/zone"

// spread asks for pods in all zones, and for each on a node of its own. No node has a zone when the pods come.
func spread(set *kruisev1alpha1.CloneSet) {
	over := func(key string, otherwise corev1.UnsatisfiableConstraintAction) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: otherwise, LabelSelector: set.Spec.Selector.DeepCopy()}
	}
	set.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		over(zoneLabel, corev1.ScheduleAnyway), over(corev1.LabelHostname, corev1.DoNotSchedule),
	}
}

// zones puts the nodes of pods into zones, by the index of the pods.
func zones(all ...string) edit {
	return func(_ *kruisev1alpha1.CloneSet, pods []*corev1.Pod) {
		for i, zone := range all {
			label := func(how func(*corev1.Node)) {
				node := &corev1.Node{}
				Expect(cluster.Get(testCtx, client.ObjectKey{Name: pods[i].Spec.NodeName}, node)).To(Succeed())
				labelled := node.DeepCopy()
				how(labelled)
				Expect(cluster.Patch(testCtx, labelled, client.MergeFrom(node))).To(Succeed())
			}
			label(func(n *corev1.Node) { n.Labels[zoneLabel] = zone })
			DeferCleanup(label, func(n *corev1.Node) { delete(n.Labels, zoneLabel) })
		}
	}
}

// choose names pods to delete, by their index.
func choose(indices ...int) edit {
	return func(set *kruisev1alpha1.CloneSet, pods []*corev1.Pod) {
		for _, i := range indices {
			set.Spec.ScaleStrategy.PodsToDelete = append(set.Spec.ScaleStrategy.PodsToDelete, pods[i].Name)
		}
	}
}
