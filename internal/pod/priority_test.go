// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
)

// labelled makes pods a, b, c, … each with the labels given as "key=value,key=value".
func labelled(labels ...string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i, list := range labels {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i)), Labels: map[string]string{}}}
		for pair := range strings.SplitSeq(list, ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				p.Labels[key] = value
			}
		}
		pods = append(pods, p)
	}
	return pods
}

func spelled(pods []*corev1.Pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func weight(n int32, key, value string) kruisev1alpha1.UpdatePriorityWeightTerm {
	return kruisev1alpha1.UpdatePriorityWeightTerm{Weight: n, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
}

func TestPriorityOrdersPods(t *testing.T) {
	ordered := func(keys ...string) *kruisev1alpha1.UpdatePriorityStrategy {
		s := &kruisev1alpha1.UpdatePriorityStrategy{}
		for _, key := range keys {
			s.OrderPriority = append(s.OrderPriority, kruisev1alpha1.UpdatePriorityOrderTerm{OrderedKey: key})
		}
		return s
	}
	for sentence, c := range map[string]struct {
		strategy *kruisev1alpha1.UpdatePriorityStrategy
		labels   []string
		want     string
	}{
		"no strategy keeps the order": {nil, []string{"x=1", "x=2"}, "a b"},
		"the larger sum of weights goes first": {
			&kruisev1alpha1.UpdatePriorityStrategy{WeightPriority: []kruisev1alpha1.UpdatePriorityWeightTerm{weight(20, "x", "1"), weight(10, "y", "1"), weight(15, "z", "1")}},
			[]string{"", "x=1", "y=1,z=1", "z=1"}, "c b d a",
		},
		"equal weights keep the order": {
			&kruisev1alpha1.UpdatePriorityStrategy{WeightPriority: []kruisev1alpha1.UpdatePriorityWeightTerm{weight(20, "x", "1")}},
			[]string{"x=1", "", "x=1"}, "a c b",
		},
		"the larger number at the end of a label goes first": {ordered("x"), []string{"x=web-2", "x=web-10", "x=9"}, "b c a"},
		"a label without a number counts as 0":               {ordered("x"), []string{"x=web", "x=1", "x=web-0"}, "b a c"},
		"pods without any of the keys go first":              {ordered("x"), []string{"x=5", ""}, "b a"},
		"the first key in the list that a pod has decides":   {ordered("x", "y"), []string{"y=9", "x=1,y=99", "x=2"}, "c b a"},
		"numbers may be longer than an int, and have zeros":  {ordered("x"), []string{"x=099999999999999999999", "x=100000000000000000000", "x=0007"}, "b a c"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := pod.ByPriority(labelled(c.labels...), c.strategy)
			if err != nil || spelled(got) != c.want {
				t.Errorf("order is %q (%v), want %q", spelled(got), err, c.want)
			}
		})
	}
}

func TestASelectorThatCannotBeReadIsNamed(t *testing.T) {
	bad := kruisev1alpha1.UpdatePriorityWeightTerm{MatchSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Near"}}}}
	_, err := pod.ByPriority(nil, &kruisev1alpha1.UpdatePriorityStrategy{WeightPriority: []kruisev1alpha1.UpdatePriorityWeightTerm{weight(1, "x", "1"), bad}})
	if err == nil || !strings.Contains(err.Error(), "weightPriority[1].matchSelector") {
		t.Errorf("error is %v", err)
	}
}

func scattering(values string) (terms []kruisev1alpha1.UpdateScatterTerm) {
	for _, v := range values {
		terms = append(terms, kruisev1alpha1.UpdateScatterTerm{Key: "x", Value: string(v)})
	}
	return terms
}

// worn makes pods 0, 1, 2, … with the letters as values of label x; a dash is a pod without it.
func worn(letters string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i, letter := range letters {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
		if letter != '-' {
			p.Labels = map[string]string{"x": string(letter)}
		}
		pods = append(pods, p)
	}
	return pods
}

func TestScatterSpreadsALabel(t *testing.T) {
	for sentence, c := range map[string]struct {
		all     string
		waiting int
		terms   string
		want    string
	}{
		"two of six: one first, one last":               {"----AA", 6, "A", "4 0 1 2 3 5"},
		"three of six":                                  {"---AAA", 6, "A", "3 0 1 4 2 5"},
		"four of six":                                   {"--AAAA", 6, "A", "2 3 0 4 1 5"},
		"the one that is updated already counts":        {"----AAA", 6, "A", "0 1 4 2 3 5"},
		"others that are behind their share go ahead":   {"AA-------A", 7, "A", "2 0 3 4 5 6 1"},
		"a single pod with the label stays where it is": {"--A--", 5, "A", "0 1 2 3 4"},
		"a single pod without the label stays too":      {"AA-A", 4, "A", "0 1 2 3"},
		"a term that matches nothing changes nothing":   {"--AA", 4, "B", "0 1 2 3"},
		"of several terms, only those that match count": {"----AA", 6, "CA", "4 0 1 2 3 5"},
		"no terms change nothing":                       {"--AA", 4, "", "0 1 2 3"},
	} {
		t.Run(sentence, func(t *testing.T) {
			all := worn(c.all)
			if got := spelled(pod.Scatter(all[:c.waiting], all, scattering(c.terms))); got != c.want {
				t.Errorf("order is %q, want %q", got, c.want)
			}
		})
	}
}

func TestOrdersLoseAndInventNoPod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := worn(rapid.StringMatching(`[-AB]{0,20}`).Draw(t, "labels"))
		waiting := all[:rapid.IntRange(0, len(all)).Draw(t, "waiting")]
		before := spelled(waiting)
		got := pod.Scatter(waiting, all, scattering(rapid.StringMatching(`[ABC]{0,3}`).Draw(t, "terms")))
		if spelled(waiting) != before {
			t.Fatalf("the input was changed to %q", spelled(waiting))
		}
		want, have := strings.Fields(before), strings.Fields(spelled(got))
		slices.Sort(want)
		slices.Sort(have)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("pods (-want +got):\n%s", diff)
		}
	})
}
