// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/world"
)

// TestMutationsAreCaught puts one fault after the other into planner, apply and freshness, and expects that a story shows it by
// breaking the rule that the fault offends. A judge that everything passes would prove nothing.
func TestMutationsAreCaught(t *testing.T) {
	for sentence, m := range map[string]struct {
		theme  world.Theme
		hooks  Hooks
		caught []string // what the violation says, one of
	}{
		"the planner ignores the partition": {
			world.Anything, planning(func(s *kruisev1alpha1.CloneSetSpec) { s.UpdateStrategy.Partition = nil }),
			[]string{"below partition", "pods of the update revision, with"},
		},
		"the planner allows one unavailable pod more": {
			world.Anything, planning(func(s *kruisev1alpha1.CloneSetSpec) {
				s.UpdateStrategy.MaxUnavailable = world.Number(numbersOf(&kruisev1alpha1.CloneSet{Spec: *s}).Unavailable + 1)
			}),
			[]string{"would be available, with"},
		},
		"the planner surges by one pod more": {
			Surging, planning(func(s *kruisev1alpha1.CloneSetSpec) {
				s.UpdateStrategy.MaxSurge = world.Number(numbersOf(&kruisev1alpha1.CloneSet{Spec: *s}).Surge + 1)
			}),
			[]string{"above replicas"},
		},
		"the planner never surges": {
			Surging, planning(func(s *kruisev1alpha1.CloneSetSpec) { s.UpdateStrategy.MaxSurge = nil }),
			[]string{"pods of old revisions, with partition"}, // where nothing may be unavailable it gets nowhere
		},
		"the planner ignores the pause": {
			Ordering, planning(func(s *kruisev1alpha1.CloneSetSpec) { s.UpdateStrategy.Paused = false }),
			[]string{"paused", "not updated by deletion now"},
		},
		"a pod that is being updated in place counts as available": {
			world.Anything, Hooks{Plan: countingUpdatingAsAvailable}, []string{"would be available, with"},
		},
		"a broken release holds its own fix up": {
			world.Anything, Hooks{Plan: waitingForAllPods}, []string{"pods of old revisions, with partition"},
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
		"the gate is never opened": {
			world.Anything, steps(func(s step.Step) step.Step {
				if _, is := s.(step.SetConditions); is {
					return nil
				}
				return s
			}),
			[]string{"is not available"},
		},
		"the gate is opened before the node has acted": {
			world.Anything, Hooks{Plan: openingGates}, []string{"the gate opens"},
		},
		"a grace period is cut short": {
			Ordering, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan { return plan.Next(withoutGrace(w), now) }},
			[]string{"the gate opens", "still in a grace period", "runs"},
		},
		"history in use is forgotten": {
			world.Anything, Hooks{Plan: forgettingTooMuch}, []string{"forgotten"},
		},
		"writes are not conditional on the version judged": {
			world.Anything, Hooks{Dependencies: func(d *cloneset.Dependencies) { d.Client = unconditional{d.Client} }},
			[]string{"would be available, with", "the gate opens", "while the pod is in service", "below partition", "the status is not", "generation"},
		},
		"a hook is ignored before a deletion": {
			world.Hooked, planning(func(s *kruisev1alpha1.CloneSetSpec) {
				s.Lifecycle = changed(s.Lifecycle, func(l *kruisev1alpha1.Lifecycle) { l.PreDelete = nil })
			}),
			[]string{"its preDelete hook holds"},
		},
		"a hook is ignored before an update": {
			world.Hooked, planning(func(s *kruisev1alpha1.CloneSetSpec) {
				s.Lifecycle = changed(s.Lifecycle, func(l *kruisev1alpha1.Lifecycle) { l.InPlaceUpdate = nil })
			}),
			[]string{"its inPlaceUpdate hook holds"},
		},
		"a pod becomes normal before its hook has prepared it": {
			world.Hooked, planning(func(s *kruisev1alpha1.CloneSetSpec) {
				s.Lifecycle = changed(s.Lifecycle, func(l *kruisev1alpha1.Lifecycle) { l.PreNormal = nil })
			}),
			[]string{"before its preNormal hook"},
		},
		"entries of other programs are dropped": {
			world.Hooked, conditions(func(c *corev1.PodCondition) bool {
				for _, before := range []string{",", ""} {
					c.Message = strings.ReplaceAll(c.Message, before+`{"userAgent":"restarter","key":"web"}`, "")
				}
				if c.Message == "[]" {
					c.Status = corev1.ConditionTrue
				}
				return true
			}),
			[]string{"an entry of another program is lost"},
		},
		"a pod is not marked before it is prepared": {
			world.Hooked, conditions(func(c *corev1.PodCondition) bool {
				return c.Type != kruisev1alpha1.ConditionKruisePodReady || c.Status != corev1.ConditionFalse
			}),
			[]string{"changes while it is in service"},
		},
		"a mark is never taken away": {
			world.Hooked, conditions(func(c *corev1.PodCondition) bool {
				return c.Type != kruisev1alpha1.ConditionKruisePodReady || c.Status != corev1.ConditionTrue
			}),
			[]string{"is out of service because of", "is not available"},
		},
		"the preparation of an update is not called off": {
			world.Hooked, Hooks{Plan: neverCallingOff},
			[]string{"is in state PreparingUpdate"},
		},
		"states are written for nobody": {
			world.Anything, steps(func(s step.Step) step.Step {
				if u, is := s.(step.UpdateInPlace); is && u.Patch.Labels != nil {
					u.Patch.Labels[kruisev1alpha1.LabelLifecycleState] = ptr.To(string(kruisev1alpha1.LifecycleUpdating))
					u.Patch.Annotations[kruisev1alpha1.AnnotationLifecycleTimestamp] = ptr.To("2026-01-01T12:00:00Z")
					return u
				}
				return s
			}),
			[]string{"while no hook is configured"},
		},
		"claims are forgotten": {
			world.Claiming, steps(func(s step.Step) step.Step {
				if _, is := s.(step.CreateClaim); is {
					return nil
				}
				return s
			}),
			[]string{"pod is created before its claim"},
		},
		"claims outlive pods that are scaled in": {
			world.Claiming, steps(func(s step.Step) step.Step {
				if _, is := s.(step.DeleteClaim); is {
					return nil
				}
				return s
			}),
			[]string{"although the manager has deleted its pod"},
		},
		"claims go before their pod": {
			world.Claiming, Hooks{Plan: deletingClaimsFirst}, []string{"is not on its way out"},
		},
		"the claim of a pod that was evicted is given up": {
			world.Claiming, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				honest := plan.Next(w, now)
				w.Set = w.Set.DeepCopy()
				w.Set.Spec.ScaleStrategy.DisablePVCReuse = true
				honest.Steps = plan.Next(w, now).Steps
				return honest
			}},
			[]string{"although claims are reused"},
		},
		"a claim on its way out is counted on": {
			world.Claiming, Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
				claims := w.Claims
				w.Claims = nil
				for _, c := range claims {
					c = c.DeepCopy()
					c.DeletionTimestamp = nil
					w.Claims = append(w.Claims, c)
				}
				return plan.Next(w, now)
			}},
			[]string{"which is on its way out"},
		},
		"freshness never waits": {
			world.Anything, Hooks{Dependencies: func(d *cloneset.Dependencies) { d.Writes = freshness.New(d.Live, d.Live, d.Clock, 0) }},
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
			world.Catch(t, func(seed uint64) error {
				_, err := play(seed, m.theme, m.hooks, nil)
				return err
			}, m.caught)
		})
	}
}

