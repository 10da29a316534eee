// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
)

// carriers makes a pod for each map of labels, named by their place.
func carriers(list string) ([]*corev1.Pod, bool) {
	var all []map[string]string
	if json.Unmarshal([]byte(list), &all) != nil || len(all) > 20 {
		return nil, false
	}
	var pods []*corev1.Pod
	for i, labels := range all {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Labels: labels}})
	}
	return pods, true
}

// selects evaluates a selector by what each of its operators means.
func selects(s *metav1.LabelSelector, labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if got, has := labels[key]; !has || got != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		value, has := labels[e.Key]
		listed := has && slices.Contains(e.Values, value)
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			if !listed {
				return false
			}
		case metav1.LabelSelectorOpNotIn:
			if listed {
				return false
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if has != (e.Operator == metav1.LabelSelectorOpExists) {
				return false
			}
		}
	}
	return true
}

var lastDigits = regexp.MustCompile(`[0-9]*$`)

// goesFirst tells by plain definitions which of two pods a strategy asks for first: below 0 is a, 0 neither.
func goesFirst(a, b *corev1.Pod, strategy *kruisev1alpha1.UpdatePriorityStrategy) int {
	if len(strategy.WeightPriority) > 0 {
		weight := func(p *corev1.Pod) (sum int64) {
			for _, term := range strategy.WeightPriority {
				if selects(&term.MatchSelector, p.Labels) {
					sum += int64(term.Weight)
				}
			}
			return sum
		}
		return int(min(max(weight(b)-weight(a), -1), 1))
	}
	order := func(p *corev1.Pod) (place int, number *big.Int) {
		for i, term := range strategy.OrderPriority {
			if value, has := p.Labels[term.OrderedKey]; has {
				number, _ := new(big.Int).SetString("0"+lastDigits.FindString(value), 10)
				return i, number
			}
		}
		return -1, new(big.Int)
	}
	placeA, numberA := order(a)
	placeB, numberB := order(b)
	if placeA != placeB {
		return placeA - placeB
	}
	return numberB.Cmp(numberA)
}

// FuzzUpdatePriority: selectors and orders mean what a plain reading of them says, and what they do not tell apart keeps its
// place.
func FuzzUpdatePriority(f *testing.F) {
	f.Fuzz(func(t *testing.T, terms, labels string) {
		strategy := &kruisev1alpha1.UpdatePriorityStrategy{}
		pods, ok := carriers(labels)
		if !ok || json.Unmarshal([]byte(terms), strategy) != nil {
			return
		}
		sorted, err := pod.ByPriority(pods, strategy)
		if err != nil {
			return // a selector that the API does not know
		}
		if len(sorted) != len(pods) {
			t.Fatalf("%d pods became %d", len(pods), len(sorted))
		}
		for i, b := range sorted {
			for _, a := range sorted[:i] {
				order := goesFirst(a, b, strategy)
				if order > 0 || order == 0 && slices.Index(pods, a) > slices.Index(pods, b) {
					t.Errorf("pod %s %v stands before pod %s %v", a.Name, a.Labels, b.Name, b.Labels)
				}
			}
		}
	})
}

// FuzzScatter: scattering loses no pod and doubles none, and one term changes neither the order of those that carry its label
// nor that of the rest.
func FuzzScatter(f *testing.F) {
	f.Fuzz(func(t *testing.T, terms, labels string, waiting uint8) {
		var strategy []kruisev1alpha1.UpdateScatterTerm
		all, ok := carriers(labels)
		if !ok || json.Unmarshal([]byte(terms), &strategy) != nil {
			return
		}
		before := all[:min(int(waiting), len(all))]
		after := pod.Scatter(slices.Clone(before), all, strategy)
		if len(after) != len(before) {
			t.Fatalf("%d pods became %d", len(before), len(after))
		}
		for _, p := range before {
			if !slices.Contains(after, p) {
				t.Fatalf("pod %s is lost", p.Name)
			}
		}
		if len(strategy) != 1 {
			return
		}
		last := map[bool]int{true: -1, false: -1}
		for _, p := range after {
			carries := p.Labels[strategy[0].Key] == strategy[0].Value
			place := slices.Index(before, p)
			if place < last[carries] {
				t.Errorf("pod %s has overtaken one of its own kind", p.Name)
			}
			last[carries] = place
		}
	})
}

// crowd makes a pod of each 4 bytes.
func crowd(data []byte) []*corev1.Pod {
	start := time.Unix(1_700_000_000, 0)
	var pods []*corev1.Pod
	for ; len(data) >= 4 && len(pods) < 16; data = data[4:] {
		p := &corev1.Pod{}
		p.Name = fmt.Sprint("web-", len(pods))
		p.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(data[0]%4) * time.Second))
		if data[0]&4 != 0 {
			p.Spec.NodeName = fmt.Sprint("node-", data[0]>>6)
		}
		p.Status.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodUnknown, ""}[data[1]%4]
		if data[1]&4 != 0 {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(time.Duration(data[1]>>4) * time.Second)),
			}}
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: int32(data[2] % 4)}}
		if data[2]&4 != 0 {
			p.Annotations = map[string]string{kruisev1alpha1.AnnotationPodDeletionCost: fmt.Sprint(int8(data[3]))}
		}
		pods = append(pods, p)
	}
	return pods
}

// FuzzVictimOrder: the orders are total, so it does not matter in which order the cache lists pods; and what comes first in
// them is what a plain reading of their first rules says.
func FuzzVictimOrder(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, minReady uint8, rotate uint8) {
		pods := crowd(data)
		ranking := pod.Ranking{MinReadySeconds: int32(minReady), Now: time.Unix(1_700_000_010, 0)}
		turned := slices.Clone(pods)
		slices.Reverse(turned)
		if len(turned) > 0 {
			n := int(rotate) % len(turned)
			turned = slices.Concat(turned[n:], turned[:n])
		}
		victims := pod.VictimOrder(pods, ranking)
		if got, want := names(pod.VictimOrder(turned, ranking)), names(victims); got != want {
			t.Errorf("victims are %s, and %s when listed in another order", want, got)
		}
		updates := pod.UpdateOrder(pods)
		if got, want := names(pod.UpdateOrder(turned)), names(updates); got != want {
			t.Errorf("updates are %s, and %s when listed in another order", want, got)
		}
		if len(victims) != len(pods) || len(updates) != len(pods) {
			t.Fatalf("%d pods became %d victims and %d updates", len(pods), len(victims), len(updates))
		}
		for _, sorted := range [][]*corev1.Pod{victims, updates} {
			for i := 1; i < len(sorted); i++ {
				before, after := sorted[i-1], sorted[i]
				if before.Spec.NodeName != "" && after.Spec.NodeName == "" {
					t.Errorf("%s is bound to a node and goes before %s", before.Name, after.Name)
				}
				sameNode := (before.Spec.NodeName != "") == (after.Spec.NodeName != "")
				if sameNode && before.Status.Phase == corev1.PodRunning && after.Status.Phase != corev1.PodRunning {
					t.Errorf("%s runs and goes before %s, which does not", before.Name, after.Name)
				}
			}
		}
	})
}
