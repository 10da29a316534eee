// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/pod"
)

func TestSelectorsThatCannotBeActedOn(t *testing.T) {
	for sentence, test := range map[string]struct {
		selector *metav1.LabelSelector
		want     string
	}{
		"one that matches the template":         {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, ""},
		"none":                                  {nil, "spec.selector: must not be empty"},
		"one that selects everything":           {&metav1.LabelSelector{}, "spec.selector: must not be empty"},
		"one that cannot be read":               {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Or"}}}, "spec.selector: "},
		"one that does not match the template":  {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, `spec.selector: "app=db" does not match the labels of spec.template, which are "app=web,tier=front"`},
		"one that wants more than the template": {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "zone": "a"}}, "does not match"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := pod.Selector(test.selector, map[string]string{"app": "web", "tier": "front"})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