// planning lets the steps be decided for another spec, and the rest of the plan for the real one.
func planning(change func(*kruisev1alpha1.CloneSetSpec)) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		honest := plan.Next(w, now)
		w.Set = w.Set.DeepCopy()
		change(&w.Set.Spec)
		honest.Steps = plan.Next(w, now).Steps
		return honest
	}}
}

// deletingClaimsFirst lets claims go on their own, before the pods.
func deletingClaimsFirst(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	var first, rest []step.Step
	for _, s := range p.Steps {
		if d, is := s.(step.DeleteClaim); is {
			d.Pod = "nobody"
			first = append(first, d)
			continue
		}
		rest = append(rest, s)
	}
	p.Steps = slices.Concat(first, rest)
	return p
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

func neverCallingOff(w plan.World, now time.Time) plan.Plan {
	preparing := map[types.UID]bool{}
	for _, pod := range w.Pods {
		preparing[pod.UID] = world.StateOf(pod) == kruisev1alpha1.LifecyclePreparingUpdate
	}
	p := plan.Next(w, now)
	p.Steps = slices.DeleteFunc(p.Steps, func(s step.Step) bool {
		patched, is := s.(step.PatchPod)
		return is && preparing[patched.UID]
	})
	return p
}

func changed(l *kruisev1alpha1.Lifecycle, change func(*kruisev1alpha1.Lifecycle)) *kruisev1alpha1.Lifecycle {
	if l == nil {
		return nil
	}
	l = l.DeepCopy()
	change(l)
	return l
}

func countingUpdatingAsAvailable(w plan.World, now time.Time) plan.Plan {
	honest := plan.Next(w, now)
	touched := map[types.UID]bool{}
	var pods []*corev1.Pod
	for _, pod := range w.Pods {
		if gate := world.Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady); gate != nil && gate.Status == corev1.ConditionFalse {
			touched[pod.UID] = true
			pod = pod.DeepCopy()
			for i := range pod.Status.Conditions {
				pod.Status.Conditions[i].Status = corev1.ConditionTrue
			}
			pod.Annotations = nil
		}
		pods = append(pods, pod)
	}
	w.Pods = pods
	var chosen []step.Step
	for _, s := range plan.Next(w, now).Steps {
		if t, is := targetOf(s); !is || !touched[t.UID] {
			chosen = append(chosen, s)
		}
	}
	for _, s := range honest.Steps { // the pods' own affairs go on as they should
		if t, is := targetOf(s); is && touched[t.UID] {
			chosen = append(chosen, s)
		}
	}
	honest.Steps = chosen
	return honest
}

