// SPDX-License-Identifier: Apache-2.0

package unit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// NodeLabel is the key of the label by which nodes name their unit; empty for None. An absent type means Cell.
func NodeLabel(kind cafev1alpha1.UnitType) string {
	switch kind {
	case cafev1alpha1.ZoneUnitType:
		return corev1.LabelTopologyZone
	case cafev1alpha1.NoneUnitType:
		return ""
	case cafev1alpha1.CellUnitType:
	}
	return cafev1alpha1.LabelCell
}

// Within is the template with what keeps its pods inside a unit: the node affinity that it requires, and the unit's
// label in each of its terms, because one of them is enough for a node. The template itself is not changed; where
// there is no unit it is returned as it is, and otherwise parts of it are shared.
func Within(template *corev1.PodTemplateSpec, kind cafev1alpha1.UnitType, name string) *corev1.PodTemplateSpec {
	key := NodeLabel(kind)
	if key == "" || name == "" {
		return template
	}
	inUnit := corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}
	var terms []corev1.NodeSelectorTerm
	affinity := template.Spec.Affinity.DeepCopy()
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = required.NodeSelectorTerms
	}
	for i := range terms {
		and(&terms[i], inUnit)
	}
	if len(terms) == 0 {
		terms = []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{inUnit}}}
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	within := *template
	within.Spec.Affinity = affinity
	return &within
}

// and adds a requirement to a term that lacks it. A term without any matches no node, and one with this requirement alone
// would match some: it stays as it is.
func and(term *corev1.NodeSelectorTerm, inUnit corev1.NodeSelectorRequirement) {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return
	}
	has := func(r corev1.NodeSelectorRequirement) bool { return equality.Semantic.DeepEqual(r, inUnit) }
	if !slices.ContainsFunc(term.MatchExpressions, has) {
		term.MatchExpressions = append(term.MatchExpressions, inUnit)
	}
}
