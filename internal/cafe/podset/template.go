// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/unit"
)

// longest is how long the name of a pod set may be. Built-in StatefulSets put it, a hyphen and a hash of ten letters into
// a label.
const longest = 52

// Template is the template of the pods of a unit: that of the deployment, with the unit's label, tied to the unit's nodes.
// InPlaceSets tie their pods themselves. Version tells the pods of one version from others where units have a set for each.
func Template(d *cafev1alpha1.CafeDeployment, name, version string) *corev1.PodTemplateSpec {
	t := d.Spec.Template.DeepCopy()
	t.Labels = with(t.Labels, cafev1alpha1.LabelUnit, name)
	if version != "" {
		t.Labels = with(t.Labels, cafev1alpha1.LabelRevision, version)
	}
	if d.Spec.PodSetType != cafev1alpha1.InPlaceSetPodSetType && d.Spec.PodSetType != "" {
		return unit.Within(t, d.Spec.Topology.UnitType, name)
	}
	return t
}

// Selector finds the pods of a unit's set and of no other.
func Selector(d *cafev1alpha1.CafeDeployment, unit, version string) *metav1.LabelSelector {
	s := d.Spec.Selector.DeepCopy()
	s.MatchLabels = with(s.MatchLabels, cafev1alpha1.LabelUnit, unit)
	if version != "" {
		s.MatchLabels = with(s.MatchLabels, cafev1alpha1.LabelRevision, version)
	}
	return s
}

func with(values map[string]string, key, value string) map[string]string {
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	return values
}

// Name is the first name for a unit's set that is free: <deployment>-<unit>, made valid, and with a hash of the unit
// where that is too long or not free. Sets of one version get that behind it.
func Name(d *cafev1alpha1.CafeDeployment, unit, version string, taken func(string) bool) string {
	plain := strings.ReplaceAll(d.Name, ".", "-")
	if unit != "" {
		plain += "-" + valid(unit)
	}
	plain = strings.Trim(plain, "-")
	for attempt := 0; ; attempt++ {
		name := plain
		if attempt > 0 || len(name) > longest {
			sum := fnv.New32a()
			fmt.Fprint(sum, d.Name, "/", unit, "/", attempt)
			mark := fmt.Sprintf("-%08x", sum.Sum32())
			name = strings.TrimRight(name[:min(len(name), longest-len(mark))], "-") + mark
		}
		if version != "" {
			name += "-" + version
		}
		if !taken(name) {
			return name
		}
	}
}

// valid spells a unit with the letters that a name may have.
func valid(unit string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(unit)), "-")
}