func targetOf(s step.Step) (step.Target, bool) {
	switch s := s.(type) {
	case step.UpdateInPlace:
		return s.Target, true
	case step.SetConditions:
		return s.Target, true
	case step.DeletePod:
		return s.Target, true
	case step.PatchPod:
		return s.Target, true
	}
	return step.Target{}, false
}

func waitingForAllPods(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	for _, m := range p.Members {
		if !m.Available {
			w.Set = w.Set.DeepCopy()
			w.Set.Spec.UpdateStrategy.Paused = true
			p.Steps = plan.Next(w, now).Steps
			return p
		}
	}
	return p
}

func openingGates(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	busy := map[types.UID]bool{}
	for _, s := range p.Steps {
		if t, is := targetOf(s); is {
			busy[t.UID] = true
		}
	}
	for _, m := range p.Members {
		if gate := world.Condition(m.Pod, kruisev1alpha1.ConditionInPlaceUpdateReady); gate != nil && gate.Status == corev1.ConditionFalse && !busy[m.Pod.UID] {
			p.Steps = append(p.Steps, step.SetConditions{Because: "of a fault", Target: step.On(m.Pod), Conditions: []corev1.PodCondition{{
				Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue,
			}}})
		}
	}
	return p
}

// withoutGrace forgets what a grace period holds back.
func withoutGrace(w plan.World) plan.World {
	var pods []*corev1.Pod
	for _, pod := range w.Pods {
		if pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" {
			pod = pod.DeepCopy()
			delete(pod.Annotations, kruisev1alpha1.AnnotationInPlaceGrace)
		}
		pods = append(pods, pod)
	}
	w.Pods = pods
	return w
}

func forgettingTooMuch(w plan.World, now time.Time) plan.Plan {
	p := plan.Next(w, now)
	for _, r := range w.Revisions {
		if r.Name != p.UpdateRevision {
			p.Steps = append(p.Steps, step.ForgetRevision{Because: "of a fault", Target: step.On(r.Object)})
		}
	}
	return p
}

// unconditional sends every write without the version that it was decided on.
type unconditional struct{ client.Client }

func (u unconditional) Delete(ctx context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return u.Client.Delete(ctx, obj)
}

func (u unconditional) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return u.Client.Patch(ctx, obj, withoutVersion(obj, patch), opts...)
}

func (u unconditional) Status() client.SubResourceWriter {
	return unconditionalStatus{u.Client.Status()}
}

type unconditionalStatus struct{ client.SubResourceWriter }

func (u unconditionalStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return u.SubResourceWriter.Patch(ctx, obj, withoutVersion(obj, patch), opts...)
}

func withoutVersion(obj client.Object, patch client.Patch) client.Patch {
	data, err := patch.Data(obj)
	if err != nil {
		panic(fmt.Sprintf("making the patch: %v", err))
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		panic(fmt.Sprintf("reading the patch: %v", err))
	}
	if meta, has := content["metadata"].(map[string]any); has {
		delete(meta, "resourceVersion")
	}
	if data, err = json.Marshal(content); err != nil {
		panic(fmt.Sprintf("writing the patch: %v", err))
	}
	return client.RawPatch(patch.Type(), data)
}

// seeing lets the plan be made for other pods than there are.
func seeing(pods func([]*corev1.Pod) []*corev1.Pod) Hooks {
	return Hooks{Plan: func(w plan.World, now time.Time) plan.Plan {
		w.Pods = pods(w.Pods)
		return plan.Next(w, now)
	}}
}
