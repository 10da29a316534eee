// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// deadEnd is the one thing that may wait for a person although the template is good: of ordered pods that are not wanted any more, the
// highest is broken and so is one below it, which it may need. Nobody knows whether either gets well. It returns the highest and the
// lowest of the broken ones, and nothing where it is not that.
func (s *scene) deadEnd() (highest, lowest *corev1.Pod) {
	if !s.Ordered {
		return nil, nil
	}
	for i := range s.Live {
		if !s.serves(s.at(i)) {
			return nil, nil
		}
	}
	condemned := slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return s.position(p.Name) >= 0 })
	slices.SortFunc(condemned, func(a, b *corev1.Pod) int {
		x, _ := ordinalOf(a.Name)
		y, _ := ordinalOf(b.Name)
		return cmp.Compare(y, x)
	})
	broken := slices.DeleteFunc(slices.Clone(condemned), func(p *corev1.Pod) bool { return !world.Active(p) || world.InService(p) })
	if len(broken) < 2 || broken[0] != condemned[0] {
		return nil, nil
	}
	return broken[0], broken[len(broken)-1]
}

// helpOut does what the status asks a person to do in a dead end: it deletes one of the pods that wait for one another, for as long as
// there are such pods. Then the set must go on by itself.
func (s *simulation) helpOut() error {
	for {
		highest, lowest := sceneOf(s.Scene()).deadEnd()
		if highest == nil {
			return nil
		}
		if !s.asksForHelp(highest, lowest) {
			return fmt.Errorf("pods %s and %s wait for one another, and nobody is told; %s", highest.Name, lowest.Name, s.Summary())
		}
		chosen := []*corev1.Pod{highest, lowest}[s.Random.IntN(2)]
		if err := s.Server.Delete("user", api.Pods, client.ObjectKeyFromObject(chosen), nil, nil); err != nil {
			return fmt.Errorf("the user's deletion: %w", err)
		}
		s.Noted["a person ends the wait of pods for one another"] = true
		s.Tell("user: deletes %s, as the status says", chosen.Name)
		s.Notice()
		if err := s.Settle(); err != nil {
			return fmt.Errorf("after a person has helped: %w", err)
		}
	}
}

// asksForHelp tells whether the status says which pods wait for one another.
func (s *simulation) asksForHelp(highest, lowest *corev1.Pod) bool {
	return slices.ContainsFunc(typed(s.Set()).Status.Conditions, func(c kruisev1beta1.StatefulSetCondition) bool {
		return c.Type == kruisev1beta1.StatefulSetConditionReady && c.Reason == "ScaleInBlocked" &&
			strings.Contains(c.Message, "pod "+highest.Name+" is not available, and neither is pod "+lowest.Name+" below it")
	})
}
