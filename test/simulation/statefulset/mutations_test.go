// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/statefulset"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/world"
)

// TestMutationsAreCaught puts one fault after the other into planner and reconciler, and expects that a story shows it by breaking the
// rule that the fault offends. A judge that everything passes would prove nothing.
func TestMutationsAreCaught(t *testing.T) {
	for sentence, m := range map[string]struct {
		theme  world.Theme
		hooks  Hooks
		caught []string // what the violation says, one of
	}{
		"the planner ignores the partition": {
			world.Together, planning(func(s *kruisev1beta1.StatefulSetSpec) { rollOf(s).Partition = nil }),
			[]string{"below partition", "the partition"},
		},
		"the planner allows one unavailable pod more": {
			Parallel, planning(func(s *kruisev1beta1.StatefulSetSpec) {
				rollOf(s).MaxUnavailable = world.Number(numbersOf(&set{Spec: *s}).Unavailable + 1)
			}),
			[]string{"positions would be unavailable, the limit is"},
		},
		"ordered pods are created at once": {
			Ordered, planning(func(s *kruisev1beta1.StatefulSetSpec) { s.PodManagementPolicy = kruisev1beta1.ParallelPodManagement }),
			[]string{"is created before"},
		},
		"the planner ignores the limit of creations": {
			Parallel, planning(func(s *kruisev1beta1.StatefulSetSpec) { s.ScaleStrategy = nil }),
			[]string{"scaleStrategy allows"},
		},
		"the planner ignores reserved ordinals": {
			Moving, planning(func(s *kruisev1beta1.StatefulSetSpec) { s.ReserveOrdinals = nil }),
			[]string{"the ordinals are"},
		},
		"the planner ignores the start of the ordinals": {
			Moving, planning(func(s *kruisev1beta1.StatefulSetSpec) { s.Ordinals = nil }),
			[]string{"the ordinals are"},
		},
		"unordered pods are updated in the place of missing ones": {
			Labelled, Hooks{Plan: updatingForMissingOnes}, []string{"would be left on older revisions"},
		},
		"unordered pods are created as if they were ordered": {
			Labelled, planning(func(s *kruisev1beta1.StatefulSetSpec) { rollOf(s).UnorderedUpdate = nil }),
			[]string{"is created with revision"},
		},
		"the planner ignores the pause": {
			Broken, planning(func(s *kruisev1beta1.StatefulSetSpec) { rollOf(s).Paused = false }),
			[]string{"while the set is paused"},
		},
		"a broken pod of an older revision waits for the others": {
			Broken, Hooks{Plan: waitingForAllPods}, []string{"of an older revision", "does not come to rest", "is not available", "is missing"},
		},
		"the lowest condemned pod goes first": {
			Ordered, Hooks{Plan: lowestFirst}, []string{"is scaled in before"},
		},
		"condemned pods go while live ones are broken": {
			Ordered, Hooks{Plan: scalingInAtOnce}, []string{"is scaled in while", "is scaled in before"},
		},
		"the lowest position is updated first": {
			Ordered, Hooks{Plan: updatingFromBelow}, []string{"above it", "is updated while others", "positions would be unavailable"},
		},
		"claims of live pods are given to them": {
			world.Claiming, planning(func(s *kruisev1beta1.StatefulSetSpec) {
				s.PersistentVolumeClaimRetentionPolicy = &kruisev1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{
					WhenScaled: kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType}
			}),
			[]string{"is to go with"},
		},
		"claims are forgotten": {
			world.Claiming, steps(func(s step.Step) step.Step {
				if _, is := s.(step.CreateClaim); is {
					return nil
				}
				return s
			}),
			[]string{"before its claim"},
		},
		"claims are resized below the partition": {
			world.Claiming, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				honest := plan.Next(w, now)
				w.Set = w.Set.DeepCopy()
				rollOf(&w.Set.Spec).Partition = nil
				for _, s := range plan.Next(w, now).Steps {
					if r, is := s.(step.ResizeClaim); is {
						honest.Steps = append(honest.Steps, r)
					}
				}
				return honest
			}},
			[]string{"is resized, below partition", "is resized: "},
		},
		"claims are resized beyond the allowance": {
			world.Claiming, Hooks{Plan: resizingAtOnce}, []string{"is resized: "},
		},
		"a claim on its way out is counted on": {
			world.Claiming, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				claims := map[string]*corev1.PersistentVolumeClaim{}
				for name, c := range w.Claims {
					c = c.DeepCopy()
					c.DeletionTimestamp, c.OwnerReferences = nil, nil
					claims[name] = c
				}
				w.Claims = claims
				return plan.Next(w, now)
			}},
			[]string{"on its way out", "which goes with a former pod"},
		},
		"the drain is left out": {
			Ordered, steps(func(s step.Step) step.Step {
				if u, is := s.(step.UpdateInPlace); is {
					u.Drain = nil
					return u
				}
				return s
			}),
			[]string{"while the pod is in service"},
		},
		"a hook is ignored before a deletion": {
			world.Hooked, planning(func(s *kruisev1beta1.StatefulSetSpec) {
				if s.Lifecycle != nil {
					s.Lifecycle = s.Lifecycle.DeepCopy()
					s.Lifecycle.PreDelete = nil
				}
			}),
			[]string{"its preDelete hook holds"},
		},
		"a released pod is not adopted again": {
			world.Anything, steps(func(s step.Step) step.Step {
				if _, is := s.(step.AdoptPod); is {
					return nil
				}
				return s
			}),
			[]string{"is nobody's and has the name of a member"},
		},
		"pods lose their identity": {
			world.Anything, steps(func(s step.Step) step.Step {
				if c, is := s.(step.CreatePod); is {
					delete(c.Pod.Labels, kruisev1beta1.LabelPodIndex)
				}
				return s
			}),
			[]string{"is created with labels"},
		},
		"freshness never waits": {
			world.Together, Hooks{Dependencies: func(d *statefulset.Dependencies) { d.Writes = freshness.New(d.Live, d.Live, d.Clock, 0) }},
			[]string{"is created before", "positions would be unavailable", "is scaled in before", "while others are not available", "scaleStrategy allows", "terminates", "is scaled in while"},
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
			world.Catch(t, func(seed uint64) error {
				_, err := play(seed, m.theme, m.hooks, nil)
				return err
			}, m.caught)
		})
	}
}

