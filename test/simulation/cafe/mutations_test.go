// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/world"
)

// TestMutationsAreCaught puts one fault after the other into the controller of CafeDeployments, and expects that a story shows it by
// breaking the rule that the fault offends. A judge that everything passes would prove nothing.
func TestMutationsAreCaught(t *testing.T) {
	for sentence, m := range map[string]struct {
		theme  world.Theme
		hooks  Hooks
		caught []string // what the violation says, one of
	}{
		"nobody is asked": {
			world.Anything, planning(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.NeedWaitingForConfirm = false }), []string{"nobody has confirmed"},
		},
		"groups have one pod more than batchSize": {
			world.Anything, planning(func(d *cafev1alpha1.CafeDeployment) {
				if b := d.Spec.Strategy.BatchSize; b != nil {
					d.Spec.Strategy.BatchSize = ptr.To(*b + 1)
				}
			}), []string{"and batchSize", "to do and batchSize"},
		},
		"there is no Beta group": {
			world.Anything, planning(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.UpgradeType = cafev1alpha1.BatchUpgradeType }), []string{"the first group is of kind Batch"},
		},
		"a pause is ignored": {
			world.Anything, planning(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = false }), []string{"in a pause"},
		},
		"pods of later groups are let go": {
			world.Anything, asking(func(a plan.Ask) *plan.Ask {
				a.Partition = max(0, a.Partition-1)
				return &a
			}), []string{"pods more go to the release"},
		},
		"one pod more is brought up": {
			world.Anything, asking(func(a plan.Ask) *plan.Ask {
				a.Replicas++
				return &a
			}), []string{"pods more go to the release"},
		},
		"a group ends when its pods are updated, available or not": {
			world.Anything, seeing(func(s *plan.Set) { s.UpdatedAvailable = s.Updated }), []string{"ends, and unit"},
		},
		"quota comes back to the unit that gave it up": {
			crowded, planning(func(d *cafev1alpha1.CafeDeployment) {
				for i := range d.Status.Units {
					d.Status.Units[i].ShortUntil = nil
				}
			}), []string{"and gave some up"},
		},
		"quota moves on as soon as it has come": {
			crowded, planning(func(d *cafev1alpha1.CafeDeployment) {
				for i := range d.Status.Units {
					d.Status.Units[i].RescheduledAt = nil
				}
			}), []string{"came less than"},
		},
		"quota moves without a delay": {
			crowded, planning(func(d *cafev1alpha1.CafeDeployment) {
				d.Spec.Topology.AutoReschedule.InitialDelaySeconds = ptr.To[int32](0)
			}), []string{"are short"},
		},
		"a closed unit gives all its pods up at once": {
			world.Anything, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				p := plan.Next(w, now)
				for i, a := range p.Asks {
					if !slices.Contains(w.Deployment.Spec.Topology.Values, a.Unit) && a.Unit != "" {
						p.Asks[i].Replicas = 0
					}
				}
				return p
			}}, []string{"until others have theirs"},
		},
		"pod sets of closed units stay": {
			world.Anything, asking(func(a plan.Ask) *plan.Ask {
				if a.Deletes {
					return nil
				}
				return &a
			}), []string{"is still there"},
		},
		"units are taken in another order": {
			world.Anything, planning(func(d *cafev1alpha1.CafeDeployment) {
				d.Spec.Topology.Values = slices.Clone(d.Spec.Topology.Values)
				slices.Reverse(d.Spec.Topology.Values)
			}), []string{"is to have"},
		},
		"older ReplicaSets lose a pod too many": {
			world.Anything, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				p := plan.Next(w, now)
				for i, a := range p.Asks {
					if a.Set != "" && a.Revision != p.Status.UpdateRevision && w.Deployment.Spec.PodSetType == cafev1alpha1.ReplicaSetPodSetType {
						p.Asks[i].Replicas = max(0, a.Replicas-1)
					}
				}
				return p
			}}, []string{"an older version of unit", "is to have", "until others have theirs", "available pods, and had"},
		},
		"the controller answers its own question": {
			world.Anything, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				p := plan.Next(w, now)
				for i, s := range p.Steps {
					if a, is := s.(step.Annotate); is && a.Annotations[confirmed] != nil {
						a.Annotations[confirmed] = ptr.To("true")
						p.Steps[i] = a
					}
				}
				return p
			}}, []string{"confirms by itself"},
		},
		"waits are not told": {
			world.Anything, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				p := plan.Next(w, now)
				p.Waits, p.Full, p.Lacks, p.Confirm = nil, nil, nil, ""
				return p
			}}, []string{"condition"},
		},
		"a settled deployment is written to": {
			world.Anything, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				p := plan.Next(w, now)
				p.Status.Replicas++
				return p
			}}, []string{"the status says"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			world.CatchWithin(t, 300, func(seed uint64) error { return play(seed, m.theme, m.hooks, nil) }, m.caught)
		})
	}
}

// planning lets everything be decided for another deployment.
func planning(change func(*cafev1alpha1.CafeDeployment)) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		w.Deployment = w.Deployment.DeepCopy()
		change(w.Deployment)
		return plan.Next(w, now)
	}}
}

// asking changes what pod sets are asked for, one by one; nil asks for nothing.
func asking(change func(plan.Ask) *plan.Ask) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		p := plan.Next(w, now)
		var asks []plan.Ask
		for _, a := range p.Asks {
			if changed := change(a); changed != nil {
				asks = append(asks, *changed)
			}
		}
		p.Asks = asks
		return p
	}}
}

// seeing changes what pod sets show.
func seeing(change func(*plan.Set)) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		w.Units = slices.Clone(w.Units)
		for i := range w.Units {
			w.Units[i].Sets = slices.Clone(w.Units[i].Sets)
			for k := range w.Units[i].Sets {
				change(&w.Units[i].Sets[k])
			}
		}
		return plan.Next(w, now)
	}}
}
