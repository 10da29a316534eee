// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/world"
)

// TestMutationsAreCaught puts one fault after the other into planner and freshness, and expects that a story shows it by breaking
// the rule that the fault offends. A judge that everything passes would prove nothing.
func TestMutationsAreCaught(t *testing.T) {
	for sentence, m := range map[string]struct {
		theme  world.Theme
		hooks  Hooks
		caught []string // what the violation says, one of
	}{
		"the planner ignores the partition": {
			world.Anything, planning(func(s *cafev1alpha1.InPlaceSet) { s.Spec.Strategy.Partition = nil }),
			[]string{"below partition", "pods of the update revision, with"},
		},
		"the planner allows one unavailable pod more": {
			world.Anything, planning(func(s *cafev1alpha1.InPlaceSet) {
				s.Spec.Strategy.MaxUnavailable = world.Number(numbersOf(s).Unavailable + 1)
			}),
			[]string{"would be available, with"},
		},
		"the planner ignores the pause": {
			world.Anything, planning(func(s *cafev1alpha1.InPlaceSet) { s.Spec.Strategy.Paused = false }),
			[]string{"paused", "need not make room"},
		},
		"the planner keeps one pod too many": {
			world.Anything, planning(func(s *cafev1alpha1.InPlaceSet) { replicas(int32(numbersOf(s).Replicas + 1))(s) }),
			[]string{"above replicas"},
		},
		"components are not waited for": {
			world.Hooked, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan { return plan.Next(withoutTraffic(w), now) }},
			[]string{"while traffic is routed to it", "deleted that its preDelete hook holds"},
		},
		"one of the components is not waited for": {
			world.Hooked, planning(func(s *cafev1alpha1.InPlaceSet) {
				declare(slices.DeleteFunc(declared(s), func(c string) bool { return c == "lb" })...)(s)
			}),
			[]string{"while traffic is routed to it", "deleted that its preDelete hook holds"},
		},
		"a pod counts as released before all components are back": {
			world.Hooked, Hooks{Plan: normalAtOnce}, []string{"before its inPlaceUpdate hook was put back", "before its preNormal hook"},
		},
		"the gate stays open while components are waited for": {
			world.Hooked, conditions(func(c *corev1.PodCondition) bool {
				return c.Type != kruisev1alpha1.ConditionInPlaceUpdateReady || c.Status == corev1.ConditionTrue
			}),
			[]string{"pods of old revisions, with partition", "does not go away", "is in state"}, // nobody lets go
		},
		"traffic is not told of pods that others delete": {
			world.Hooked, steps(func(s step.Step) step.Step {
				if c, is := s.(step.SetConditions); is && c.Conditions[0].Status == corev1.ConditionFalse {
					return nil
				}
				return s
			}),
			[]string{"does not go away"},
		},
		"waits are not told": {
			world.Hooked, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				p := plan.Next(w, now)
				p.Components = nil
				return p
			}},
			[]string{"no condition says it"},
		},
		"the gate is never opened again": {
			world.Anything, conditions(func(c *corev1.PodCondition) bool { return c.Status != corev1.ConditionTrue }),
			[]string{"is not available", "is in state"},
		},
		"the drain is left out": {
			world.Anything, steps(func(s step.Step) step.Step {
				if u, is := s.(step.UpdateInPlace); is {
					u.Drain = nil
					return u
				}
				return s
			}),
			[]string{"while the pod is in service"},
		},
		"own writes are not waited for": {
			world.Anything, Hooks{Dependencies: func(d *inplaceset.Dependencies) { d.Writes = freshness.New(d.Live, d.Live, d.Clock, 0) }},
			[]string{"above replicas", "would be available, with", "of the update revision"},
		},
		"a closed gate passes for a pod that is out of service": {
			world.Draining, seeing(world.Blinded), []string{"while endpoints have its pod"},
		},
		"the grace period counts from the first drain": {
			world.Draining, seeing(world.Timeless), []string{"after its pod was last ready"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			world.Catch(t, func(seed uint64) error { return play(seed, m.theme, m.hooks, nil) }, m.caught)
		})
	}
}

// planning lets the steps be decided for another set, and the rest of the plan for the real one.
func planning(change func(*cafev1alpha1.InPlaceSet)) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		honest := plan.Next(w, now)
		w.Set = w.Set.DeepCopy()
		change(w.Set)
		honest.Steps = plan.Next(w, now).Steps
		return honest
	}}
}

// steps changes the steps of every plan, one by one; nil drops a step.
func steps(change func(step.Step) step.Step) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		p := plan.Next(w, now)
		var kept []step.Step
		for _, s := range p.Steps {
			if s = change(s); s != nil {
				kept = append(kept, s)
			}
		}
		p.Steps = kept
		return p
	}}
}

// conditions changes the conditions of every plan, one by one; false drops a condition, and a step that has nothing else.
func conditions(keep func(*corev1.PodCondition) bool) Hooks {
	changed := func(before []corev1.PodCondition) (kept []corev1.PodCondition) {
		for _, c := range before {
			if keep(&c) {
				kept = append(kept, c)
			}
		}
		return kept
	}
	return steps(func(s step.Step) step.Step {
		switch s := s.(type) {
		case step.PatchPod:
			s.Conditions = changed(s.Conditions)
			return s
		case step.SetConditions:
			if s.Conditions = changed(s.Conditions); len(s.Conditions) == 0 {
				return nil
			}
			return s
		}
		return s
	})
}

// withoutTraffic is the world with nobody routing to a pod that is in service or about to leave it.
func withoutTraffic(w plan.World) plan.World {
	w.Pods = slices.Clone(w.Pods)
	for i, pod := range w.Pods {
		switch world.StateOf(pod) {
		case kruisev1alpha1.LifecyclePreparingNormal, kruisev1alpha1.LifecycleUpdated:
		default:
			w.Pods[i] = pod.DeepCopy()
			w.Pods[i].Finalizers = nil
		}
	}
	return w
}

// normalAtOnce puts pods into the normal state as soon as their update is done.
func normalAtOnce(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	normal := string(kruisev1alpha1.LifecycleNormal)
	for i, s := range p.Steps {
		patched, is := s.(step.PatchPod)
		if state := patched.Patch.Labels[kruisev1alpha1.LabelLifecycleState]; is && state != nil && *state == string(kruisev1alpha1.LifecycleUpdated) {
			patched.Patch.Labels[kruisev1alpha1.LabelLifecycleState] = &normal
			p.Steps[i] = patched
		}
	}
	return p
}

// seeing lets the plan be made for other pods than there are.
func seeing(pods func([]*corev1.Pod) []*corev1.Pod) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		w.Pods = pods(w.Pods)
		return plan.Next(w, now)
	}}
}
