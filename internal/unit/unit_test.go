// SPDX-License-Identifier: Apache-2.0

package unit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/unit"
)

func TestEachTypeHasItsNodeLabel(t *testing.T) {
	for kind, want := range map[cafev1alpha1.UnitType]string{
		"":                        "cafe.sofastack.io/cell",
		cafev1alpha1.CellUnitType: "cafe.sofastack.io/cell",
		cafev1alpha1.ZoneUnitType: "topology.kubernetes.io/zone",
		cafev1alpha1.NoneUnitType: "",
	} {
		if got := unit.NodeLabel(kind); got != want {
			t.Errorf("%q: got %q, want %q", kind, got, want)
		}
	}
}

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func term(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: expressions}
}

func requiring(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

func TestPodsAreKeptWithinTheirUnit(t *testing.T) {
	const cell, zone = "cafe.sofastack.io/cell", "topology.kubernetes.io/zone"
	ssd, byName := in("disk", "ssd"), corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n1")}}
	byNameInUnit := byName
	byNameInUnit.MatchExpressions = []corev1.NodeSelectorRequirement{in(cell, "a")}
	preferring := &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: term(ssd)}}},
		PodAffinity:  &corev1.PodAffinity{},
	}
	preferringInUnit := preferring.DeepCopy()
	preferringInUnit.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = requiring(term(in(cell, "a"))).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for sentence, c := range map[string]struct {
		has  *corev1.Affinity
		kind cafev1alpha1.UnitType
		unit string
		want *corev1.Affinity
	}{
		"a template without affinity":               {nil, cafev1alpha1.CellUnitType, "a", requiring(term(in(cell, "a")))},
		"a zone":                                    {nil, cafev1alpha1.ZoneUnitType, "a", requiring(term(in(zone, "a")))},
		"no unit":                                   {requiring(term(ssd)), cafev1alpha1.CellUnitType, "", requiring(term(ssd))},
		"a type without units":                      {nil, cafev1alpha1.NoneUnitType, "a", nil},
		"each term needs the unit":                  {requiring(term(ssd), term(in("gpu", "yes"))), "", "a", requiring(term(ssd, in(cell, "a")), term(in("gpu", "yes"), in(cell, "a")))},
		"also one that goes by fields":              {requiring(byName), "", "a", requiring(byNameInUnit)},
		"a term that matches nothing stays one":     {requiring(term(), term(ssd)), "", "a", requiring(term(), term(ssd, in(cell, "a")))},
		"a list without terms gets one":             {requiring(), "", "a", requiring(term(in(cell, "a")))},
		"what is there is not repeated":             {requiring(term(in(cell, "a"), ssd)), "", "a", requiring(term(in(cell, "a"), ssd))},
		"another unit is a contradiction, and kept": {requiring(term(in(cell, "b"))), "", "a", requiring(term(in(cell, "b"), in(cell, "a")))},
		"preferences and other affinities stay":     {preferring, "", "a", preferringInUnit},
	} {
		t.Run(sentence, func(t *testing.T) {
			template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "kept", Affinity: c.has}}
			before := template.DeepCopy()
			got := unit.Within(template, c.kind, c.unit)
			if diff := cmp.Diff(c.want, got.Spec.Affinity); diff != "" || got.Spec.NodeName != "kept" {
				t.Errorf("affinity (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, template); diff != "" {
				t.Errorf("the template has changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(got, unit.Within(got, c.kind, c.unit)); diff != "" {
				t.Errorf("twice is more than once (-once +twice):\n%s", diff)
			}
		})
	}
}