func rollOf(s *kruisev1beta1.StatefulSetSpec) *kruisev1beta1.RollingUpdateStatefulSetStrategy {
	if s.UpdateStrategy.RollingUpdate == nil {
		s.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
	}
	return s.UpdateStrategy.RollingUpdate
}

// planning lets the steps be decided for another spec, and the rest of the plan for the real one.
func planning(change func(*kruisev1beta1.StatefulSetSpec)) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		honest := plan.Next(w, now)
		honest.Steps = otherwise(w, now, change)
		return honest
	}}
}

func otherwise(w plan.World, now time.Time, change func(*kruisev1beta1.StatefulSetSpec)) []step.Step {
	w.Set = w.Set.DeepCopy()
	change(&w.Set.Spec)
	return plan.Next(w, now).Steps
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

// resizingAtOnce resizes every claim that parallel pods have too small, as if all positions could be unavailable.
func resizingAtOnce(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	busy := map[string]bool{}
	for _, s := range p.Steps {
		busy[s.Subject()] = true
	}
	for _, s := range otherwise(w, now, func(s *kruisev1beta1.StatefulSetSpec) { rollOf(s).MaxUnavailable = world.Number(9) }) {
		if r, is := s.(step.ResizeClaim); is && !busy[r.Subject()] {
			p.Steps = append(p.Steps, r)
		}
	}
	return p
}

// waitingForAllPods updates nothing while a pod is not available, as the built-in controller does.
func waitingForAllPods(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	for i := range p.Members {
		if !p.Members[i].Available {
			p.Steps = otherwise(w, now, func(s *kruisev1beta1.StatefulSetSpec) { rollOf(s).Paused = true })
			return p
		}
	}
	return p
}

// updatingForMissingOnes updates as many unordered pods more as there are none of.
func updatingForMissingOnes(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	missing := p.Limits.Replicas
	for i := range p.Members {
		if p.Members[i].Position >= 0 {
			missing--
		}
	}
	if missing == 0 || p.Limits.Partition == 0 {
		return p
	}
	create := func(s step.Step) bool { _, is := s.(step.CreatePod); return is }
	fewer := func(s *kruisev1beta1.StatefulSetSpec) {
		rollOf(s).Partition = ptr.To(int32(max(0, p.Limits.Partition-missing)))
	}
	others := slices.DeleteFunc(otherwise(w, now, fewer), create)
	p.Steps = append(others, slices.DeleteFunc(p.Steps, func(s step.Step) bool { return !create(s) })...)
	return p
}

// condemned are the pods whose ordinals are not wanted, the lowest first.
func condemned(p plan.Plan) (found []*plan.Member) {
	for i := range p.Members {
		if m := &p.Members[i]; m.Position < 0 && world.Active(m.Pod) {
			at := 0
			for at < len(found) && found[at].Ordinal < m.Ordinal {
				at++
			}
			found = append(found[:at], append([]*plan.Member{m}, found[at:]...)...)
		}
	}
	return found
}

func lowestFirst(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	lowest := condemned(p)
	for i, s := range p.Steps {
		if d, is := s.(step.DeletePod); is && d.Cause == step.ScaleIn {
			d.Target = step.On(lowest[0].Pod)
			p.Steps[i] = d
		}
	}
	return p
}

func scalingInAtOnce(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	busy := map[string]bool{}
	for _, s := range p.Steps {
		busy[s.Subject()] = true
	}
	for _, m := range condemned(p) {
		if !busy[m.Pod.Name] {
			p.Steps = append(p.Steps, step.DeletePod{Because: "of a fault", Target: step.On(m.Pod), Cause: step.ScaleIn})
		}
	}
	return p
}

// updatingFromBelow deletes the lowest pod of an older revision instead of the highest.
func updatingFromBelow(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	var lowest *plan.Member
	for i := range p.Members {
		if m := &p.Members[i]; m.Eligible && !m.Updated && world.Active(m.Pod) && (lowest == nil || m.Ordinal < lowest.Ordinal) {
			lowest = m
		}
	}
	for i, s := range p.Steps {
		if d, is := s.(step.DeletePod); is && d.Cause == step.Recreate && lowest != nil {
			d.Target = step.On(lowest.Pod)
			p.Steps[i] = d
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
